"""The commands `list`, `show` and `coverage`, from their options to the exit code."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from opperf.commands.frameworks import report_choice
from opperf.commands.registry.request import CoverageRequest, ListRequest, Registry, ShowRequest
from opperf.errors import FOUND, INTERRUPTED, RunFileError, UsageError
from opperf.execution.cache import load_listing
from opperf.execution.execute import execute_to_file
from opperf.execution.planning import making_process, plan_cases
from opperf.execution.progress import make_progress
from opperf.execution.run_header import make_header
from opperf.execution.workers import Workers, interpreter_of
from opperf.folders import cache_folder
from opperf.model import Case, ListedOperator, Listing, Record, Settings
from opperf.reports.coverage import coverage
from opperf.reports.coverage import report_of as report_of_coverage
from opperf.reports.listing import categories_report, operators_report
from opperf.reports.showing import report_of as report_of_operator
from opperf.reports.showing import report_of_run
from opperf.reports.writing import write_reports
from opperf.results import output
from opperf.results.kept import display
from opperf.results.messages import tell
from opperf.results.runfile import read_run
from opperf.sources.registry import Plan
from opperf.sources.selecting import (
    Selection,
    find_matching,
    group_options,
    select,
    split_paths,
)
from opperf.sources.varying import group_by_process
from opperf.worker.client import Worker

COVERAGE_SETTINGS = Settings(
    device="", mode="", profiler="python", warmup=0, runs=1, timeout_s=60.0, memory=False
)
"""One call of each pass by the wall clock: enough to see that an operator runs. The timeout is a
hundred times the time of the slowest small case."""


SHOWN_CASES = 20
"""Cases of a run file that are shown without `--id`: each takes half a page."""

NAMED = 8
"""Operators named in an error: one line of a terminal."""


def worker_for(registry: Registry, settings: Settings | None = None) -> Worker:
    """Returns a worker of the framework, run by the interpreter named for it; with the `settings`
    of cases, one that measures these."""
    framework = registry.framework.name
    found = interpreter_of(registry.interpreters, framework, "")
    process = Settings(imports=registry.imports)
    if settings is not None:
        process = making_process(framework, process, settings)
    return Worker(framework, process, python=found.path if found else "")


def listing_for(registry: Registry) -> Listing:
    """Returns the framework's registry, from the cache if it is this interpreter's."""

    def ask() -> Listing:
        with worker_for(registry) as worker:
            return worker.listing()

    if not registry.is_own:
        return ask()
    listing, warnings = load_listing(registry.framework.name, ask)
    for warning in warnings:
        tell(f"warning: {warning}")
    return listing


def _check_output(registry: Registry, inputs: Iterable[Path] = ()) -> None:
    """Raises `OutputError` for an output file that cannot be written."""
    output.check_output(registry.output.path, registry.overwrite, inputs)


def find_listed(registry: Registry, listing: Listing, selection: Selection) -> list[ListedOperator]:
    """Returns the selected operators of the registry, then the callables at dotted paths, in the
    order of the patterns. Raises the errors of `select`, and `UnknownOperatorError` for a path that
    leads to no callable."""
    operators = [listed.operator for listed in listing.operators]
    paths, named = split_paths(selection.patterns, operators)
    found: list[ListedOperator] = []
    if named or not paths:
        asked = msgspec.structs.replace(selection, patterns=named)
        chosen = select(operators, asked, listing.functions)
        targets = {operator.target for operator in chosen}
        found = [listed for listed in listing.operators if listed.operator.target in targets]
    if paths:
        with worker_for(registry) as worker:
            found += worker.listing(paths).operators
    return found


def _say(text: str) -> None:
    tell(text)


def _ignore(text: str) -> None:
    """Prints nothing."""


def list_command(request: ListRequest) -> int:
    """Prints the selected operators or their categories, and returns the exit code."""
    registry = request.registry
    report_choice(registry.framework, _say)
    listing = listing_for(registry)
    found = find_listed(registry, listing, request.selection)
    # A wrong name is reported before a file that is in the way.
    _check_output(registry)
    report = (categories_report if request.by_category else operators_report)(found)
    write_reports(report, [registry.output])
    return 0


def show_command(request: ShowRequest) -> int:
    """Prints one operator, its cases and their scripts, and returns the exit code.

    Raises `UsageError` unless the name matches exactly one operator, or is that of a run file.
    """
    registry = request.registry
    if request.file is not None:
        return _show_file(request.file, request)
    report_choice(registry.framework, _say)
    listing = listing_for(registry)
    _check_is_no_group(request.name, listing)
    found = find_listed(registry, listing, Selection(patterns=(request.name,)))
    if len(found) != 1:
        # By the paths: a label may be a name of all of them, as that of a default overload is.
        names = ", ".join(listed.operator.target.path for listed in found[:NAMED])
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        raise UsageError(
            f"{request.name!r} matches several operators, and show takes one: {names}{more}"
        )
    (listed,) = found
    _check_output(registry)
    operator = listed.operator
    cases: tuple[Case, ...] = ()
    scripts: tuple[str, ...] = ()
    if listed.rule or request.sets_inputs:
        chosen = msgspec.structs.replace(request.selection, patterns=(operator.target.path,))
        with worker_for(registry, chosen.settings) as worker:
            selection = worker.resolve_selection(chosen)
            plan = plan_cases(worker, registry.framework.name, selection, _say)
            cases, scripts = plan.cases, worker.scripts(plan.cases)
        if not cases:
            # One operator or callable was planned, and has no case.
            (reason,) = plan.excluded.values()
            listed = ListedOperator(operator=operator, reason=reason)
    write_reports(report_of_operator(listed, cases, scripts), [registry.output])
    return 0


def _show_file(path: Path, request: ShowRequest) -> int:
    """Prints the cases of a run file with their figures and scripts. Raises `UsageError` for an id
    that none has."""
    registry = request.registry
    _check_output(registry, [path])
    run, warnings = read_run(path)
    for warning in warnings:
        _say(f"warning: {warning}")
    ids = request.selection.ids
    for wanted in ids:
        if not any(case.id.startswith(wanted) for case in run.cases):
            raise UsageError(f"--id {wanted}: no case of {path} has this id")
    cases = [case for case in run.cases if not ids or case.id.startswith(ids)]
    shown = cases if ids else cases[:SHOWN_CASES]
    scripts: dict[str, str] = {}
    interpreters = (*registry.interpreters, *run.header.interpreters)
    with Workers(interpreters) as workers:
        for case in group_by_process(shown):
            worker = workers.of(case.target.framework, case.settings)
            (scripts[case.id],) = worker.scripts((case,))
    report = report_of_run(display(path), run, shown, scripts, len(cases) - len(shown))
    write_reports(report, [registry.output])
    return 0


def _check_is_no_group(name: str, listing: Listing) -> None:
    """Raises `UsageError` for the name of a category or namespace that is no operator's."""
    operators = [listed.operator for listed in listing.operators]
    groups = group_options(name, operators)
    if groups and not find_matching(name, operators):
        raise UsageError(
            f"{name!r} is a group of operators, and show takes one operator: "
            f"opperf list {groups[0]} prints them"
        )


