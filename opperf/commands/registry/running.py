"""The commands `list`, `show` and `coverage`: their requests, and what they do."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from opperf.commands.options import take
from opperf.commands.run.request import build_common_settings
from opperf.errors import FOUND, INTERRUPTED, RunFileError, UsageError
from opperf.execution.cache import load_listing
from opperf.execution.execute import execute_to_file
from opperf.execution.planning import making_process, plan_cases
from opperf.execution.progress import make_progress
from opperf.execution.run_header import make_header
from opperf.execution.scripts import scripts_of
from opperf.execution.workers import Workers, interpreter_of
from opperf.folders import cache_folder
from opperf.frameworks.mentioned import FrameworkChoice, read_choice, report_choice
from opperf.model import Case, Interpreter, ListedOperator, Listing, Record, Settings
from opperf.parameters import spelling
from opperf.reports.coverage import coverage
from opperf.reports.coverage import report_of as report_of_coverage
from opperf.reports.listing import categories_report, operators_report
from opperf.reports.showing import report_of as report_of_operator
from opperf.reports.showing import report_of_run
from opperf.reports.writing import write_reports
from opperf.requests.operators import OperatorGroups, RandomShapes
from opperf.requests.selecting import check_shape_options, select_groups, split_sources
from opperf.results.kept import display
from opperf.results.messages import tell
from opperf.results.output import Output, check_output
from opperf.results.runfile import is_run_file, read_run
from opperf.sources.selecting import Selection, find_matching, group_options, select, split_paths
from opperf.worker.client import Worker


@dataclass(frozen=True)
class Registry:
    """A registry, and where the report about it goes."""

    framework: FrameworkChoice
    interpreters: tuple[Interpreter, ...]
    """The one that imports the framework; none for opperf's own."""
    imports: tuple[str, ...]
    output: Output
    overwrite: bool

    def check_output(self, inputs: Iterable[Path] = ()) -> None:
        """Raises `OutputError` for an output file that cannot be written."""
        check_output(self.output.path, self.overwrite, inputs)

    @property
    def is_own(self) -> bool:
        """Whether it is that of opperf's interpreter, without modules of the user's."""
        return not (self.interpreters or self.imports)


@dataclass(frozen=True)
class ShowRequest:
    """The request of `show`."""

    registry: Registry
    name: str
    file: Path | None
    """The run file of this name, whose cases are shown; None for an operator."""
    selection: Selection


OF_FILES = frozenset(
    {"name", "ids", "python", "output_file", "output_format", "overwrite", "debug"}
)
"""Parameters of `show` that apply to a run file."""


def read_registry(options: Mapping[str, Any], set_here: Mapping[str, Any]) -> Registry:
    """Returns the registry of a command's options. Raises `UsageError` for several interpreters."""
    interpreters: tuple[Interpreter, ...] = options["python"]
    if len({interpreter.label for interpreter in interpreters}) > 1:
        raise UsageError("--python: name one interpreter; only opperf run takes several")
    return Registry(
        framework=read_choice(options, set_here),
        interpreters=interpreters,
        imports=options.get("imports", ()),
        output=Output(options["output_file"], options["output_format"]),
        overwrite=options["overwrite"],
    )


def read_show_request(options: Mapping[str, Any], set_here: Mapping[str, Any]) -> ShowRequest:
    """Returns the request of `show`. Raises `UsageError` for options that contradict each other,
    and for those of inputs beside a file."""
    check_shape_options(set_here)
    name: str = options["name"]
    # An empty name is no folder.
    _, files = split_sources([name] if name else [])
    file = files[0] if files else None
    if file is not None:
        if not is_run_file(file):
            raise UsageError(
                f"{name} is no run file: opperf run {name} --list prints the cases of other files"
            )
        for parameter in set_here:
            if parameter not in OF_FILES:
                raise UsageError(
                    f"{spelling(parameter)} does not apply to {name}, whose cases have "
                    "their inputs and settings; omit it"
                )
    return ShowRequest(
        registry=read_registry(options, set_here),
        name=name,
        file=file,
        selection=Selection(
            size=options["size"],
            configurations=options["configurations"],
            shapes=options["shapes"],
            values=options["values"],
            fuzz=take(RandomShapes, options).fuzz,
            ids=options["ids"],
            settings=build_common_settings(options),
            dtype_given=options["dtype"] is not None,
        ),
    )


COVERAGE_SETTINGS = Settings(
    device="", mode="", profiler="python", warmup=0, runs=1, timeout_s=60.0, memory=False
)
"""One call of each pass: enough to see that an operator runs. The timeout is a hundred times the
time of the slowest small case."""


SHOWN_CASES = 20
"""Cases of a run file that are shown without `--id`: each takes half a page."""

NAMED = 8
"""Operators named in an error: one line of a terminal."""


def worker_for(registry: Registry, settings: Settings | None = None) -> Worker:
    """Returns a worker of the framework; with the `settings` of cases, one that measures these."""
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


