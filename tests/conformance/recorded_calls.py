"""Calls of which only shapes and dtypes are known have the contents that the operator's rule has:
each case of a rule, written as a recording has it, runs and has integers of the same range.

    python -m tests.conformance.recorded_calls FRAMEWORK [OPERATOR ...]
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
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
from tests.conformance.driver import cheaply, judge, planned, without_gradient
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
        limit = bounds.limit(place, rule.arguments)
        if not is_whole(spec) or spec.size < 2 or limit is None:
            continue
        own, found = largest(spec), largest(made[place])
        is_far = max(own, found) > max(LEFT, TIMES * min(own, found))
        if is_far and found + 1 != limit:
            yield Finding(OTHER_RANGE, place, f"to {found}, by the rule to {own}")


EXCEPTIONS = {
    "mxnet": {
        "_cvimdecode": "the bytes are those of a picture, which no other argument tells",
        "_scatter_set_nd": "it writes to its first argument, which recorded calls name as such",
    }
}
"""Operators by framework whose recorded calls need not run, each with the reason."""


def compared(case: Case, framework: Framework) -> Iterator[Found]:
    """Yields what is wrong with a rule's case as a recording has it, and not as the rule has it."""
    own = without_gradient(case)
    (made,) = complete(framework, [as_recorded(own)])
    found = [Finding(DOES_NOT_RUN, "", made.refusal)] if made.refusal else []
    if not made.refusal:
        found += other_ranges(framework, own, made.case)
        found += _refusals(made.case, framework)
    # What this build cannot run has no inputs that it accepts.
    known = _refusals(own, framework) if found else []
    for one in found:
        if one not in known:
            yield Found(case, one)


def _refusals(case: Case, framework: Framework) -> list[Finding]:
    return [one for one in judge(case, framework).findings if one.kind == DOES_NOT_RUN]


def compare_from(wanted: Wanted, first: int, to: Connection) -> None:
    """Compares the cases from a place on, and sends each before and after. All operators are those
    of this process: what another has imported may register more."""
    framework = load(wanted.framework)
    if not wanted.operators:
        every = tuple(one.label for one in framework.operators())
        wanted = wanted._replace(operators=every)
    cases = [case for case in planned(*wanted) if is_recordable(case)]
    with cheaply(framework):
        for place, case in enumerate(cases[first:], first):
            begun = Begun(place, len(cases), case)
            to.send(begun)
            to.send(Judgement(begun, tuple(compared(case, framework))))


def comparisons(name: str, operators: Sequence[str] = ()) -> Iterator[Judgement]:
    """Yields what was found of each recorded case of these operators, by default of all: those that
    write in place, derivatives and internal ones, which programs call, too."""
    for one in judgements(Wanted(name, "small", tuple(operators)), compare_from):
        if isinstance(one, Judgement):
            yield one


def faults_of(name: str, one: Judgement) -> list[Found]:
    """Returns what is wrong with a case, without the exceptions."""
    return [] if one.begun.case.label in EXCEPTIONS.get(name, {}) else list(one.found)


def main() -> int:
    """Returns 1 if anything is wrong."""
    name, *operators = sys.argv[1:]
    kinds: Counter[str] = Counter()
    cases, labels = 0, set()
    for one in comparisons(name, operators):
        cases += 1
        for each in faults_of(name, one):
            kinds[each.finding.kind] += 1
            labels.add(each.case.label)
            print(f"{each.case.label}: {each}", flush=True)
    print(f"{cases} cases, {len(labels)} operators with faults: {dict(kinds) or 'none'}")
    return int(bool(labels))


if __name__ == "__main__":
    sys.exit(main())
