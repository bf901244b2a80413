"""The cases of each arm, planned by its own worker, and what to say of them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

import msgspec

from opperf.comparison.ab.arms import ArmSpec, selection_of
from opperf.comparison.ab.loaded import have_own_modules
from opperf.comparison.ab.pairs import (
    Pair,
    Pairing,
    choose_by_id,
    pair_cases,
    plans_of,
    plans_of_files,
)
from opperf.comparison.ab.process import reasons_of
from opperf.errors import OpperfError, UsageError
from opperf.model import Environment
from opperf.plurals import pluralize
from opperf.reports.fields import LABEL, LONG_NAME, TEXT, Field, table_of
from opperf.reports.text import render
from opperf.requests.ab.resolving import ResolvedAb
from opperf.results.text import terminal_width, wrap
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes
from opperf.worker.client import Worker
from opperf.worker.protocol import Loaded


@contextmanager
def name_arm_in_errors(name: str, arm: ArmSpec) -> Iterator[None]:
    """Raises any `OpperfError` as a `UsageError` that names the arm."""
    try:
        yield
    except OpperfError as error:
        raise UsageError(f"arm {name} ({arm}): {error}") from error


class ArmPlan(NamedTuple):
    """The cases and the environment of an arm, from its first process."""

    plans: list[Plan]
    environment: Environment
    start_s: float
    later_start_s: float
    """Seconds that another process of the arm takes to start."""
    loaded: Loaded


def plan_arms(
    workers: Mapping[str, Worker], common: Selection, request: ResolvedAb
) -> dict[str, ArmPlan]:
    """Plans the cases of the arms. Arguments may be named as those of the first arm's operators, or
    the first's as those of the second."""
    first, second, *_ = request.arms
    return {
        name: _plan_arm(
            workers[name], name, common, request, request.arms[second if name == first else first]
        )
        # In their order: what another one lacks, the first has.
        for name in request.arms
    }


def _plan_arm(
    worker: Worker, name: str, common: Selection, request: ResolvedAb, other: ArmSpec
) -> ArmPlan:
    arm = request.arms[name]
    begun = time.monotonic()
    with name_arm_in_errors(name, arm):
        environment = worker.environment()
    start_s = time.monotonic() - begun
    # An arm without assignments is not at fault: both arms have the same error.
    own = arm.settings or arm.operators or have_own_modules(request.arms.values())
    with name_arm_in_errors(name, arm) if own else nullcontext():
        selections = [
            worker.resolve_selection(selection_of(arm, selection))
            for selection in along_axes(common, request.axes)
        ]
        begun = time.monotonic()
        is_fork = worker.begin_process([selections[0].settings.device])
        fork_s = time.monotonic() - begun
        plans = [
            plan
            for selection in selections
            for plan in (
                plans_of_files(
                    worker,
                    request.files,
                    request.framework,
                    selection,
                    request.asked.no_backward,
                    {*request.given, *arm.settings},
                )
                if request.files
                else plans_of(
                    worker,
                    request.framework,
                    selection,
                    arm.operators,
                    request.say,
                    other.operators,
                    is_second=arm is not next(iter(request.arms.values())),
                )
            )
        ]
        loaded = worker.loaded(case for plan in plans for case in plan.cases)
    return ArmPlan(plans, environment, start_s, fork_s if is_fork else start_s, loaded)


def _check_have_cases(arms: Mapping[str, ArmSpec], plans: Mapping[str, Sequence[Plan]]) -> None:
    """Raises `UsageError` for an operator of an arm without a case, unless that is a finding: it
    refuses the inputs that the first arm's takes."""
    first = next(iter(plans))
    lacking = [
        f"arm {name} ({arm}): ops:{operator} has no case to measure: "
        + ("; ".join(plan.excluded.values()) or "it is not in the selection")
        for name, arm in arms.items()
        if arm.operators
        # Each combination of the axes' values has a plan of each operator.
        for operator, plan, ours in zip(
            itertools.cycle(arm.operators), plans[name], plans[first], strict=False
        )
        if not plan.cases and not (ours.cases and plan.misfits)
    ]
    if lacking:
        raise UsageError("; ".join(dict.fromkeys(lacking)))


