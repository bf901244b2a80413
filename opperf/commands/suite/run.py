"""The commands `suite run` and `suite multirun`."""

from __future__ import annotations

from pathlib import Path

from opperf.commands.options import command
from opperf.errors import FOUND
from opperf.requests.measuring import ResolvedRun
from opperf.requests.suites.running import MultirunRequest, SuiteRunRequest
from opperf.results.messages import tell
from opperf.results.output import STDOUT, Output


@command(
    SuiteRunRequest,
    examples={
        "A first look at a machine": "opperf suite run standard -o standard.jsonl",
        "Some benches of a file, twice each": (
            "opperf suite run suite.yaml --select vision,nlp --repeat 2 -o suite.jsonl"
        ),
        "Another run against it": "opperf suite compare standard.jsonl other.jsonl",
    },
)
def run(request: SuiteRunRequest) -> int:
    """Run the benches of suite files: programs, operators, models, recordings and snippets.

    `standard` is the suite that comes with opperf. Benches that are not enabled are run where
    --select names them. A bench that cannot be installed, planned or run costs itself, and what it
    lacks is in the report. `suite validate`, `suite report` and `suite compare` read the run file.

    Exit codes: 0 all benches ran and are valid, 1 a bench failed, 2 a file that does not resolve,
    130 interrupted."""
    return run_suite(request)


@command(
    MultirunRequest,
    examples={
        "The runs of a system's file": (
            "opperf suite multirun suite.yaml --system system.yaml -o runs"
        )
    },
)
def multirun(request: MultirunRequest) -> int:
    """Run suite files several times, each time with other options of the system: those of the key
    `multirun` of --system FILE, a list of runs with a name and a matrix, as milabench has them.

    Exit codes: 0 all benches ran and are valid, 1 a bench failed, 2 a file that does not resolve,
    130 interrupted."""
    from opperf.comparison.suites.score_report import runs_report_of
    from opperf.reports.writing import write_reports
    from opperf.suites.results.run import load

    quiet, runs, codes = request.resumption.quiet, request.runs(), [0]
    for number, (name, each) in enumerate(runs.items(), start=1):
        if not quiet:
            tell(f"run {number} of {len(runs)}: {name}")
        codes.append(run_suite(each))
        if codes[-1] not in (0, FOUND):
            return codes[-1]
    if not (quiet or request.list_only or request.dry_run):
        print()
        files = {name: each.output_file for name, each in runs.items() if each.output_file}
        report = runs_report_of({name: load((path,)) for name, path in files.items()})
        write_reports(report, [Output(STDOUT, "text")])
    return max(codes)


def run_suite(request: SuiteRunRequest) -> int:
    """Runs a suite, and prints its scores and what its validation found; the exit code. Raises
    `OpperfError` if it cannot start."""
    from opperf.commands.running import measure
    from opperf.comparison.suites import score_report
    from opperf.reports import validations
    from opperf.reports.writing import write_reports
    from opperf.suites.results.layers import choose_layers, validate
    from opperf.suites.results.scores import scores_of

    def finished(path: Path, resolved: ResolvedRun) -> int:
        results, saved = request.ended(path, resolved)
        if saved:
            tell(saved)
        found = validate(results, choose_layers((), False))
        reports = score_report.report_of(scores_of(results)), validations.report_of(found)
        for report in () if resolved.quiet or resolved.output == STDOUT else reports:
            print()
            write_reports(report, [Output(STDOUT, "text")])
        return FOUND if found.failures else 0

    return measure(request, finished)
