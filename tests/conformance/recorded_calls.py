"""Calls of which only shapes and dtypes are known have the contents that the operator's rule has:
each case of a rule, written as a recording has it, runs and has integers of the same range.

    python -m tests.conformance.recorded_calls FRAMEWORK [OPERATOR ...]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from multiprocessing.connection import Connection

import msgspec
import numpy as np

from opperf.dtypes import kind_of
from opperf.frameworks import Framework, fill, load
from opperf.model import Argument, Case, Fill, TensorSpec, map_tensors
from opperf.rules.bounds import places
from opperf.rules.callables import bounds_of
from opperf.rules.values import BELOW
from opperf.sources.completing import complete
from tests.conformance.driver import cheaply, found_in, judge, planned, without_gradient
from tests.conformance.exceptions import Found
from tests.conformance.judging import DOES_NOT_RUN, Finding
from tests.conformance.workers import Begun, Judgement, Wanted, judgements

OTHER_RANGE = "another range"
"""What is found of integers that are not drawn as the rule draws them."""

TIMES = 2
"""Ranges differ if the largest number of one is more than this many times the other's: a few drawn
numbers seldom have the last of their range."""

LEFT = 3
"""Numbers that are too small to be told apart so."""

KEPT = ("same", "given", "function")
"""Distributions that say which array a tensor is, not what is in it."""


def is_whole(spec: TensorSpec) -> bool:
    """Whether a tensor has integers, in whatever dtype, that say something."""
    drawn = spec.fill.distribution
    return drawn not in KEPT and (kind_of(spec.dtype) == "integer" or drawn in BELOW)


def is_recordable(case: Case) -> bool:
    """Whether a case has integers, and no tensor of a layout that recordings lack."""
    specs = [spec for _, spec in case.tensors()]
    return all(spec.layout == "dense" for spec in specs) and any(map(is_whole, specs))


def as_recorded(case: Case) -> Case:
    """Returns a case as a recording has it: with the shapes and dtypes of its tensors alone."""

    def bare(spec: TensorSpec) -> TensorSpec:
        if spec.fill.distribution in KEPT:
            return spec
        return msgspec.structs.replace(spec, fill=Fill())

    arguments: dict[str, Argument] = {
        name: map_tensors(value, bare) for name, value in case.arguments.items()
    }
    return msgspec.structs.replace(case, arguments=arguments)


def largest(spec: TensorSpec) -> int:
    """Returns the largest number in a tensor, or where its range ends."""
    if spec.fill.distribution in BELOW:
        return int(spec.fill.high) - 1
    held = msgspec.structs.replace(spec, shape=(spec.reach,), strides=()) if spec.strides else spec
    numbers = np.asarray(fill.code(held, 0).run())
    if spec.strides:
        numbers = np.lib.stride_tricks.as_strided(
            numbers, spec.shape, [step * numbers.itemsize for step in spec.strides]
        )
    return int(numbers.max()) if numbers.size else 0


def other_ranges(framework: Framework, rule: Case, recorded: Case) -> Iterator[Finding]:
    """Yields the tensors of indices and lengths that have another range than those of the rule, and
    than what they index."""
    bounds = bounds_of(framework, recorded.target)
    made = dict(places(recorded.arguments))
    for place, spec in places(rule.arguments):
        if not is_whole(spec) or spec.size < 2 or bounds.bound(place) is None:
            continue
        own, found = largest(spec), largest(made[place])
        is_far = max(own, found) > max(LEFT, TIMES * min(own, found))
        if is_far and found + 1 != bounds.limit(place, recorded.arguments):
            yield Finding(OTHER_RANGE, place, f"to {found}, by the rule to {own}")


def compare_from(wanted: Wanted, first: int, to: Connection) -> None:
    """Judges the recorded forms of cases from a place on, and sends each before and after."""
    framework = load(wanted.framework)
    cases = [case for case in planned(*wanted) if is_recordable(case)]
    with cheaply(framework):
        for place, case in enumerate(cases[first:], first):
            begun = Begun(place, len(cases), case.label, case.id, case.why)
            to.send(begun)
            to.send(Judgement(begun, tuple(compared(case, framework))))


def compared(case, framework) -> Iterator[Found]:
    own = without_gradient(case)
    (made,) = complete(framework, [as_recorded(own)])
    if made.refusal:
        yield Found(case.label, case.why, Finding(DOES_NOT_RUN, "", made.refusal))
        return
    for one in other_ranges(framework, own, made.case):
        yield Found(case.label, case.why, one)
    for one in found_in([judge(made.case, framework)]):
        if one.finding.kind == DOES_NOT_RUN and not any(
            same.finding == one.finding for same in found_in([judge(own, framework)])
        ):
            yield one


def main() -> int:
    name, *operators = sys.argv[1:]
    operators = operators or [one.label for one in load(name).operators()]
    cases = 0
    faulty = set()
    kinds = {}
    for one in judgements(Wanted(name, "small", tuple(operators)), compare_from):
        if isinstance(one, Begun):
            continue
        cases += 1
        for each in one.found:
            kinds[each.finding.kind] = kinds.get(each.finding.kind, 0) + 1
            faulty.add(one.case.label)
            print(f"{one.case.label}: {each.finding} ({one.case.why})", flush=True)
    print(cases, "cases", len(faulty), "operators", kinds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
