"""Calls that MXNet runs by a sparse kernel, and those for which it makes the tensors dense first.

Run as a script, in a process of its own: MXNet reports a fallback once for an operator, its layouts
and its plain arguments, in a message to standard error. Prints a line of JSON for each call.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

os.environ["MXNET_STORAGE_FALLBACK_LOG_VERBOSE"] = "1"

import msgspec

from opperf.errors import NoGradientError
from opperf.frameworks import Framework, load
from opperf.instruments.prepared import PreparedCase
from opperf.model import Argument, Case, Settings, TensorSpec
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection

FALLBACK = re.compile(r"operator = (\S+)")
"""The operator of a message about a fallback."""

SPARSE = ("csr", "row_sparse")

CONTROL = "exp"
"""An operator without a sparse kernel, as zero gives one: what is found of it is a fallback."""

MOST_TENSORS = 4
"""Maximum number of an operator's tensors whose layouts are tried: each multiplies the calls."""


class Messages:
    """What is written to this process's standard error."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self._read = 0
        os.dup2(self._file.fileno(), sys.stderr.fileno())

    def fallbacks(self) -> list[str]:
        """Returns the operators that fell back since the last call."""
        new = os.pread(self._file.fileno(), os.fstat(self._file.fileno()).st_size, self._read)
        self._read += len(new)
        return sorted(set(FALLBACK.findall(new.decode(errors="replace"))))


def layouts(argument: Argument) -> list[str]:
    """Returns the layouts of an argument's tensors; none for a plain value."""
    listed = argument if isinstance(argument, tuple) else (argument,)
    return [one.layout for one in listed if isinstance(one, TensorSpec)]


def case_layouts(case: Case) -> dict[str, str]:
    """Returns the layouts by argument, in one word where all of a list are alike."""
    found = {name: sorted(set(layouts(value))) for name, value in case.arguments.items()}
    return {name: "+".join(words) for name, words in found.items() if words}


def call(framework: Framework, case: Case, messages: Messages) -> dict[str, Any]:
    """Returns what one call of a case, and its backward pass, made dense."""
    made: dict[str, Any] = {"operator": case.label, "layouts": case_layouts(case)}
    device = case.settings.device
    with framework.scope(case):
        prepared = PreparedCase(case, framework)
        framework.synchronize(device)
        messages.fallbacks()
        prepared.call()
        framework.synchronize(device)
        made["forward"] = messages.fallbacks()
        if prepared.differentiated and not made["forward"]:
            try:
                framework.gradients.gradient(case, prepared.call, prepared.differentiated)
                framework.synchronize(device)
            except NoGradientError as error:
                made["no gradient"] = str(error)
            made["backward"] = messages.fallbacks()
    return made


def with_layout(argument: Argument, layout: str) -> Argument:
    """Returns the argument with all of its tensors in a layout."""
    if isinstance(argument, tuple):
        return tuple(with_layout(element, layout) for element in argument)  # type: ignore[misc]
    if not isinstance(argument, TensorSpec):
        return argument
    return msgspec.structs.replace(argument, layout=layout)


def possible(argument: Argument) -> list[str]:
    """Returns the layouts that an argument's tensors may have."""
    listed = argument if isinstance(argument, tuple) else (argument,)
    shapes = [one.shape for one in listed if isinstance(one, TensorSpec)]
    if any(layout == "file" for layout in layouts(argument)):
        return ["file"]
    return ["dense", "row_sparse"] + (["csr"] if all(len(s) == 2 for s in shapes) else [])


def variants(case: Case) -> Iterator[Case]:
    """Yields the case with every combination of layouts that has a sparse one. An output is the
    tensor that it is the same as, or is omitted."""
    places = [name for name, value in case.arguments.items() if layouts(value) and name != "out"]
    if len(places) > MOST_TENSORS:
        return
    for chosen in itertools.product(*(possible(case.arguments[name]) for name in places)):
        if set(chosen) & set(SPARSE):
            by_name = dict(zip(places, chosen, strict=True))
            changed = {
                n: with_layout(v, by_name.get(n, "dense")) for n, v in case.arguments.items()
            }
            yield msgspec.structs.replace(case, arguments=changed)


def in_fork(framework: Framework, cases: list[Case], messages: Messages) -> None:
    """Prints what the calls of cases made dense. Some layouts end the process, as MXNet does not
    check them: each case after one that does is called in another fork."""
    begin = 0
    while begin < len(cases):
        readable, writable = os.pipe()
        process = os.fork()
        if not process:
            for case in cases[begin:]:
                try:
                    line = call(framework, case, messages)
                # Most combinations are refused, in many ways.
                except Exception as error:
                    line = {"operator": case.label, "refused": str(error).splitlines()[-1][:200]}
                os.write(writable, (json.dumps(line) + "\n").encode())
            os._exit(0)
        os.close(writable)
        with os.fdopen(readable) as pipe:
            lines = pipe.readlines()
        os.waitpid(process, 0)
        sys.stdout.writelines(lines)
        begin += len(lines) + 1


def plain(case: Case) -> str:
    """Returns what a message about a fallback has beside the operator and the layouts."""
    return repr({name: value for name, value in case.arguments.items() if not layouts(value)})


def main(kind: str) -> None:
    """Calls the rules' cases that have a sparse tensor and one of the control with other layouts,
    or the rules' cases of dense tensors with other layouts."""
    framework = load("mxnet")
    planned = plan(framework, Selection(size="small", settings=Settings(warmup=0, runs=1))).cases
    messages = Messages()
    by_operator: dict[str, list[Case]] = {}
    if kind == "planned":
        for case in planned:
            if any(spec.layout in SPARSE for _, spec in case.tensors()):
                by_operator.setdefault(case.label, []).append(case)
        for cases in by_operator.values():
            in_fork(framework, cases, messages)
        control = next(case for case in planned if case.label == CONTROL)
        in_fork(framework, list(variants(control)), messages)
        return
    seen: set[tuple[str, str]] = set()
    for case in planned:
        if (case.label, plain(case)) not in seen:
            seen.add((case.label, plain(case)))
            by_operator.setdefault(case.label, []).append(case)
    for cases in by_operator.values():
        in_fork(framework, [one for case in cases for one in variants(case)], messages)


if __name__ == "__main__":
    main(sys.argv[1])