def find_listed(registry: Registry, listing: Listing, selection: Selection) -> list[ListedOperator]:
    """Returns the selected operators of the registry, then the callables at dotted paths. Raises
    the errors of `select`, and `UnknownOperatorError` for a path that leads to no callable."""
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


def list_command(options: Mapping[str, Any], set_here: Mapping[str, Any]) -> int:
    """Prints the selected operators or their categories; the exit code."""
    registry = read_registry(options, set_here)
    selection = msgspec.structs.replace(
        select_groups(take(OperatorGroups, options)), patterns=options["names"]
    )
    report_choice(registry.framework, tell)
    listing = listing_for(registry)
    found = find_listed(registry, listing, selection)
    # A wrong name is reported before a file that is in the way.
    registry.check_output()
    report = (categories_report if options["by_category"] else operators_report)(found)
    write_reports(report, [registry.output])
    return 0


def show_command(request: ShowRequest) -> int:
    """Prints an operator, its cases and their scripts; the exit code. Raises `UsageError` unless
    the name matches one operator, or is that of a run file."""
    registry = request.registry
    if request.file is not None:
        return _show_file(request.file, request)
    report_choice(registry.framework, tell)
    listing = listing_for(registry)
    operators = [listed.operator for listed in listing.operators]
    groups = group_options(request.name, operators)
    if groups and not find_matching(request.name, operators):
        raise UsageError(
            f"{request.name!r} is a group of operators, and show takes one operator: "
            f"opperf list {groups[0]} prints them"
        )
    found = find_listed(registry, listing, Selection(patterns=(request.name,)))
    if len(found) != 1:
        # By the paths: a label may be a name of all of them, as that of a default overload is.
        names = ", ".join(listed.operator.target.path for listed in found[:NAMED])
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        raise UsageError(
            f"{request.name!r} matches several operators, and show takes one: {names}{more}"
        )
    (listed,) = found
    registry.check_output()
    operator = listed.operator
    cases: tuple[Case, ...] = ()
    scripts: tuple[str, ...] = ()
    asked = request.selection
    # An operator without a rule may have the user's inputs.
    if listed.rule or asked.shapes or asked.values or asked.settings.input_function:
        chosen = msgspec.structs.replace(asked, patterns=(operator.target.path,))
        with worker_for(registry, chosen.settings) as worker:
            selection = worker.resolve_selection(chosen)
            plan = plan_cases(worker, registry.framework.name, selection, tell)
            cases, scripts = plan.cases, worker.scripts(plan.cases)
        if not cases:
            # One operator or callable was planned, and has no case.
            (reason,) = plan.excluded.values()
            listed = ListedOperator(operator=operator, reason=reason)
    write_reports(report_of_operator(listed, cases, scripts), [registry.output])
    return 0


def _show_file(path: Path, request: ShowRequest) -> int:
    """Prints the cases of a run file with figures and scripts. Raises `UsageError` for an id that
    none has."""
    registry = request.registry
    registry.check_output([path])
    run, warnings = read_run(path)
    for warning in warnings:
        tell(f"warning: {warning}")
    ids = request.selection.ids
    for wanted in ids:
        if not any(case.id.startswith(wanted) for case in run.cases):
            raise UsageError(f"--id {wanted}: no case of {path} has this id")
    cases = [case for case in run.cases if not ids or case.id.startswith(ids)]
    shown = cases if ids else cases[:SHOWN_CASES]
    scripts = scripts_of(shown, (*registry.interpreters, *run.header.interpreters))
    report = report_of_run(display(path), run, shown, scripts, len(cases) - len(shown))
    write_reports(report, [registry.output])
    return 0


def coverage_command(options: Mapping[str, Any], set_here: Mapping[str, Any]) -> int:
    """Prints how much of the registry is measured; the exit code."""
    registry = read_registry(options, set_here)
    run_file: Path | None = options["run_file"]
    say: Callable[[str], None] = (lambda text: None) if options["quiet"] else tell
    report_choice(registry.framework, say)
    listing = listing_for(registry)
    registry.check_output(filter(None, [run_file]))
    records = (
        _records_of(run_file, listing)
        if run_file
        else _run_everything(registry, options["quiet"], say)
    )
    if records is None:
        return INTERRUPTED
    found = coverage(listing, records)
    write_reports(report_of_coverage(found), [registry.output])
    least: float | None = options["least"]
    if least is not None and found.total.percent < least:
        tell(
            f"opperf: {found.total.percent:.2f} % of the distinct operators are measured, "
            f"less than {least:g} %"
        )
        return FOUND
    return 0


def _records_of(path: Path, listing: Listing) -> tuple[Record, ...]:
    """Returns the records of a run file. Raises `RunFileError` if its framework or version is not
    that of the listing."""
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
    """Runs every operator once at a small size; None if interrupted."""
    started = time.monotonic()
    framework = registry.framework.name
    path = cache_folder() / "coverage" / f"{framework}.jsonl"
    with Workers(registry.interpreters) as workers:
        worker = workers.of(framework)
        selection = worker.resolve_selection(Selection(size="small", settings=COVERAGE_SETTINGS))
        plan = plan_cases(worker, framework, selection, say)
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
