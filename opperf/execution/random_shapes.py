"""Cases with random shapes in place of a rule's, those that the framework accepts."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from opperf.execution.searching import TRIAL_TIMEOUT_S
from opperf.model import Case
from opperf.rules.extents import groups
from opperf.rules.fuzzing import Fuzz, draw
from opperf.rules.values import Arguments
from opperf.sources.registry import Plan
from opperf.sources.sweeping import configuration_tag
from opperf.sources.varying import by_label
from opperf.worker.client import Worker

DRAWS = 20
"""Random shapes tried for each one needed. Most are accepted; an operator that refuses so many has
a constraint that random shapes do not meet."""


def with_random_shapes(worker: Worker, plan: Plan, fuzz: Fuzz, seed: int) -> Plan:
    """Returns the plan with cases of random shapes in place of each operator's own."""
    cases: list[Case] = []
    missing = dict(plan.excluded)
    for label, own in by_label(plan.cases).items():
        drawn_cases = list(_draw_cases(worker, own, fuzz, seed))
        cases += drawn_cases
        if not drawn_cases:
            missing[label] = (
                "no random shape was accepted: every extent depends on others, or none gives "
                f"{fuzz.least} to {fuzz.most} elements"
            )
    return msgspec.structs.replace(plan, cases=tuple(cases), excluded=missing)


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