def coverage_command(request: CoverageRequest) -> int:
    """Prints how much of the registry is measured, by a run file or by running every operator, and
    returns the exit code."""
    registry = request.registry
    say = _ignore if request.quiet else _say
    report_choice(registry.framework, say)
    listing = listing_for(registry)
    _check_output(registry, filter(None, [request.run_file]))
    records = (
        _records_of(request.run_file, listing)
        if request.run_file
        else _run_everything(registry, request.quiet, say)
    )
    if records is None:
        return INTERRUPTED
    found = coverage(listing, records)
    write_reports(report_of_coverage(found), [registry.output])
    least = request.least
    if least is not None and found.total.percent < least:
        tell(
            f"opperf: {found.total.percent:.2f} % of the distinct operators are measured, "
            f"less than {least:g} %"
        )
        return FOUND
    return 0


def _records_of(path: Path, listing: Listing) -> tuple[Record, ...]:
    """Returns the records of a run file.

    Raises `RunFileError` if its framework or version is not that of the listing.
    """
    run, warnings = read_run(path)
    for warning in warnings:
        tell(f"warning: {warning}")
    environment = run.environment
    measured = (environment.framework, environment.versions.get(environment.framework, ""))
    if measured != (listing.framework, listing.version):
        raise RunFileError(
            f"{path} is a run of {' '.join(measured)}, but the framework here is "
            f"{listing.framework} {listing.version}; choose another with --framework or --python"
        )
    return run.records


def _run_everything(
    registry: Registry, quiet: bool, say: Callable[[str], None]
) -> tuple[Record, ...] | None:
    """Runs every operator once at a small size and returns the records; None if interrupted."""
    started = time.monotonic()
    framework = registry.framework.name
    path = cache_folder() / "coverage" / f"{framework}.jsonl"
    with Workers(registry.interpreters) as workers:
        worker = workers.of(framework)
        selection = worker.resolve_selection(Selection(size="small", settings=COVERAGE_SETTINGS))
        plan: Plan = plan_cases(worker, framework, selection, say)
        head = make_header(plan, selection, "opperf coverage")
        try:
            run = execute_to_file(
                path,
                head,
                plan.cases,
                plan.cases,
                workers,
                make_progress(sys.stderr, len(plan.cases), quiet),
                lambda: time.monotonic() - started,
            )
        except KeyboardInterrupt:
            tell(f"interrupted; the records are in {path}")
            return None
    return run.records
