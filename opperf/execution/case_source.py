"""Where the cases of a run come from, and the one way from any such source to its plan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import msgspec

from opperf.defaults import MAX_TIME_S, SWEEP_S
from opperf.errors import UsageError
from opperf.execution.workers import Workers
from opperf.model import BenchFacts, Case, ScriptTarget
from opperf.sources.base import SourceFile
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes, deduplicate, disambiguate, group_by_process, shuffle

Say = Callable[[str], None]


@dataclass(frozen=True)
class Asked:
    """The choice of cases that a source is asked for."""

    workers: Workers
    selection: Selection
    axes: Axes
    files: Sequence[SourceFile]
    overriding: Collection[str]
    """Options whose settings the cases of files have in place of their own."""
    say: Say


class Planned(NamedTuple):
    """The plan of a source, and what else the run file says of it."""

    plan: Plan
    axes: Axes
    """The axes with the framework's values filled in."""
    options: Mapping[str, Any] = {}
    """Further options of the header."""
    benches: tuple[BenchFacts, ...] = ()


class CaseSource(Protocol):
    """A source of the cases of a run."""

    program: str
    """The command whose source it is."""
    groups: bool
    """Whether cases of one process follow each other, and the order of the source is lost."""
    compiles_ahead: bool
    """Whether cases may be compiled before the first is measured."""
    is_forecast: bool
    """Whether one can tell before how long cases take, and their times make tables after."""
    repeats: bool
    """Whether there is a command for each case alone."""

    def find(self, asked: Asked) -> Planned:
        """Returns all its cases in their order. Raises `UsageError` for a selection that is not
        possible, and the errors of files and frameworks."""
        ...


def plan_source(source: CaseSource, asked: Asked) -> Planned:
    """Returns the plan of a source: each case once, those of the selection. Raises as `find`, and
    `UsageError` if there is no case, except in a part of a plan."""
    selection = asked.selection
    every = msgspec.structs.replace(selection, ids=(), partition=None)
    found = source.find(replace(asked, selection=every))
    cases = found.plan.cases
    if selection.shuffle:
        cases = shuffle(cases, selection.settings.seed)
    distinct = disambiguate(tuple(group_by_process(cases) if source.groups else deduplicate(cases)))
    plan = filter_by_id(msgspec.structs.replace(found.plan, cases=distinct), selection)
    if selection.partition is None:
        # Of few cases a part may have none.
        _check_plan(plan)
    return found._replace(plan=limit_case_times(filter_by_partition(plan, selection)))


def _check_plan(plan: Plan) -> None:
    if plan.cases:
        return
    if not plan.excluded:
        raise UsageError(
            "no operator matches --category, --namespace and --exclude together; `opperf list` "
            "prints all operators"
        )
    # Of overloads, the one that a plain name calls is the one meant.
    name, reason = min(plan.excluded.items(), key=lambda item: "." in item[0])
    if len(plan.excluded) == 1:
        raise UsageError(
            f"nothing to run: the selected operator has no benchmark: {name}: {reason}"
        )
    raise UsageError(
        f"nothing to run: none of the {len(plan.excluded)} selected operators has a benchmark, "
        f"e.g. {name}: {reason}"
    )


def filter_by_id(plan: Plan, selection: Selection) -> Plan:
    """Returns the plan with the cases whose ids, or ids in their file, the selection names. Raises
    `UsageError` for an id that no case has."""
    ids = selection.ids
    if not ids:
        return plan
    known = {id for case in plan.cases for id in case.source_ids}
    for wanted in ids:
        if wanted not in known and not any(case.id.startswith(wanted) for case in plan.cases):
            raise UsageError(
                f"--id {wanted}: no planned case has this id; use the options of the run it is "
                "from, and see opperf run --list for the ids"
            )
    asked = frozenset(ids)
    cases = tuple(
        case
        for case in plan.cases
        if not asked.isdisjoint(case.source_ids) or case.id.startswith(ids)
    )
    return msgspec.structs.replace(plan, cases=cases)


def filter_by_partition(plan: Plan, selection: Selection) -> Plan:
    """Returns the plan with the cases of the selection's partition. A case is in the same one
    whatever else is planned: that is decided by its id."""
    if selection.partition is None:
        return plan
    number, total = selection.partition
    cases = tuple(case for case in plan.cases if int(case.id, 16) % total == number)
    return msgspec.structs.replace(plan, cases=cases)


LEAST_TIME_S = 0.1
"""Minimum of the limit on a case's time, however many cases there are: less gives no precision."""


def limit_case_times(plan: Plan) -> Plan:
    """Returns the plan with a limit on the time of each case that has neither one nor a number of
    runs: the default limit, or less if there are many cases."""
    each = round(min(MAX_TIME_S, max(SWEEP_S / max(1, len(plan.cases)), LEAST_TIME_S)), 2)

    def limit(case: Case) -> Case:
        settings = case.settings
        is_limited = settings.runs is not None or settings.max_time_s is not None
        if is_limited or isinstance(case.target, ScriptTarget):
            return case
        return msgspec.structs.replace(
            case, settings=msgspec.structs.replace(settings, max_time_s=each)
        )

    return msgspec.structs.replace(plan, cases=tuple(map(limit, plan.cases)))
