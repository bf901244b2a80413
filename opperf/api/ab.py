"""Measures two arms in turn: `opperf.ab("relu", b="threads:2")`."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import click

from opperf.api.calls import dtype_name
from opperf.api.compare import FileComparison, Reported
from opperf.api.functions import framework_of_functions, name_of
from opperf.api.run import EXTENSION, NOTHING_CHANGED, What, text_of
from opperf.api.run_result import RunResult
from opperf.commands.ab import ab as command
from opperf.commands.ab.counting import judge_counts
from opperf.commands.ab.request import read_request, with_changed
from opperf.commands.ab.running import findings_of, measure_session, open_session
from opperf.commands.command import option_name
from opperf.comparison.ab.outcome import outcome
from opperf.comparison.ab.report import Report, Row, reports_of
from opperf.comparison.ab.reports import report_for
from opperf.comparison.ab.reports.changes import NOTHING, Measured, measured_of
from opperf.comparison.files.comparison import outcome as outcome_of_files
from opperf.errors import UsageError, one_line, unknown
from opperf.parameters import explicit_options
from opperf.reports import model
from opperf.results.runfile import read_run

REFUSED = (
    *("report", "resume", "dry_run", "output_files", "output_formats", "debug", "a", "b", "arm"),
    *("executor", "address", "nodes", "on_node"),
)
"""Parameters of the command that have no meaning here, or another form."""


@dataclass(frozen=True)
class ArmComparison(Reported):
    """The verdicts of a session, which print as the report of `opperf ab`."""

    command: ClassVar[str] = "ab"
    comparisons: Mapping[tuple[str, str], Report]
    """The report of each comparison, by the names of its arms."""
    run: RunResult
    """The records of both arms, each with the samples of all processes."""
    exit_code: int
    """That of the command: 1 for a finding of `fail_on`, 3 if nothing could be decided, else 0."""
    measured: Measured = field(default=NOTHING, repr=False)
    """Shown by a page besides the verdicts."""

    @property
    def content(self) -> Report:
        """The report of the second arm against the first."""
        return next(iter(self.comparisons.values()))

    @property
    def rows(self) -> tuple[Row, ...]:
        """A row for each metric of each case of the second arm against the first, the largest ratio
        first."""
        return self.content.rows

    @property
    def valid(self) -> bool:
        """Whether A did not differ from itself."""
        return self.content.valid

    def _content(self) -> model.Report:
        return report_for(self.comparisons, self.measured)


def keywords(command: click.Command, refused: Iterable[str]) -> dict[str, click.Option]:
    """Returns the options of a command that Python takes, by keyword without the `_` of names that
    Python reserves; none of those `refused`."""
    return {
        spelling.lstrip("-").replace("-", "_"): param
        for param in command.params
        if isinstance(param, click.Option) and not param.hidden and param.name not in refused
        for spelling in param.opts
        if spelling.startswith("--")
    }


def command_line(
    command: click.Command,
    words: Iterable[What],
    options: Mapping[str, Any],
    refused: Iterable[str] = (),
) -> list[str]:
    """Returns the words of a command with these arguments and keywords, which are names of options
    with `_` for `-`; `import_` is that of a name that Python reserves. Raises `UsageError` for a
    keyword that is none, or an option of those `refused`."""
    known = keywords(command, refused)
    line: list[str] = []
    for keyword, value in options.items():
        name = keyword.removesuffix("_")
        if name not in known:
            raise unknown("option", keyword, known)
        line += _option_words(known[name], value)
    return [*line, "--", *map(text_of, words)]


def parse_line(
    command: click.Command, line: Iterable[str]
) -> tuple[dict[str, Any], dict[str, object]]:
    """Returns all options of a command by name, and those of them that are set. Raises `UsageError`
    for a value that an option cannot have."""
    try:
        context = command.make_context(command.name, list(line))
    except click.UsageError as error:
        raise UsageError(one_line(error.format_message())) from error
    return context.params, explicit_options(context, context.params)


def _option_words(option: click.Option, value: Any) -> Iterator[str]:
    name = option_name(option)
    if value is None:
        return
    if option.is_flag:
        if not isinstance(value, bool):
            raise UsageError(f"{name} is True or False, not {value!r}")
        if value or option.secondary_opts:
            yield name if value else option.secondary_opts[0]
        return
    write = WRITERS.get(option.name or "", str)
    is_listed = isinstance(value, (list, tuple))
    if isinstance(value, Mapping):
        values = [f"{key}={write(each)}" for key, each in value.items()]
    elif option.name == "shapes" and is_listed and all(isinstance(extent, int) for extent in value):
        values = [_shape(value)]
    elif is_listed:
        values = list(map(write, value))
    else:
        values = [write(value)]
    # One option twice is its last value alone.
    for text in values if option.multiple else [",".join(values)]:
        yield f"{name}={text}"


def _shape(value: Any) -> str:
    return "x".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _joined(separator: str) -> Callable[[Any], str]:
    def write(value: Any) -> str:
        several = isinstance(value, (list, tuple, range))
        return separator.join(map(str, value)) if several else str(value)

    return write


WRITERS: dict[str, Callable[[Any], str]] = {
    "dtype": dtype_name,
    "input_function": text_of,
    "shapes": _shape,
    "values": repr,
    "sweeps": _joined(","),
    "env": _joined("|"),
    "options": _joined("|"),
}
"""Functions that write a value as the option reads it, where that is not its text."""


Arm = str | Iterable[str] | Mapping[str, Any]


def ab(
    *what: What,
    a: Arm = (),
    b: Arm = (),
    arms: Mapping[str, Arm] = MappingProxyType({}),
    framework: str | None = None,
    output: str | os.PathLike[str] | None = None,
    quiet: bool = True,
    **options: Any,
) -> ArmComparison | FileComparison:
    """Measures A against B, or several arms, interleaved in fresh processes, as `opperf ab` does.

    Parameters
    ----------
    what : str, path or function
        As of `opperf.run`.
    a, b : str, list of str, or dict
        What each arm sets: 'threads:2', a list of such texts, or `{'threads': 2, 'env': {'X': 1},
        'python': PATH, 'ops': ['add', function]}`.
    arms : dict, optional
        Arms by name, up to eight, after `a` and `b` or in their place if neither is given. Each is
        compared with the first, or with `against='all'` with each other.
    framework : str, optional
        As on the command line.
    output : str or path, optional
        The session's file, to which each process is written as it is measured;
        `opperf ab --resume FILE` finishes it, and `opperf.read` reads its records.
    quiet : bool
        False shows the progress, on standard error.
    **options
        Options of `opperf ab`, named as there, with `_` for `-`: `size`, `blocks`, `threshold`,
        `case_time`, `fail_on`. `opperf ab --help` and the page "Python" of the reference have all
        of them, with types, defaults and units.

    Returns
    -------
    ArmComparison or FileComparison
        The latter of counts of instructions (`profiler='instructions'`).

    Raises
    ------
    OpperfError
        For names and values that cannot be used, arms that cannot start, and for a file that
        exists, unless `overwrite` is set, or that cannot be written.
    """
    named = framework or framework_of_functions(
        [*what, *(name for arm in (a, b, *arms.values()) for name in _operators(arm))]
    )
    options = {**options, "framework": named, "quiet": quiet}
    line = [f"--{name}={text}" for name, arm in (("a", a), ("b", b)) for text in _assignments(arm)]
    line += [
        f"--arm={name}={text}" for name, arm in arms.items() for text in ("", *_assignments(arm))
    ]
    if output is not None:
        path = Path(output)
        if path.suffix != EXTENSION:
            raise UsageError(f"{path}: the output is a run file, whose name ends with {EXTENSION}")
        return _compare(what, line, options, path, str(path))
    with tempfile.TemporaryDirectory(prefix="opperf-") as folder:
        return _compare(what, line, options, Path(folder, f"session{EXTENSION}"), "")


def _compare(
    what: Iterable[What],
    arms: Iterable[str],
    options: Mapping[str, Any],
    path: Path,
    name: str,
) -> ArmComparison | FileComparison:
    """Measures into a file, which commands read by `name`, if it stays, and compares."""
    line = [f"--report={path}", *arms]
    line += command_line(command, what, options, REFUSED)
    words = shlex.join(["opperf", "ab", *line])
    given, set_here = parse_line(command, line)
    selected = with_changed(given)
    if selected is None:
        raise UsageError(NOTHING_CHANGED)
    request = replace(read_request(selected, set_here), command=words)
    with request.pinning:
        writer = open_session(request)
        assert writer is not None, "no dry run"
        with writer:
            measure_session(writer, request)
    session = writer.session
    fail_on = findings_of(session, request.fail_on)
    if session.plan.kind == "counts":
        comparison = judge_counts(path, fail_on, request.limits, request.weight)
        return FileComparison(comparison, (), *outcome_of_files(comparison))
    run, warnings = read_run(path)
    reports = reports_of(session, fail_on, request.weight)
    return ArmComparison(
        reports,
        RunResult(run, str(path), tuple(warnings)),
        outcome(reports)[0],
        measured_of(session, name),
    )


def _listed(value: Any) -> Iterable[Any]:
    return value if isinstance(value, (list, tuple)) else (value,)


def _operators(arm: Arm) -> Iterable[Any]:
    """Returns what an arm measures in place of the operators."""
    return _listed(arm.get("ops", ())) if isinstance(arm, Mapping) else ()


def _text(value: Any) -> str:
    return name_of(value) if callable(value) else str(value)


def _assignments(arm: Arm) -> Iterator[str]:
    """Yields what an arm sets, as on the command line."""
    if isinstance(arm, str):
        yield arm
    elif isinstance(arm, Mapping):
        for kind, value in arm.items():
            if isinstance(value, Mapping):
                yield from (f"{kind}:{name}={each}" for name, each in value.items())
            else:
                yield f"{kind}:{','.join(map(_text, _listed(value)))}"
    else:
        yield from arm
