"""Plans a selection: cases by rules, by search where there is no rule, or with random shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from opperf.defaults import MAX_TIME_S, SWEEP_S
from opperf.errors import UsageError
from opperf.execution.refitting import fit_cases
from opperf.execution.searching import TRIAL_TIMEOUT_S, search_inputs
from opperf.model import Case
from opperf.rules.extents import groups
from opperf.rules.fuzzing import Fuzz, draw
from opperf.rules.values import Arguments
from opperf.sources.registry import Found, Plan
from opperf.sources.selecting import Selection
from opperf.sources.sweeping import at_point, configuration_tag, join_points, points_of
from opperf.sources.varying import unconverted
from opperf.worker.client import Worker

SMALL = "small"
"""Size of the inputs whose extents are replaced by random ones: the quickest to try."""

DRAWS = 20
"""Random shapes tried for each one needed. Most are accepted; an operator that refuses so many has
a constraint that random shapes do not meet."""


def plan_cases(
    worker: Worker, framework: str, selection: Selection, say: Callable[[str], None]
) -> Plan:
    """Returns the plan of a selection. `say` prints what takes time.

    Raises `UsageError` for a selection that is not possible, and for an id that no case has.
    """
    if selection.sweeps:
        plans = [
            (point, _plan_shapes(worker, framework, at_point(selection, point), say))
            for point in points_of(selection)
        ]
        plan = join_points(plans, selection)
    else:
        plan = _plan_shapes(worker, framework, selection, say)
    dtype = selection.settings.dtype
    left = unconverted(plan.cases, dtype) if selection.dtype_given else ()
    if left:
        say(f"--dtype {dtype} leaves as they are: {', '.join(left)}, which are of another kind")
    return filter_by_id(plan, selection.ids)


def _plan_shapes(
    worker: Worker, framework: str, selection: Selection, say: Callable[[str], None]
) -> Plan:
    """Returns the plan of a selection without swept variables, with all its cases."""
    fuzz = selection.fuzz
    asked = selection if fuzz is None else msgspec.structs.replace(selection, size=SMALL)
    plan = worker.plan(asked)
    found: Found = {}
    if plan.searchable:
        found, reasons = search_inputs(worker, framework, plan.searchable, asked, say)
        plan = worker.plan(asked, found)
        plan = msgspec.structs.replace(plan, excluded={**plan.excluded, **reasons})
    if fuzz is None:
        plan = fit_cases(worker, plan, asked, found, say)
    else:
        say("trying which extents of the inputs can change")
        plan = _with_random_shapes(worker, plan, fuzz, selection.settings.seed)
    return plan


def _with_random_shapes(worker: Worker, plan: Plan, fuzz: Fuzz, seed: int) -> Plan:
    """Returns the plan with cases of random shapes in place of each operator's own."""
    templates: dict[str, list[Case]] = {}
    for case in plan.cases:
        templates.setdefault(case.label, []).append(case)
    cases: list[Case] = []
    missing = dict(plan.excluded)
    for label, own in templates.items():
        drawn_cases = list(_draw_cases(worker, own, fuzz, seed))
        cases += drawn_cases
        if not drawn_cases:
            missing[label] = (
                "no random shape was accepted: every extent depends on others, or none gives "
                f"{fuzz.least} to {fuzz.most} elements"
            )
    # If few shapes are possible, several cases may have the same.
    distinct = tuple({case.id: case for case in cases}.values())
    return msgspec.structs.replace(plan, cases=distinct, excluded=missing)


def _draw_cases(worker: Worker, templates: list[Case], fuzz: Fuzz, seed: int) -> Iterator[Case]:
    """Yields cases of one operator with random shapes, its configurations in turn."""
    tagged = [
        msgspec.structs.replace(case, tags=(*case.tags, configuration_tag(index)))
        for index, case in enumerate(templates)
    ]
    sources = [
        (case, draws)
        for case in tagged
        if (draws := _draw_arguments(worker, case, fuzz, seed)) is not None
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
            # Those of the trial have indices in range of the new extents.
            yield msgspec.structs.replace(made, arguments=trial.arguments or arguments)


OUTPUT_BYTES = 8
"""Largest size of an element, which turns the limit on elements into one on an output's bytes."""


def _draw_arguments(
    worker: Worker, case: Case, fuzz: Fuzz, seed: int
) -> Iterator[Arguments] | None:
    """Returns arguments with random shapes for one configuration; None if no extent can change."""

    def accepts(arguments: Arguments) -> bool:
        changed = msgspec.structs.replace(case, arguments=arguments)
        return not worker.try_call(changed, TRIAL_TIMEOUT_S).refusal

    free = groups(case.arguments, accepts)
    return draw(case.arguments, free, fuzz, seed, f"{case.label} {case.tags}") if free else None


LEAST_TIME_S = 0.1
"""Minimum of the limit on a case's time, however many cases there are: less gives no precision."""


def limit_case_times(plan: Plan) -> Plan:
    """Returns the plan with a limit on the time of each case that has neither one nor a number of
    runs: the default limit, or less if there are many cases."""
    each = round(min(MAX_TIME_S, max(SWEEP_S / len(plan.cases), LEAST_TIME_S)), 2)

    def limit(case: Case) -> Case:
        settings = case.settings
        if settings.runs is not None or settings.max_time_s is not None:
            return case
        return msgspec.structs.replace(
            case, settings=msgspec.structs.replace(settings, max_time_s=each)
        )

    return msgspec.structs.replace(plan, cases=tuple(map(limit, plan.cases)))


def filter_by_id(plan: Plan, ids: tuple[str, ...]) -> Plan:
    """Returns the plan with only the cases whose ids begin with one of `ids`, or whose ids in their
    file are one of them, with or without the operator.

    Raises `UsageError` for an id that no case has.
    """
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
