"""The command `explain`, from its options to the exit code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from opperf.comparison.ab.gate import as_counted, why_not_counted
from opperf.comparison.ab.session_file import find_pair, session_of
from opperf.comparison.explaining.callgrind import read_dump
from opperf.comparison.explaining.choosing import Chosen, choose, choose_dumps
from opperf.comparison.explaining.difference import compare_dumps
from opperf.comparison.explaining.paths import make_graph
from opperf.comparison.explaining.reports.difference_report import report_of
from opperf.comparison.explaining.reports.flame import WRITERS
from opperf.comparison.results import ResultsRow
from opperf.errors import OutputError, UsageError
from opperf.reports.writing import write_reports
from opperf.results.kept_facts import is_session
from opperf.results.messages import tell
from opperf.results.output import Output, check_output, write_report
from opperf.results.runfile import read_run


@dataclass(frozen=True)
class Request:
    """The request of `explain`: its parameters."""

    base: Path
    new: Path | None
    """None for a session, whose file has both sides."""
    id: str | None
    measured_pass: str
    sort: str
    top: int | None
    event: str
    no_python: bool
    flame: Path | None
    output_file: Path
    output_format: str
    overwrite: bool


def explain_command(request: Request) -> int:
    """Explains the difference of two profiles; the exit code. Raises `OpperfError` for files that
    cannot be compared, and for an output that cannot be written."""
    output, flame = request.output_file, request.flame
    chosen = _choose(request)
    inputs = tuple(filter(None, (request.base, request.new, chosen.base, chosen.new)))
    check_output(output, request.overwrite, inputs)
    suffix = _check_flame(flame, output, request.overwrite, inputs)
    for warning in chosen.warnings:
        tell(f"warning: {warning}")
    base, new = read_dump(chosen.base), read_dump(chosen.new)
    python = not request.no_python
    difference = compare_dumps(base, new, request.event, request.sort, python)
    if flame is not None:
        graph = make_graph(base, new, difference.event, python)
        write_report(flame, WRITERS[suffix](graph, difference, chosen.title))
    report = report_of(difference, chosen.title, request.top, chosen.results)
    write_reports(report, [Output(output, request.output_format)])
    return 0


def _choose(request: Request) -> Chosen:
    """Returns the profiles to compare. Raises `UsageError` for a single run."""
    base, new, wanted = request.base, request.new, request.id
    if not is_session(base):
        if new is None:
            raise UsageError(f"{base} is no session: name BASE and NEW, two files, and a case")
        return choose(base, new, wanted, request.measured_pass)
    if wanted is not None:
        raise UsageError(
            f"{base} is a session, which has both sides: opperf explain {base} {wanted}"
        )
    # With one file, the second argument is the case.
    run, warnings = read_run(base)
    session = session_of(base, run)
    pair = find_pair(base, session, None if new is None else str(new))
    group = session.group_of[pair[0].id]
    results = tuple(
        ResultsRow.of(group, own.label, own.inputs, check)
        for own in session.pairs
        if own.id == group and (check := session.checks.get(group)) is not None
    )
    if session.plan.gate is not None:
        why = why_not_counted(*pair)
        if why:
            raise UsageError(f"{base}: instructions of {pair[0].label} were not counted: {why}")
        pair = as_counted(pair[0]), as_counted(pair[1])
    chosen = choose_dumps((base, base), (run, run), pair, request.measured_pass, warnings)
    return chosen._replace(results=results)


def _check_flame(path: Path | None, output: Path, overwrite: bool, inputs: tuple[Path, ...]) -> str:
    """Returns the extension of the flame graph. Raises `UsageError` for an unknown one, and
    `OutputError` if the graph cannot be written."""
    if path is None:
        return ""
    if path.suffix.lower() not in WRITERS:
        raise UsageError(f"{path}: the name of a flame graph ends in {' or '.join(WRITERS)}")
    if path == output:
        raise OutputError(f"{path} is named as two outputs; choose another name for one")
    check_output(path, overwrite, inputs)
    return path.suffix.lower()
