"""Pairs of cases, one of A and one of B, that are compared.

Two cases are a pair when they have the same inputs: of the same operator by name, or, where each
arm names its own operators, by position. Settings, and tensors of the arm's own dtype, may differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from functools import partial
from itertools import zip_longest

import msgspec

from opperf.execution.planning import plan_cases
from opperf.model import DEFAULTS, Argument, CallableTarget, Case, Pass, Struct, TensorSpec
from opperf.results.settings import changed_settings_text, dtypes_of, neutral
from opperf.results.text import add_distinct, inputs_text
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.worker.client import Worker

SESSION = {"threads": 1}
"""Defaults of a session that are not those of a run."""


def name_of(case: Case) -> str:
    """The name of a case's operator, or the whole path of a callable."""
    return case.target.path if isinstance(case.target, CallableTarget) else case.label


def case_inputs(case: Case) -> str:
    """The inputs of a case as text, with its phase if that is not the usual one: cases may differ
    in that alone."""
    phase = case.settings.phase
    usual = phase == DEFAULTS["phase"]
    return inputs_text(case) if usual else f"{inputs_text(case)}, phase: {phase}"


class Pair(Struct, frozen=True):
    """A case of A and the case of B that it is compared with."""

    a: Case
    b: Case
    names: dict[str, str] = {}
    """Arguments of B's case that have another name in A's, each with that."""
    group: str = ""
    """Id in a session's file, whose cases have ids of their own; empty before it is begun."""

    @property
    def id(self) -> str:
        """The ids of both cases, as one of A's may be in several pairs; that of A's case alone
        where both have one target, as the arms' settings then decide B's case."""
        if self.group:
            return self.group
        return self.a.id if self.a.target == self.b.target else f"{self.a.id}-{self.b.id}"

    @property
    def label(self) -> str:
        """The pair's name in results: both operators where they differ."""
        if self.a.target == self.b.target:
            return self.a.label
        names = name_of(self.a), name_of(self.b)
        if len(set(names)) == 1:
            names = self.a.pattern, self.b.pattern
        return " | ".join(names)

    @property
    def inputs(self) -> str:
        """The inputs of A's case as text, with its phase if that is not the usual one."""
        return case_inputs(self.a)

    @property
    def settings(self) -> str:
        """The settings that both arms have and that are not at their defaults, as text."""
        ours, others = (case.settings.identity() for case in (self.a, self.b))
        shared = {name: value for name, value in ours.items() if value == others[name]}
        # The inputs have the phase.
        return changed_settings_text(shared, {**DEFAULTS, **SESSION, "phase": shared.get("phase")})

    def of(self, arm: str) -> Case:
        """The case of an arm."""
        return self.a if arm == "A" else self.b

    def seen_with(self, other: Pair) -> Pair:
        """The pair with the counts of an equal one added."""
        return msgspec.structs.replace(
            self,
            a=msgspec.structs.replace(self.a, count=self.a.count + other.a.count),
            b=msgspec.structs.replace(self.b, count=self.b.count + other.b.count),
        )

    def with_passes(self, passes: tuple[Pass, ...]) -> Pair:
        """The pair with these passes only."""
        return msgspec.structs.replace(
            self,
            a=msgspec.structs.replace(self.a, passes=passes),
            b=msgspec.structs.replace(self.b, passes=passes),
        )


class Pairing(Struct, frozen=True):
    """The pairs of two plans."""

    pairs: tuple[Pair, ...]
    """Without those that are equal to an earlier one."""
    alone: dict[str, str]
    """Cases without a partner, each with the reason."""
    repeated: int = 0
    """Pairs that are equal to an earlier one."""


def plans_of(
    worker: Worker,
    framework: str,
    selection: Selection,
    operators: Sequence[str],
    say: Callable[[str], None],
    partners: Sequence[str] = (),
) -> list[Plan]:
    """The plans of an arm: one for the selection, or one for each of the arm's own operators, whose
    arguments may be named as those of its partner. Raises what `plan_cases` raises."""
    if not operators:
        # Ids are those of pairs.
        all_of_them = msgspec.structs.replace(selection, ids=())
        return [plan_cases(worker, framework, all_of_them, say)]
    plans = []
    for name, partner in zip_longest(operators, partners):
        own = () if partner is None else (partner,)
        one = msgspec.structs.replace(selection, patterns=(name,), partners=own)
        plans.append(plan_cases(worker, framework, one, say))
    return plans


