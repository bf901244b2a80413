"""Lists operators, and shows one with its cases, their scripts, or the rules that made them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import msgspec

from opperf.errors import UsageError
from opperf.frameworks.mentioned import choose_framework, report_choice
from opperf.model import DECLARED, ListedOperator, Settings
from opperf.requests.declaring import Option, Say, argument, declared, told
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
from opperf.requests.problems import Sets, path_of_problems
from opperf.requests.settings import Interpreters, SettingFields, option_of
from opperf.results.kept import display
from opperf.results.runfile import is_run_file, read_run

if TYPE_CHECKING:
    from opperf.model import Case, Listing
    from opperf.reports.model import Report
    from opperf.sources.registry import Plan
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

    def _planned(
        self, framework: str, selection: Selection, say: Say
    ) -> tuple[Plan, tuple[str, ...]]:
        """Returns the plan of a selection, and the scripts of its cases unless these say their
        rules."""
        from opperf.execution.planning import plan_cases

        with self._worker(framework, selection.settings) as worker:
            plan = plan_cases(worker, framework, worker.resolve_selection(selection), say)
            return plan, () if selection.rules else worker.scripts(plan.cases)

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


Rules = Annotated[
    bool,
    Option(
        "Print file and line of each rule, entry of a table, row and exception that made cases.",
        section="Cases",
    ),
]


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
            excludes={"rules": "categories have no rules of their own; omit one of the two"},
        ),
    ] = False
    rules: Rules = False
    imports: Annotated[tuple[str, ...], option_of(DECLARED["imports"])] = ()
    sets: Sets = {}

    def _imported(self) -> tuple[str, ...]:
        return self.imports

    def run(self, say: Say) -> Report:
        from opperf.reports.listing import categories_report, operators_report
        from opperf.reports.rules import rules_report
        from opperf.requests.selecting import select_groups
        from opperf.sources.registry import rule_uses

        problems = self._problems()
        if problems is not None:
            return problems
        selection = msgspec.structs.replace(select_groups(self.groups), patterns=self.names)
        framework = self._choose((*self.names, *self.imports), say)
        found = self._find(framework, self._listing(framework, say), selection)
        # A wrong name is reported before a file that is in the way.
        self.check_outputs()
        if self.rules:
            settings = msgspec.structs.replace(CHOSEN, imports=self.imports)
            asked = msgspec.structs.replace(selection, settings=settings, rules=True)
            plan, _ = self._planned(framework, asked, say)
            return rules_report("list", rule_uses(plan))
        return (categories_report if self.by_category else operators_report)(found)

    def _problems(self) -> Report | None:
        """Returns the report on problems of kernels in a file or folder; None of operators. Raises
        `UsageError` and `RunFileError`."""
        path = path_of_problems(self, self.names, OF_PROBLEMS)
        if path is None:
            if self.sets:
                raise UsageError("--set: it is of a folder of problems; name one")
            return None
        from opperf.candidates.formats.base import Asked
        from opperf.candidates.formats.known import read
        from opperf.candidates.formats.listing import problems_report

        with TemporaryDirectory() as folder:
            found = read(Asked(path, Path(folder), self.sets))
        self.check_outputs()
        return problems_report(found)


CHOSEN = Settings(device="", mode="", profiler="")
"""Settings that the framework chooses."""

COMMON = tuple(name for name, setting in DECLARED.items() if setting.common)
"""The settings of one value that cases share."""

OF_PROBLEMS = frozenset({"names", "sets", "output_files", "output_format", "overwrite"})
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
    rules: Rules = False

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
        from opperf.reports.rules import rules_report
        from opperf.reports.showing import report_of
        from opperf.sources.registry import rule_uses

        asked = self.selection
        if self.rules:
            plan = self.plan_rules(say)
            return rules_report("show", rule_uses(plan), next(iter(plan.excluded.values()), ""))
        framework, listed = self._operator(say)
        cases: tuple[Case, ...] = ()
        scripts: tuple[str, ...] = ()
        # An operator without a rule may have the user's inputs.
        if listed.rule or asked.shapes or asked.values or asked.settings.input_function:
            chosen = msgspec.structs.replace(asked, patterns=(listed.operator.target.path,))
            plan, scripts = self._planned(framework, chosen, say)
            cases = plan.cases
            if not cases:
                # One operator or callable was planned, and has no case.
                (reason,) = plan.excluded.values()
                listed = ListedOperator(operator=listed.operator, reason=reason)
        return report_of(listed, cases, scripts)

    def plan_rules(self, say: Say) -> Plan:
        """Returns the plan of the operator, whose cases say what made them."""
        framework, listed = self._operator(say)
        patterns = (listed.operator.target.path,)
        asked = msgspec.structs.replace(self.selection, patterns=patterns, rules=True)
        return self._planned(framework, asked, say)[0]

    def _operator(self, say: Say) -> tuple[str, ListedOperator]:
        words = (self.name, self.settings.input_function, *self.settings.imports)
        framework = self._choose(words, say)
        listed = self._only(framework, self._listing(framework, say))
        self.check_outputs()
        return framework, listed

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
