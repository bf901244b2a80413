"""The commands `list`, `show` and `coverage`, from their options to the exit code."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from opperf.commands.frameworks import report_choice
from opperf.commands.run.request import build_common_settings, build_fuzz, check_shape_options
from opperf.errors import FOUND, INTERRUPTED, RunFileError, UsageError
from opperf.execution.assembling import making_process
from opperf.execution.cache import load_listing
from opperf.execution.execute import execute_to_file
from opperf.execution.planning import plan_cases
from opperf.execution.progress import make_progress
from opperf.execution.run_header import make_header
from opperf.execution.workers import Workers, interpreter_of
from opperf.folders import cache_folder
from opperf.model import Case, ListedOperator, Listing, Record, Settings
from opperf.reports.coverage import coverage
from opperf.reports.coverage import report_of as report_of_coverage
from opperf.reports.listing import categories_report, operators_report
from opperf.reports.model import Report
from opperf.reports.output import write_reports
from opperf.reports.showing import report_of as report_of_operator
from opperf.results import output
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
from opperf.worker.client import Worker

COVERAGE_SETTINGS = Settings(
    device="", mode="", profiler="python", warmup=0, runs=1, timeout_s=60.0, memory=False
)
"""One call of each pass by the wall clock: enough to see that an operator runs. The timeout is a
hundred times the time of the slowest small case."""


NAMED = 8
"""Operators named in an error: one line of a terminal."""


def worker_for(options: Mapping[str, Any], settings: Settings | None = None) -> Worker:
    """Returns a worker of the framework, run by the interpreter named for it; with the `settings`
    of cases, one that measures these.

    Raises `UsageError` if several are named.
    """
    interpreters = options["python"]
    if len({interpreter.label for interpreter in interpreters}) > 1:
        raise UsageError("--python: name one interpreter; only opperf run takes several")
    found = interpreter_of(interpreters, options["framework"], "")
    process = Settings(imports=options.get("imports", ()))
    if settings is not None:
        process = making_process(options["framework"], process, settings)
    return Worker(options["framework"], process, python=found.path if found else "")


def listing_for(options: Mapping[str, Any]) -> Listing:
    """Returns the framework's registry, from the cache if it is this interpreter's."""
    framework = options["framework"]

    def ask() -> Listing:
        with worker_for(options) as worker:
            return worker.listing()

    if options["python"] or options.get("imports"):
        return ask()
    listing, warnings = load_listing(framework, ask)
    for warning in warnings:
        tell(f"warning: {warning}")
    return listing


def _check_output(options: Mapping[str, Any], inputs: Iterable[Path] = ()) -> None:
    """Raises `OutputError` for an output file that cannot be written."""
    output.check_output(options["output_file"], options["overwrite"], inputs)


def _write(report: Report, options: Mapping[str, Any]) -> None:
    """Prints the report, or writes it to the output file."""
    write_reports(report, [output.Output(options["output_file"], options["output_format"])])


def find_listed(
    options: Mapping[str, Any], listing: Listing, selection: Selection
) -> list[ListedOperator]:
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
        with worker_for(options) as worker:
            found += worker.listing(paths).operators
    return found


def _say(text: str) -> None:
    tell(text)


def _ignore(text: str) -> None:
    """Prints nothing."""


def list_command(options: Mapping[str, Any], changed: Mapping[str, Any]) -> int:
    """Prints the selected operators or their categories, and returns the exit code. `changed` are
    the options that the user set."""
    report_choice(options["framework"], changed, _say)
    listing = listing_for(options)
    selection = Selection(
        patterns=options["names"],
        exclude=options["exclude"],
        categories=tuple(word.lower() for word in options["categories"]),
        namespaces=tuple(word.lower() for word in options["namespaces"]),
        tags=tuple(word.lower() for word in options["tags"]),
        variants=tuple(word.lower() for word in options["variants"]),
    )
    found = find_listed(options, listing, selection)
    # A wrong name is reported before a file that is in the way.
    _check_output(options)
    _write((categories_report if options["by_category"] else operators_report)(found), options)
    return 0


def show_command(options: Mapping[str, Any], changed: Mapping[str, Any]) -> int:
    """Prints one operator, its cases and their scripts, and returns the exit code. `changed` are
    the options that the user set.

    Raises `UsageError` unless the name matches exactly one operator.
    """
    check_shape_options(changed)
    report_choice(options["framework"], changed, _say)
    listing = listing_for(options)
    _check_is_no_group(options["name"], listing)
    found = find_listed(options, listing, Selection(patterns=(options["name"],)))
    if len(found) != 1:
        # By the paths: a label may be a name of all of them, as that of a default overload is.
        names = ", ".join(listed.operator.target.path for listed in found[:NAMED])
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        raise UsageError(
            f"{options['name']!r} matches several operators, and show takes one: {names}{more}"
        )
    (listed,) = found
    _check_output(options)
    operator = listed.operator
    settings = build_common_settings(options)
    selection = Selection(
        patterns=(operator.target.path,),
        size=options["size"],
        configurations=options["configurations"],
        shapes=options["shapes"],
        values=options["values"],
        fuzz=build_fuzz(options),
        ids=options["ids"],
        settings=settings,
        dtype_given=options["dtype"] is not None,
    )
    cases: tuple[Case, ...] = ()
    scripts: tuple[str, ...] = ()
    if listed.rule or any(options[name] for name in ("shapes", "values", "input_function")):
        with worker_for(options, settings) as worker:
            selection = worker.resolve_selection(selection)
            plan = plan_cases(worker, options["framework"], selection, _say)
            cases, scripts = plan.cases, worker.scripts(plan.cases)
        if not cases:
            # One operator or callable was planned, and has no case.
            (reason,) = plan.excluded.values()
            listed = ListedOperator(operator=operator, reason=reason)
    _write(report_of_operator(listed, cases, scripts), options)
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


def coverage_command(options: Mapping[str, Any], changed: Mapping[str, Any]) -> int:
    """Prints how much of the registry is measured, by a run file or by running every operator, and
    returns the exit code. `changed` are the options that the user set."""
    say = _ignore if options["quiet"] else _say
    report_choice(options["framework"], changed, say)
    listing = listing_for(options)
    run_file: Path | None = options["run_file"]
    _check_output(options, filter(None, [run_file]))
    records = _records_of(run_file, listing) if run_file else _run_everything(options, say)
    if records is None:
        return INTERRUPTED
    found = coverage(listing, records)
    _write(report_of_coverage(found), options)
    least = options["least"]
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
    options: Mapping[str, Any], say: Callable[[str], None]
) -> tuple[Record, ...] | None:
    """Runs every operator once at a small size and returns the records; None if interrupted."""
    started = time.monotonic()
    path = cache_folder() / "coverage" / f"{options['framework']}.jsonl"
    with Workers(options["python"]) as workers:
        worker = workers.of(options["framework"])
        selection = worker.resolve_selection(Selection(size="small", settings=COVERAGE_SETTINGS))
        plan: Plan = plan_cases(worker, options["framework"], selection, say)
        head = make_header(plan, selection, {"command": "opperf coverage"})
        try:
            run = execute_to_file(
                path,
                head,
                plan.cases,
                plan.cases,
                workers,
                make_progress(sys.stderr, len(plan.cases), options["quiet"]),
                lambda: time.monotonic() - started,
            )
        except KeyboardInterrupt:
            tell(f"interrupted; the records are in {path}")
            return None
    return run.records
