"""Measures two arms in turn: `opperf.ab("relu", b="threads:2")`."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from opperf.api.compare import FileComparison, Reported
from opperf.api.functions import framework_of_functions, name_of
from opperf.api.run import EXTENSION, NOTHING_CHANGED, What, command_line, parse_line
from opperf.api.run_result import RunResult
from opperf.commands.ab import ab as command
from opperf.commands.ab.counting import judge_counts
from opperf.commands.ab.request import read_request
from opperf.commands.ab.running import findings_of, measure_session, open_session
from opperf.commands.changed import add_changed, interpreters_of_arms
from opperf.comparison.ab.outcome import outcome
from opperf.comparison.ab.report import Report, Row, report_of
from opperf.comparison.ab.reports import report_for
from opperf.comparison.ab.reports.changes import NOTHING, Measured, measured_of
from opperf.comparison.files.comparison import outcome as outcome_of_files
from opperf.comparison.statistics.verdicts import analyse
from opperf.errors import UsageError
from opperf.reports import model as reports
from opperf.results.runfile import read_run

REFUSED = (
    *("report", "resume", "dry_run", "output_files", "output_formats", "debug", "a", "b"),
    *("executor", "address", "nodes", "on_node"),
)
"""Parameters of the command that have no meaning here, or another form."""


@dataclass(frozen=True)
class ArmComparison(Reported):
    """The verdicts of a session, which print as the report of `opperf ab`."""

    command: ClassVar[str] = "ab"
    content: Report
    run: RunResult
    """The records of both arms, each with the samples of all processes."""
    exit_code: int
    """That of the command: 1 for a finding of `fail_on`, 3 if nothing could be decided, else 0."""
    measured: Measured = field(default=NOTHING, repr=False)
    """Shown by a page besides the verdicts."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """A row for each metric of each case, the largest ratio first."""
        return self.content.rows

    @property
    def valid(self) -> bool:
        """Whether A did not differ from itself."""
        return self.content.valid

    def _content(self) -> reports.Report:
        return report_for(self.content, self.measured)


Arm = str | Iterable[str] | Mapping[str, Any]


def ab(
    *what: What,
    a: Arm = (),
    b: Arm = (),
    framework: str | None = None,
    output: str | os.PathLike[str] | None = None,
    quiet: bool = True,
    **options: Any,
) -> ArmComparison | FileComparison:
    """Measures A against B, interleaved in fresh processes, as `opperf ab` does.

    Parameters
    ----------
    what : str, path or function
        As of `opperf.run`.
    a, b : str, list of str, or dict
        What each arm sets: 'threads:2', a list of such texts, or `{'threads': 2, 'env': {'X': 1},
        'python': PATH, 'ops': ['add', function]}`.
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
    named = framework or framework_of_functions([*what, *_operators(a), *_operators(b)])
    options = {**options, "framework": named, "quiet": quiet}
    if output is not None:
        path = Path(output)
        if path.suffix != EXTENSION:
            raise UsageError(f"{path}: the output is a run file, whose name ends with {EXTENSION}")
        return _compare(what, a, b, options, path, str(path))
    with tempfile.TemporaryDirectory(prefix="opperf-") as folder:
        return _compare(what, a, b, options, Path(folder, f"session{EXTENSION}"), "")


def _compare(
    what: Iterable[What],
    a: Arm,
    b: Arm,
    options: Mapping[str, Any],
    path: Path,
    name: str,
) -> ArmComparison | FileComparison:
    """Measures into a file, which commands read by `name`, if it stays, and compares."""
    line = [f"--report={path}"]
    line += [f"--{name}={text}" for name, arm in (("a", a), ("b", b)) for text in _assignments(arm)]
    line += command_line(command, what, options, REFUSED)
    words = shlex.join(["opperf", "ab", *line])
    given, set_here = parse_line(command, line)
    selected = add_changed(given, interpreters_of_arms(given))
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
    analysis = analyse(session.replicates, session.plan.thresholds)
    report = report_of(session, analysis, fail_on, request.weight)
    return ArmComparison(
        report,
        RunResult(run, str(path), tuple(warnings)),
        outcome(report)[0],
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