def pair_cases(a: Sequence[Plan], b: Sequence[Plan], positional: bool) -> Pairing:
    """Pairs the cases of two plans; `positional` where each arm has its own operators."""
    # Two functions may have arguments of the same names in another order.
    keys = (_by_argument, _by_position) if positional else (_by_name,)
    pairs: list[Pair] = []
    alone: dict[str, str] = {}
    for ours, theirs in zip(a, b, strict=True):
        left, free = list(ours.cases), list(theirs.cases)
        dtypes = dtypes_of((*left, *free))
        found: list[tuple[Case, Case]] = []
        for key in keys:
            made, left, free = _match(left, free, partial(_alike, key, dtypes))
            found += made
        place = {id(case): number for number, case in enumerate(ours.cases)}
        found.sort(key=lambda both: place[id(both[0])])
        pairs += [_pair(one, other) for one, other in found]
        for case in left:
            add_distinct(alone, _shown(case, "A"), case.id, _why_alone(case, "B", theirs))
        for case in free:
            add_distinct(alone, _shown(case, "B"), case.id, _why_alone(case, "A", ours))
    distinct: dict[tuple[str, str], Pair] = {}
    for pair in pairs:
        both = pair.a.id, pair.b.id
        # A call in two files was seen as often as in both.
        earlier = None if positional else distinct.get(both)
        distinct[both] = pair if earlier is None else earlier.seen_with(pair)
    return Pairing(tuple(distinct.values()), alone, len(pairs) - len(distinct))


def _match(
    ours: Iterable[Case], theirs: Iterable[Case], key: Callable[[Case], Hashable]
) -> tuple[list[tuple[Case, Case]], list[Case], list[Case]]:
    """Returns the cases that have the same key, and those of either side that are left. Cases that
    differ in their contents only are paired in their order."""
    free: defaultdict[Hashable, list[Case]] = defaultdict(list)
    for case in theirs:
        free[key(case)].append(case)
    found: list[tuple[Case, Case]] = []
    left: list[Case] = []
    for case in ours:
        if free[key(case)]:
            found.append((case, free[key(case)].pop(0)))
        else:
            left.append(case)
    return found, left, [case for cases in free.values() for case in cases]


def _pair(a: Case, b: Case) -> Pair:
    """Returns the pair, whose arguments correspond by name or else by position."""
    if a.arguments.keys() == b.arguments.keys():
        return Pair(a, b)
    names = dict(zip(b.arguments, a.arguments, strict=True))
    return Pair(a, b, {name: other for name, other in names.items() if name != other})


def with_contents_of_a(pair: Pair) -> Case:
    """Returns B's case with tensors of the contents that those of A's case have: by rule, they are
    drawn by the argument's name, and as the operator's rule says."""
    arguments = {
        name: _filled_as(value, pair.a.arguments[other], other)
        for name, value in pair.b.arguments.items()
        if (other := pair.names.get(name, name)) in pair.a.arguments
    }
    return msgspec.structs.replace(pair.b, arguments={**pair.b.arguments, **arguments})


def _filled_as(value: Argument, other: Argument, place: str) -> Argument:
    """Returns an argument of B with the contents of that of A at a place."""
    if isinstance(value, TensorSpec) and isinstance(other, TensorSpec):
        if value.fill.distribution == "same":
            return value
        fill = msgspec.structs.replace(other.fill, of=other.fill.of or place)
        return msgspec.structs.replace(value, fill=fill)
    if isinstance(value, tuple) and isinstance(other, tuple) and len(value) == len(other):
        both = enumerate(zip(value, other, strict=True))
        return tuple(_filled_as(one, two, f"{place}.{i}") for i, (one, two) in both)  # type: ignore[misc]
    return value


def _shown(case: Case, arm: str) -> str:
    return f"{name_of(case)} ({case_inputs(case)}) in {arm}"


def _why_alone(case: Case, other: str, plan: Plan) -> str:
    """Why a case has no partner in the plan of the other arm."""
    if case.label in plan.excluded:
        return f"{other} has no case of this operator: {plan.excluded[case.label]}"
    return f"{other} has no case with these inputs"


def _alike(key: Callable[[Case], Hashable], dtypes: Collection[str], case: Case) -> Hashable:
    """The key of a case without the dtype of its arm."""
    return key(neutral(case, dtypes))


def _by_name(case: Case) -> Hashable:
    """Operator and arguments by name."""
    return case.label, _by_argument(case)


def _by_position(case: Case) -> Hashable:
    """Arguments by position, whatever their names."""
    return tuple(map(_key, case.arguments.values()))


def _by_argument(case: Case) -> Hashable:
    """Arguments by name, of any operator."""
    arguments = {name: _key(value) for name, value in case.arguments.items()}
    return tuple(sorted(arguments.items()))


def _key(argument: Argument) -> str:
    """The part of an argument that partners have in common: a tensor's shape, layout and dtype; a
    value as it is."""
    if isinstance(argument, TensorSpec):
        return f"{argument.shape} {argument.layout} {argument.dtype}"
    if isinstance(argument, tuple):
        return f"({', '.join(map(_key, argument))})"
    return repr(argument)
