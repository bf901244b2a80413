"""The manager's way from a selection to a plan: the rules' cases, what is found by trying where
there is no rule, and random shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from opperf.defaults import MAX_TIME_S, SWEEP_S
from opperf.errors import UsageError
from opperf.model import Case
from opperf.rules.extents import groups
from opperf.rules.fuzzing import Fuzz, drawn
from opperf.rules.values import Arguments
from opperf.runner.pool import Worker
from opperf.runner.searching import TRIAL_TIMEOUT_S, search_inputs
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection

SMALL = "small"
"""Size of the inputs whose extents are drawn anew: that they may change is seen soonest so."""

DRAWS = 20
"""Random shapes tried for each one that is wanted; most are taken, and an operator that refuses so
many wants something that drawing does not know."""


def plan_cases(
    worker: Worker, framework: str, selection: Selection, say: Callable[[str], None]
) -> Plan:
    """The cases of a selection. `say` is told what takes time.

    Raises `UsageError` for what cannot be selected, and for an id that no case has.
    """
    fuzz = selection.fuzz
    asked = selection if fuzz is None else msgspec.structs.replace(selection, size=SMALL)
    plan = worker.plan(asked)
    if plan.searchable:
        found, reasons = search_inputs(worker, framework, plan.searchable, asked, say)
        plan = worker.plan(asked, found)
        plan = msgspec.structs.replace(plan, excluded={**plan.excluded, **reasons})
    if fuzz is not None:
        say("trying which extents of the inputs can change")
        plan = _with_random_shapes(worker, plan, fuzz, selection.settings.seed)
    return filter_by_id(plan, selection.ids)


def _with_random_shapes(worker: Worker, plan: Plan, fuzz: Fuzz, seed: int) -> Plan:
    """The plan with random shapes of each operator in place of its own cases."""
    templates: dict[str, list[Case]] = {}
    for case in plan.cases:
        templates.setdefault(case.label, []).append(case)
    cases: list[Case] = []
    missing = dict(plan.excluded)
    for label, own in templates.items():
        made = list(_random_cases(worker, own, fuzz, seed))
        cases += made
        if not made:
            missing[label] = (
                "no random shape was taken: every extent follows from others, or none comes to "
                f"{fuzz.least} to {fuzz.most} elements"
            )
    # Random shapes may be alike where few are possible.
    distinct = tuple({case.id: case for case in cases}.values())
    return msgspec.structs.replace(plan, cases=distinct, excluded=missing)


def _random_cases(worker: Worker, templates: list[Case], fuzz: Fuzz, seed: int) -> Iterator[Case]:
    """Cases of random shapes of one operator, its configurations in turn."""
    tagged = [
        msgspec.structs.replace(case, tags=(*case.tags, f"configuration {index}"))
        for index, case in enumerate(templates)
    ]
    sources = [
        (case, draws) for case in tagged if (draws := _draws(worker, case, fuzz, seed)) is not None
    ]
    taken = attempts = 0
    while sources and taken < fuzz.count and attempts < DRAWS * fuzz.count:
        attempts += 1
        case, draws = sources[attempts % len(sources)]
        arguments = next(draws, None)
        if arguments is None:
            sources.remove((case, draws))
            continue
        made = msgspec.structs.replace(case, arguments=arguments, origin=f"{case.origin}+fuzz")
        trial = worker.try_call(made, TRIAL_TIMEOUT_S)
        if not trial.refusal and trial.output_bytes <= OUTPUT_BYTES * fuzz.most:
            taken += 1
            yield made


OUTPUT_BYTES = 8
"""Bytes of an element at most that an output may have: a limit on elements is one on its bytes."""


def _draws(worker: Worker, case: Case, fuzz: Fuzz, seed: int) -> Iterator[Arguments] | None:
    """Random shapes of one configuration; None if nothing about it can change."""

    def accepts(arguments: Arguments) -> bool:
        changed = msgspec.structs.replace(case, arguments=arguments)
        return not worker.try_call(changed, TRIAL_TIMEOUT_S).refusal

    free = groups(case.arguments, accepts)
    return drawn(case.arguments, free, fuzz, seed, f"{case.label} {case.tags}") if free else None


LEAST_TIME_S = 0.1
"""Seconds that a case is timed for at least, however many there are: less is no measurement."""


def limit_case_times(plan: Plan) -> Plan:
    """The plan with a limit on the time of each case that has none and no number of runs: the usual
    one, or less where there are many cases."""
    each = round(min(MAX_TIME_S, max(SWEEP_S / len(plan.cases), LEAST_TIME_S)), 2)

    def limited(case: Case) -> Case:
        settings = case.settings
        if settings.runs is not None or settings.max_time_s is not None:
            return case
        return msgspec.structs.replace(
            case, settings=msgspec.structs.replace(settings, max_time_s=each)
        )

    return msgspec.structs.replace(plan, cases=tuple(map(limited, plan.cases)))


def filter_by_id(plan: Plan, ids: tuple[str, ...]) -> Plan:
    """The plan with the cases of these ids only, or of ids that begin so."""
    if not ids:
        return plan
    for wanted in ids:
        if not any(case.id.startswith(wanted) for case in plan.cases):
            raise UsageError(
                f"--id {wanted}: no case that is planned has this id; opperf run --list shows the "
                "ids, and the options must be those of the run it is from"
            )
    cases = tuple(case for case in plan.cases if case.id.startswith(ids))
    return msgspec.structs.replace(plan, cases=cases)
