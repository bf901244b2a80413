"""Which case of A stands opposite which of B.

Two cases are a pair when they have the same inputs: of the same operator by name, or, where each
arm names its own operators, by position. What the arms set themselves does not count: settings, and
the dtype that was asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence

import msgspec

from opperf.errors import UsageError
from opperf.model import Argument, CallableTarget, Case, Pass, Struct, TensorSpec
from opperf.results.text import inputs_text
from opperf.runner.planning import plan_cases
from opperf.runner.pool import Worker
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection

OWN = "own"
"""Stands for the dtype that a case was asked for in."""


def name_of(case: Case) -> str:
    """What is measured: an operator's name, or a callable's whole path."""
    return case.target.path if isinstance(case.target, CallableTarget) else case.label


class Pair(Struct, frozen=True):
    """A case of A, and the one of B that is compared with it."""

    a: Case
    b: Case

    @property
    def id(self) -> str:
        """What the pair is called in a session: A's case."""
        return self.a.id

    @property
    def label(self) -> str:
        """What the pair is called in results: both names where they differ."""
        if self.a.target == self.b.target:
            return self.a.label
        return f"{name_of(self.a)} | {name_of(self.b)}"

    def of(self, arm: str) -> Case:
        """The case of an arm."""
        return self.a if arm == "A" else self.b

    def with_passes(self, passes: tuple[Pass, ...]) -> Pair:
        """The pair with these passes only."""
        return Pair(
            msgspec.structs.replace(self.a, passes=passes),
            msgspec.structs.replace(self.b, passes=passes),
        )


class Pairing(Struct, frozen=True):
    """What came of putting two plans side by side."""

    pairs: tuple[Pair, ...]
    alone: dict[str, str]
    """The cases that have no partner, each with the reason."""


def plans_of(
    worker: Worker,
    framework: str,
    selection: Selection,
    operators: Sequence[str],
    say: Callable[[str], None],
) -> list[Plan]:
    """The plans of an arm: one of all that is selected, or one for each of its own operators.

    Raises what `plan_cases` does, and `UsageError` for an operator of the arm's own without a case.
    """
    if not operators:
        return [plan_cases(worker, framework, selection, say)]
    plans = []
    for name in operators:
        one = msgspec.structs.replace(selection, patterns=(name,))
        plan = plan_cases(worker, framework, one, say)
        if not plan.cases:
            reasons = "; ".join(plan.excluded.values()) or "it is not in what is selected"
            raise UsageError(f"ops:{name} has no case to measure: {reasons}")
        plans.append(plan)
    return plans


def paired(a: Sequence[Plan], b: Sequence[Plan], positional: bool) -> Pairing:
    """The plans of A and B, side by side. `positional` where each arm has its own operators."""
    key = _by_position if positional else _by_name
    pairs: list[Pair] = []
    alone: dict[str, str] = {}
    for ours, theirs in zip(a, b, strict=True):
        free: defaultdict[Hashable, list[Case]] = defaultdict(list)
        for case in theirs.cases:
            free[key(case)].append(case)
        left: list[Case] = []
        for case in ours.cases:
            # Cases that differ in their contents only are paired in their order.
            partners = free[key(case)]
            pairs += [Pair(case, partners.pop(0))] if partners else []
            left += [] if pairs and pairs[-1].a is case else [case]
        alone |= {_shown(case, "A"): _why_alone(case, "B", theirs) for case in left}
        unmet = (case for cases in free.values() for case in cases)
        alone |= {_shown(case, "B"): _why_alone(case, "A", ours) for case in unmet}
    return Pairing(tuple(pairs), alone)


def _shown(case: Case, arm: str) -> str:
    return f"{name_of(case)} ({inputs_text(case)}) in {arm}"


def _why_alone(case: Case, other: str, plan: Plan) -> str:
    """Why a case has no partner in the plan of the other arm."""
    if case.label in plan.excluded:
        return f"{other} has no case of it: {plan.excluded[case.label]}"
    return f"{other} has no case of these inputs"


def _by_name(case: Case) -> Hashable:
    """Operator and arguments by name."""
    dtype = case.settings.dtype
    arguments = {name: _key(value, dtype) for name, value in case.arguments.items()}
    return case.label, tuple(sorted(arguments.items()))


def _by_position(case: Case) -> Hashable:
    """Arguments by position, whatever their names."""
    return tuple(_key(value, case.settings.dtype) for value in case.arguments.values())


def _key(argument: Argument, dtype: str) -> str:
    """What of an argument tells two cases apart: a tensor's shape, layout, and dtype if it is not
    the one asked for; a value as it is."""
    if isinstance(argument, TensorSpec):
        own = OWN if argument.dtype == dtype else argument.dtype
        return f"{argument.shape} {argument.layout} {own}"
    if isinstance(argument, tuple):
        return f"({', '.join(_key(element, dtype) for element in argument)})"
    return repr(OWN if argument == dtype else argument)
