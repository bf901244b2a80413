"""Lists operators, shows one with its cases, and reports how much of a registry is measured."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import msgspec

from opperf.errors import RunFileError, UsageError
from opperf.folders import cache_folder
from opperf.frameworks.mentioned import choose_framework, report_choice
from opperf.model import DECLARED, ListedOperator, Settings
from opperf.requests.declaring import Option, Say, argument, declared, told, unsaid
from opperf.requests.operators import (
    Framework,
    Ids,
    MaxConfigs,
    OperatorGroups,
    RandomShapes,
    Shapes,
    Size,
    Values,
)
from opperf.requests.outputs import ReportedRequest
from opperf.requests.parsers import split_commas
from opperf.requests.problems import path_of_problems
from opperf.requests.settings import Interpreters, SettingFields, option_of
from opperf.results.kept import display
from opperf.results.run_files import locate
from opperf.results.runfile import is_run_file, read_run

if TYPE_CHECKING:
    from opperf.model import Case, ListedOperator, Listing, Record
    from opperf.reports.coverage import Coverage
    from opperf.reports.model import Report
    from opperf.sources.selecting import Selection
    from opperf.worker.client import Worker

NAMED = 8
"""Operators named in an error: one line of a terminal."""

SHOWN_CASES = 20
"""Cases of a run file that are shown without `--id`: each takes half a page."""


class RegistryRequest(ReportedRequest, frozen=True, kw_only=True):
    """A request on the registry of a framework."""

    interpreters: Interpreters = ()
    framework: Framework = ""

    def _imported(self) -> tuple[str, ...]:
        """Returns the modules that register operators of the user's."""
        return ()

    def _choose(self, words: Iterable[str], say: Say) -> str:
        if len({interpreter.label for interpreter in self.interpreters}) > 1:
            raise UsageError("--python: name one interpreter; only opperf run takes several")
        choice = choose_framework(self.framework, words, interpreters=self.interpreters)
        report_choice(choice, say)
        return choice.name

    def _worker(self, framework: str, settings: Settings | None = None) -> Worker:
        from opperf.execution.planning import making_process
        from opperf.execution.workers import interpreter_of
        from opperf.worker.client import Worker

        found = interpreter_of(self.interpreters, framework, "")
        process = Settings(imports=self._imported())
        if settings is not None:
            process = making_process(framework, process, settings)
        return Worker(framework, process, python=found.path if found else "")

    def _listing(self, framework: str, say: Say) -> Listing:
        from opperf.execution.paces import load_listing

        def ask() -> Listing:
            with self._worker(framework) as worker:
                return worker.listing()

        if self.interpreters or self._imported():
            return ask()
        return told(load_listing(framework, ask), say)

    def _find(self, framework: str, listing: Listing, selection: Selection) -> list[ListedOperator]:
        from opperf.sources.selecting import select, split_paths

        operators = [listed.operator for listed in listing.operators]
        paths, named = split_paths(selection.patterns, operators)
        found: list[ListedOperator] = []
        if named or not paths:
            asked = msgspec.structs.replace(selection, patterns=named)
            chosen = select(operators, asked, listing.functions)
            targets = {operator.target for operator in chosen}
            found = [listed for listed in listing.operators if listed.operator.target in targets]
        if paths:
            with self._worker(framework) as worker:
                found += worker.listing(paths).operators
        return found


class ListRequest(RegistryRequest, frozen=True, kw_only=True):
    """Lists operators, or their categories."""

    names: Annotated[tuple[str, ...], argument("[OPERATOR|FOLDER]...", gather=split_commas)] = ()
    groups: OperatorGroups = OperatorGroups()
    by_category: Annotated[
        bool,
        Option(
            "List the operators' categories instead, with the numbers of operators and of cases.",
            section="Cases",
            spellings="--categories",
        ),
    ] = False
    imports: Annotated[tuple[str, ...], option_of(DECLARED["imports"])] = ()

    def _imported(self) -> tuple[str, ...]:
        return self.imports

    def run(self, say: Say) -> Report:
        from opperf.reports.listing import categories_report, operators_report
        from opperf.requests.selecting import select_groups

        problems = self._problems()
        if problems is not None:
            return problems
        selection = msgspec.structs.replace(select_groups(self.groups), patterns=self.names)
        framework = self._choose((*self.names, *self.imports), say)
        found = self._find(framework, self._listing(framework, say), selection)
        # A wrong name is reported before a file that is in the way.
        self.check_outputs()
        return (categories_report if self.by_category else operators_report)(found)

    def _problems(self) -> Report | None:
        """Returns the report on problems of kernels in a file or folder; None of operators. Raises
        `UsageError` and `RunFileError`."""
        path = path_of_problems(self, self.names, OF_PROBLEMS)
        if path is None:
            return None
        from opperf.candidates.formats.base import Asked
        from opperf.candidates.formats.known import read
        from opperf.candidates.formats.listing import problems_report

        with TemporaryDirectory() as folder:
            found = read(Asked(path, Path(folder)))
        self.check_outputs()
        return problems_report(found)