def along_axes(common: Selection, axes: Axes) -> Iterator[Selection]:
    """Yields the selection with each combination of the axes' values."""
    for values in itertools.product(*axes.values()):
        combination = dict(zip(axes, values, strict=True))
        yield msgspec.structs.replace(
            common,
            phase=combination.get("phase", common.phase),
            settings=msgspec.structs.replace(common.settings, **combination),
        )


def pair_plans(
    request: ResolvedAb, common: Selection, plans: Mapping[str, Sequence[Plan]]
) -> Pairing:
    """Returns the pairs of the arms' cases. Raises `UsageError` if there are none, unless the first
    has cases and another cannot have any."""
    _check_have_cases(request.arms, plans)
    first, *others = request.arms
    pairing = pair_cases(plans, positional=bool(request.arms[first].operators))
    if not request.files:
        pairing = choose_by_id(pairing, common.ids)
    is_missing = any(absence.is_missing for absence in pairing.alone)
    if not pairing.pairs and (
        any(plan.cases for arm in others for plan in plans[arm]) or not is_missing
    ):
        raise UsageError(_why_nothing(pairing, list(request.arms), plans[first]))
    return pairing


def omitted(plans: Mapping[str, Sequence[Plan]]) -> dict[str, str]:
    """Returns what was asked for and has no case, by name, with the reason."""
    return {
        name: reason
        for plan in next(iter(plans.values()))
        for name, reason in plan.excluded.items()
    }


class Planned(NamedTuple):
    """The plan of a dry run."""

    lines: tuple[str, ...] = ()
    table: str = ""
    """Of the cases."""


def listed(names: Iterable[str]) -> str:
    """Returns names as `A and B`, or `A, B and C`."""
    *others, last = names
    return f"{', '.join(others)} and {last}"


def describe(
    request: ResolvedAb, pairing: Pairing, rest: str, notes: Iterable[str]
) -> tuple[str, ...]:
    """Returns lines on the arms, notes on them, how many cases are compared with the rest of that
    sentence, and arguments that are paired by position."""
    alone, repeated = pairing.alone, pairing.repeated
    counts = [
        pluralize(len(pairing.pairs), "case"),
        *([f"{pluralize(len(alone), 'case')} without a partner"] if alone else []),
        *([f"{pluralize(repeated, 'case')} given twice and compared once"] if repeated else []),
    ]
    first, *others = request.arms
    by_position = {
        f"paired by position, {pair.label}: "
        + ", ".join(f"{own} of {arm} is {other} of {first}" for own, other in one.names.items())
        for pair in pairing.pairs
        for arm, one in zip(others, pair.each, strict=True)
        if one.names
    }
    arms = (f"{name}: {arm}" for name, arm in request.arms.items())
    return (*arms, *notes, ", ".join(counts) + rest, *sorted(by_position))


def _why_nothing(pairing: Pairing, arms: Sequence[str], plans: Sequence[Plan]) -> str:
    if pairing.alone:
        first, *others = pairing.alone
        elsewhere = next((other.case for other in others if arms[0] in other.reasons), "")
        other = f", but {elsewhere} in {arms[1]}" if elsewhere else ""
        every = "both" if len(arms) == 2 else "all"
        return f"no case is in {every} arms, e.g. {first.case}: {first.reason}{other}"
    for plan in plans:
        for name, reason in plan.excluded.items():
            return f"none of the operators has a benchmark, e.g. {name}: {reason}"
    return "nothing to compare: no operator matches --category, --namespace and --exclude together"


def case_table(pairing: Pairing) -> str:
    """A table of the pairs, and a line for each case without a partner."""
    settings = {pair.settings for pair in pairing.pairs}
    fields: tuple[Field[Pair], ...] = (
        Field("operator", "Operator", LONG_NAME, lambda pair: pair.label),
        Field("id", "Id", LABEL, lambda pair: pair.id),
        Field("inputs", "Inputs", TEXT, lambda pair: pair.inputs),
        Field(
            "settings",
            "Settings" if len(settings) > 1 else None,
            TEXT,
            lambda pair: pair.settings or "default",
        ),
    )
    lines = [f"excluded: {name}: {why}" for name, why in reasons_of(pairing.alone).items()]
    width = terminal_width()
    told = [line if width is None else wrap(line, width) for line in lines]
    return "\n".join([render(table_of(fields, pairing.pairs), width), *told])
