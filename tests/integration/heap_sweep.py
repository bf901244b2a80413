"""Calls every function of MXNet's namespaces with inputs of a size, one after the other.

`python heap_sweep.py SIZE BEGIN [CRASHED ...]` makes the calls of a sweep from the `BEGIN`th job
on, but not those of the names that have ended such a process before. Each call is told in two lines
of JSON on what was the standard output, before it is made and after it, so that the last line of a
process that was ended names the call.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import msgspec

from opperf.frameworks import Framework
from opperf.frameworks.mxnet.functions import ROOTS
from opperf.instruments.prepared import NOTHING_BOUND, Bound
from opperf.model import Case, OperatorTarget, Record, Settings, Status
from opperf.mxnet_api.namespaces import inputs_of_size
from opperf.utils import benchmark_utils
from opperf.worker.measure import measure

NAMESPACES = {root: ROOTS[root] for root in ("nd", "np", "npx")}

GENERATED = "gen_"
"""Modules with one more copy of the functions that are generated from the registry."""

HELPERS = (
    "mxnet.base",
    "mxnet.util",
    "mxnet.context",
    "mxnet.autograd",
    "builtins",
    "ctypes",
    "_functools",
)
"""Homes of functions that namespaces import for their own use, and that take no arrays."""

ONCE = Settings(device="cpu(0)", profiler="python", warmup=0, runs=1, memory=False)
"""One call: what is asked is whether the process outlives it."""

Job = tuple[str, Callable[[], None]]


def paths(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The public functions of a namespace, then of its public submodules, by their path in it."""
    submodules = []
    for name in sorted(dir(module)):
        value = getattr(module, name)
        if name.startswith(("_", GENERATED)):
            continue
        if isinstance(value, ModuleType):
            if value.__name__ == f"{module.__name__}.{name}":
                submodules.append((name, value))
        elif (
            callable(value)
            and not inspect.isclass(value)
            and getattr(value, "__module__", None) not in HELPERS
        ):
            yield name, value
    for name, submodule in submodules:
        yield from ((f"{name}.{path}", function) for path, function in paths(submodule))


def functions() -> dict[tuple[str, str], Any]:
    """The public functions of MXNet by namespace and path, each once."""
    found = {
        (root, path): function
        for root, namespace in NAMESPACES.items()
        for path, function in paths(namespace)
    }
    own = {id(function): place for place, function in reversed(found.items())}
    return {place: found[place] for place in found if own[id(found[place])] == place}


class Sweep:
    """The calls of one process: each distinct one is made once, and told of."""

    def __init__(self, framework: Framework, crashed: frozenset[str], say: Callable[..., None]):
        self._framework, self._crashed, self._say = framework, crashed, say
        self._done: set[str] = set()

    def measured(self, case: Case, framework: Framework, bound: Bound = NOTHING_BOUND) -> Record:
        """The record of a case that is measured in this process."""
        target = case.target
        name = target.label if isinstance(target, OperatorTarget) else target.path
        record = Record(case=case, id=case.id, status=Status.SKIPPED, reason="called before")
        if case.id not in self._done and name not in self._crashed:
            self._done.add(case.id)
            self._say(call=name)
            settings = msgspec.structs.replace(case.settings, memory=False)
            record = measure(msgspec.structs.replace(case, settings=settings), framework, bound)
            # What it has allocated is given back here, and not while another call runs.
            framework.synchronize(case.settings.device)
            self._say(called=name, status=record.status.value, reason=record.reason)
        return record

    def of_size(self, size: tuple[int, ...]) -> Iterator[Job]:
        """`run_benchmark_operator` for every name that a namespace has a function of."""
        benchmark_utils.measure_safely = self.measured
        for name in dict.fromkeys(path for _, path in functions()):
            yield name, lambda name=name: self._benchmark(name, size)
        # Shapes are inferred in the caller's own process, which must not end for any operator.
        for operator in self._framework.operators():
            label = f"inputs of {operator.name}"
            yield label, lambda name=operator.name: self._inputs(name, size)

    def _inputs(self, name: str, size: tuple[int, ...]) -> None:
        function = self._framework.function(OperatorTarget(self._framework.name, name))
        inputs_of_size(self._framework, function, size, {}, ONCE.dtype)

    def _benchmark(self, name: str, size: tuple[int, ...]) -> None:
        benchmark_utils.run_benchmark_operator(
            name,
            size=size,
            run_backward=True,
            profiler=ONCE.profiler,
            warmup=ONCE.warmup,
            runs=ONCE.runs,
        )


def main(size: str, begin: str, *crashed: str) -> None:
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    # What is printed meanwhile is no part of what is told.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def say(**told: Any) -> None:
        out.write(json.dumps(told) + "\n")

    sweep = Sweep(benchmark_utils.load_for_measuring("mxnet"), frozenset(crashed), say)
    for number, (name, job) in enumerate(sweep.of_size(tuple(map(int, size.split("x"))))):
        if number >= int(begin) and name not in crashed:
            say(job=name, number=number)
            try:
                job()
            except Exception as error:
                say(called=name, status="error", reason=f"{type(error).__name__}: {error}")
    say(job="", number=-1)


if __name__ == "__main__":
    main(*sys.argv[1:])