COMMON = tuple(name for name, setting in DECLARED.items() if setting.common)
"""The settings of one value that cases share."""

OF_PROBLEMS = frozenset({"names", "output_files", "output_format", "overwrite"})
"""Fields that apply to problems of kernels."""

OF_FILES = frozenset({"name", "ids", "interpreters", "output_files", "output_format", "overwrite"})
"""Fields that apply to a run file."""


class ShowRequest(RegistryRequest, frozen=True, kw_only=True):
    """Shows an operator with its cases and their scripts, or the cases of a run file."""

    name: Annotated[str, argument("OPERATOR|RUNFILE")]
    size: Size = "default"
    shapes: Shapes = {}
    values: Values = {}
    settings: Annotated[Settings, SettingFields(COMMON)] = Settings()
    configurations: MaxConfigs = None
    random: RandomShapes = RandomShapes()
    ids: Ids = ()

    def _imported(self) -> tuple[str, ...]:
        return self.settings.imports

    @property
    def selection(self) -> Selection:
        """The inputs and settings; a device, profiler or mode that was not given is empty, and
        chosen by the framework. Raises `UsageError` for a swept variable."""
        from opperf.requests.selecting import split_shapes
        from opperf.sources.resolving import OWN_DEFAULT
        from opperf.sources.selecting import Selection

        own = {name: "" for name in OWN_DEFAULT if name not in self.given}
        fixed, swept = split_shapes(self.shapes)
        for name, shape in swept.items():
            text = "x".join(map(str, shape))
            raise UsageError(f"--shape {name}={text}: variables are for --sweep of opperf run")
        return Selection(
            size=self.size,
            configurations=self.configurations,
            shapes=fixed,
            values=dict(self.values),
            fuzz=self.random.fuzz,
            ids=self.ids,
            settings=msgspec.structs.replace(self.settings, **own),
            dtype_given="dtype" in self.given,
        )

    def run(self, say: Say) -> Report:
        from opperf.requests.selecting import check_shape_options, split_sources

        check_shape_options(self.given)
        # An empty name is no folder.
        _, files = split_sources([self.name] if self.name else [])
        return self._of_file(files[0], say) if files else self._of_operator(say)

    def _of_operator(self, say: Say) -> Report:
        from opperf.execution.planning import plan_cases
        from opperf.reports.showing import report_of

        asked = self.selection
        words = (self.name, self.settings.input_function, *self.settings.imports)
        framework = self._choose(words, say)
        listed = self._only(framework, self._listing(framework, say))
        self.check_outputs()
        cases: tuple[Case, ...] = ()
        scripts: tuple[str, ...] = ()
        # An operator without a rule may have the user's inputs.
        if listed.rule or asked.shapes or asked.values or asked.settings.input_function:
            chosen = msgspec.structs.replace(asked, patterns=(listed.operator.target.path,))
            with self._worker(framework, chosen.settings) as worker:
                selection = worker.resolve_selection(chosen)
                plan = plan_cases(worker, framework, selection, say)
                cases, scripts = plan.cases, worker.scripts(plan.cases)
            if not cases:
                # One operator or callable was planned, and has no case.
                (reason,) = plan.excluded.values()
                listed = ListedOperator(operator=listed.operator, reason=reason)
        return report_of(listed, cases, scripts)

    def _only(self, framework: str, listing: Listing) -> ListedOperator:
        from opperf.sources.selecting import Selection, find_matching, group_options

        operators = [listed.operator for listed in listing.operators]
        groups = group_options(self.name, operators)
        if groups and not find_matching(self.name, operators):
            raise UsageError(
                f"{self.name!r} is a group of operators, and show takes one operator: "
                f"opperf list {groups[0]} prints them"
            )
        found = self._find(framework, listing, Selection(patterns=(self.name,)))
        if len(found) != 1:
            # By the paths: a label may be a name of all of them, as that of a default overload is.
            names = ", ".join(listed.operator.target.path for listed in found[:NAMED])
            more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
            raise UsageError(
                f"{self.name!r} matches several operators, and show takes one: {names}{more}"
            )
        return found[0]

    def _of_file(self, path: Path, say: Say) -> Report:
        from opperf.execution.workers import scripts_of
        from opperf.reports.showing import report_of_run

        if not is_run_file(path):
            raise UsageError(
                f"{self.name} is no run file: opperf run {self.name} --list prints the cases of "
                "other files"
            )
        for name, field in declared(type(self)).items():
            if name in self.given - OF_FILES:
                raise UsageError(
                    f"{field.shown} does not apply to {self.name}, whose cases have their inputs "
                    "and settings; omit it"
                )
        self.check_outputs([path])
        run = told(read_run(path), say)
        for wanted in self.ids:
            if not any(case.id.startswith(wanted) for case in run.cases):
                raise UsageError(f"--id {wanted}: no case of {path} has this id")
        cases = [case for case in run.cases if not self.ids or case.id.startswith(self.ids)]
        shown = cases if self.ids else cases[:SHOWN_CASES]
        scripts = scripts_of(shown, (*self.interpreters, *run.header.interpreters))
        return report_of_run(display(path), run, shown, scripts, len(cases) - len(shown))


COVERAGE_SETTINGS = Settings(
    device="", mode="", profiler="python", warmup=0, runs=1, timeout_s=60.0, memory=False
)
"""One call of each pass: enough to see that an operator runs. The timeout is a hundred times the
time of the slowest small case."""


class CoverageRequest(RegistryRequest, frozen=True, kw_only=True):
    """Counts the operators of a registry that are measured."""

    run_file: Annotated[Path | None, argument("[RUNFILE]", locate)] = None
    least: Annotated[
        float | None,
        Option(
            "Exit with 1 if a smaller share of the distinct operators is measured.",
            low=0,
            high=100,
            metavar="PERCENT",
            section="Plan, resumption and exit code",
            spellings="--min",
        ),
    ] = None
    quiet: Annotated[
        bool, Option("Show no progress.", section="Plan, resumption and exit code")
    ] = False

    def run(self, say: Say) -> Coverage | None:
        """Returns the coverage by the records of the run file, or of a run of every operator; None
        if that was interrupted."""
        from opperf.reports.coverage import coverage

        progress = unsaid if self.quiet else say
        framework = self._choose((), progress)
        listing = self._listing(framework, say)
        self.check_outputs(filter(None, [self.run_file]))
        if self.run_file is None:
            records = self._run_everything(framework, say, progress)
        else:
            records = self._records_of(self.run_file, listing, say)
        return None if records is None else coverage(listing, records)

    def _records_of(self, path: Path, listing: Listing, say: Say) -> Sequence[Record]:
        run = told(read_run(path), say)
        environment = run.environment
        if environment is None:
            raise RunFileError(f"{path}: the run has no environment, which says what was measured")
        measured = (environment.framework, environment.versions.get(environment.framework, ""))
        if measured != (listing.framework, listing.version):
            raise RunFileError(
                f"{path} is a run of {' '.join(measured)}, but the framework here is "
                f"{listing.framework} {listing.version}; choose another with --framework or "
                "--python"
            )
        return run.records

    def _run_everything(self, framework: str, say: Say, progress: Say) -> Sequence[Record] | None:
        from opperf.execution.execute import execute_to_file
        from opperf.execution.planning import plan_cases
        from opperf.execution.progress import make_progress
        from opperf.execution.run_header import make_header
        from opperf.execution.workers import Workers
        from opperf.sources.selecting import Selection

        started = time.monotonic()
        path = cache_folder() / "coverage" / f"{framework}.jsonl"
        with Workers(self.interpreters) as workers:
            worker = workers.of(framework)
            asked = Selection(size="small", settings=COVERAGE_SETTINGS)
            selection = worker.resolve_selection(asked)
            plan = plan_cases(worker, framework, selection, progress)
            try:
                run = execute_to_file(
                    path,
                    make_header(plan, selection, "opperf coverage"),
                    plan.cases,
                    plan.cases,
                    workers,
                    make_progress(sys.stderr, len(plan.cases), self.quiet),
                    lambda: time.monotonic() - started,
                )
            except KeyboardInterrupt:
                say(f"interrupted; the records are in {path}")
                return None
        return run.records
