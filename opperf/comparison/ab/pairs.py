"""Pairs of cases, one of A and one of B, that are compared, and cases of further arms beside them.

Two cases are a pair when they have the same inputs: of the same operator by name, or, where each
arm names its own operators, by position. Settings, and tensors of the arm's own dtype, may differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path

import msgspec

from opperf.comparison.ab.process import Absence
from opperf.errors import UnknownOperatorError, UsageError, one_line
from opperf.execution.planning import complete_cases, plan_cases, select_cases, unite_of
from opperf.model import (
    DECLARED,
    DEFAULTS,
    Argument,
    CallableTarget,
    Case,
    Struct,
    TensorSpec,
    identity_of,
)
from opperf.results.settings import changed_settings_text, dtypes_of, neutral
from opperf.results.text import inputs_text
from opperf.sources.base import SourceFile, check_own_settings
from opperf.sources.models import SuiteSource
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.sources.varying import deduplicate, with_settings
from opperf.worker.client import Worker


def name_of(case: Case) -> str:
    """The name of a case's operator, or the whole path of a callable."""
    return case.target.path if isinstance(case.target, CallableTarget) else case.label


def case_inputs(case: Case) -> str:
    """Returns the inputs of a case as text, with its phase if that is not the usual one."""
    text, phase = inputs_text(case), case.settings.phase
    return text if phase == DEFAULTS["phase"] else f"{text}, phase: {phase}"


class Pair(Struct, frozen=True):
    """A case of A and the case of B that it is compared with."""

    a: Case
    b: Case
    names: dict[str, str] = {}
    """Arguments of B's case that A's has by another name, each with that."""
    group: str = ""
    """Id in a session's file, whose cases have ids of their own; empty before it is begun."""
    more: tuple[Pair, ...] = ()
    """Pairs of A's case with those of further arms, in their order."""

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
        ours, others = (identity_of(case.settings) for case in (self.a, self.b))
        shared = {name: value for name, value in ours.items() if value == others[name]}
        # The inputs have the phase, and a session has one thread unless others are named.
        own = {"threads": 1, "phase": shared.get("phase")}
        return changed_settings_text(shared, DEFAULTS | own)

    @property
    def each(self) -> tuple[Pair, ...]:
        """A's case with that of each other arm."""
        return (self, *self.more)

    @property
    def cases(self) -> tuple[Case, ...]:
        """Those of the arms, in their order."""
        return (self.a, *(pair.b for pair in self.each))

    def with_cases(self, cases: Iterable[Case]) -> Pair:
        """Returns the pair with other cases of the arms, in their order."""
        a, b, *others = cases
        both = zip(self.more, others, strict=True)
        more = tuple(msgspec.structs.replace(pair, a=a, b=case) for pair, case in both)
        return msgspec.structs.replace(self, a=a, b=b, more=more)


class Pairing(Struct, frozen=True):
    """The pairs of plans."""

    pairs: tuple[Pair, ...]
    alone: tuple[Absence, ...]
    repeated: int = 0


def plans_of(
    worker: Worker,
    framework: str,
    selection: Selection,
    operators: Sequence[str],
    say: Callable[[str], None],
    partners: Sequence[str] = (),
    *,
    is_second: bool = False,
) -> list[Plan]:
    """Returns the plans of an arm: one, or one for each of its own operators. Raises what
    `plan_cases` raises, but in the second arm for no operator that the registry lacks: the first
    arm's has it, where there was no error."""
    if not operators:
        # Ids are those of pairs.
        whole = msgspec.structs.replace(selection, ids=())
        plan = partial(plan_cases, worker, framework, say=say)
        return [_plan_known(plan, whole) if is_second else plan(whole)]
    plans = []
    for name, partner in zip_longest(operators, partners):
        own = () if partner is None else (partner,)
        one = msgspec.structs.replace(selection, patterns=(name,), partners=own)
        plans.append(plan_cases(worker, framework, one, say))
    return plans


def _plan_known(plan: Callable[[Selection], Plan], selection: Selection) -> Plan:
    """Returns the plan of the patterns that match an operator; the others are excluded."""
    try:
        return plan(selection)
    except UnknownOperatorError:
        known: list[Plan] = []
        unknown: dict[str, str] = {}
        for pattern in selection.patterns:
            try:
                known.append(plan(msgspec.structs.replace(selection, patterns=(pattern,))))
            except UnknownOperatorError as error:
                unknown[pattern] = one_line(str(error))
    return Plan(
        cases=deduplicate([case for found in known for case in found.cases]),
        excluded=unknown | {name: why for found in known for name, why in found.excluded.items()},
    )


def pair_cases(plans: Mapping[str, Sequence[Plan]], positional: bool) -> Pairing:
    """Pairs the cases of the first arm's plans with those of each other; `positional` where each
    arm has its own operators."""
    first, *others = plans
    # Two functions may have arguments of the same names in another order.
    keys: Sequence[Callable[[Case], Hashable]] = [lambda case: (case.label, _by_argument(case))]
    if positional:
        keys = [_by_argument, lambda case: tuple(map(_key, case.arguments.values()))]
    pairs: list[Pair] = []
    alone: list[Absence] = []
    for ours, *rest in zip(*plans.values(), strict=True):
        matched = [_match_all(ours, theirs, keys) for theirs in rest]
        for case in ours.cases:
            found = [partners.get(id(case)) for partners, _ in matched]
            whole = [partner for partner in found if partner is not None]
            if len(whole) == len(rest):
                one, *more = (_pair(case, partner) for partner in whole)
                pairs.append(msgspec.structs.replace(one, more=tuple(more)))
                continue
            lacking = {
                name: plan
                for name, plan, partner in zip(others, rest, found, strict=True)
                if partner is None
            }
            # Operators of the arms' own may have inputs of their own.
            is_missing = any(not positional or not plan.cases for plan in lacking.values())
            alone.append(_alone(case, lacking, is_missing))
        for _, free in matched:
            mine = (_alone(case, {first: ours}) for case in free)
            alone += [absence for absence in mine if absence not in alone]
    distinct: dict[tuple[str, ...], Pair] = {}
    for pair in pairs:
        all_ids = tuple(case.id for case in pair.cases)
        # A call in two files was seen as often as in both.
        earlier = None if positional else distinct.get(all_ids)
        distinct[all_ids] = (
            earlier.with_cases(
                msgspec.structs.replace(case, count=case.count + again.count)
                for case, again in zip(earlier.cases, pair.cases, strict=True)
            )
            if earlier
            else pair
        )
    return Pairing(tuple(distinct.values()), tuple(alone), len(pairs) - len(distinct))


def _match_all(
    ours: Plan, theirs: Plan, keys: Iterable[Callable[[Case], Hashable]]
) -> tuple[dict[int, Case], list[Case]]:
    """Returns the partners of our cases, by identity, and the other cases of theirs."""
    left, free = list(ours.cases), list(theirs.cases)
    dtypes = dtypes_of((*left, *free))
    found: dict[int, Case] = {}
    for key in keys:
        made, left, free = _match(left, free, partial(_alike, key, dtypes))
        found |= {id(case): partner for case, partner in made}
    return found, free


def _match(
    ours: Iterable[Case], theirs: Iterable[Case], key: Callable[[Case], Hashable]
) -> tuple[list[tuple[Case, Case]], list[Case], list[Case]]:
    """Returns the cases of the same key, in order, and those of either side that are left."""
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
    is_same = a.arguments.keys() == b.arguments.keys()
    names = () if is_same else zip(b.arguments, a.arguments, strict=True)
    return Pair(a, b, {name: other for name, other in names if name != other})


def with_contents_of_a(pair: Pair) -> Case:
    """Returns B's case with the contents of A's, which rules draw by name and operator."""
    arguments = {
        name: _filled_as(value, pair.a.arguments[other], other)
        for name, value in pair.b.arguments.items()
        if (other := pair.names.get(name, name)) in pair.a.arguments
    }
    return msgspec.structs.replace(pair.b, arguments={**pair.b.arguments, **arguments})


def _filled_as(value: Argument, other: Argument, place: str) -> Argument:
    if isinstance(value, TensorSpec) and isinstance(other, TensorSpec):
        if value.fill.distribution == "same":
            return value
        fill = msgspec.structs.replace(other.fill, of=other.fill.of or place)
        return msgspec.structs.replace(value, fill=fill)
    if isinstance(value, tuple) and isinstance(other, tuple) and len(value) == len(other):
        both = enumerate(zip(value, other, strict=True))
        return tuple(_filled_as(one, two, f"{place}.{i}") for i, (one, two) in both)  # type: ignore[misc]
    return value


def _alone(case: Case, lacking: Mapping[str, Plan], is_missing: bool = False) -> Absence:
    """Returns that a case has no partner in the plans of some arms."""
    reasons = {arm: _why_alone(case, plan) for arm, plan in lacking.items()}
    return Absence(
        usual_id(case), name_of(case), case_inputs(case), case.passes, reasons, is_missing
    )


def _why_alone(case: Case, plan: Plan) -> str:
    if any(case.label == other.label for other in plan.cases):
        return "no case with these inputs"
    # An operator of the arm's own is the only one of its plan.
    only = "; ".join(plan.excluded.values()) if len(plan.excluded) == 1 else ""
    reason = plan.excluded.get(case.label, only)
    return f"no case of this operator{reason and f': {reason}'}"


def _alike(key: Callable[[Case], Hashable], dtypes: Collection[str], case: Case) -> Hashable:
    """Returns the key of a case without the dtype of its arm."""
    return key(neutral(case, dtypes))


def _by_argument(case: Case) -> Hashable:
    arguments = {name: _key(value) for name, value in case.arguments.items()}
    return tuple(sorted(arguments.items()))


def _key(argument: Argument) -> str:
    """Returns the part of an argument that partners have in common."""
    if isinstance(argument, TensorSpec):
        return f"{argument.shape} {argument.layout} {argument.dtype}"
    if isinstance(argument, tuple):
        return f"({', '.join(map(_key, argument))})"
    return repr(argument)


OF_THE_SESSION = frozenset(
    name for name, setting in DECLARED.items() if setting.process or not setting.identity
) - {"seed"}
"""Settings that the session decides for a file's cases too: those of the process, of which an arm
has one, and how long a case is measured. Their contents are those of the file."""

OF_THE_CALL = frozenset({"dtype", "phase", "memory_format", "input_function"})
"""Settings that a case of a recording or a configuration has of its own."""


def plans_of_files(
    worker: Worker,
    files: Sequence[SourceFile],
    framework: str,
    selection: Selection,
    forward_only: bool,
    assigned: Collection[str],
) -> list[Plan]:
    """Returns the plans of an arm, one for each file. Cases keep their settings, except
    `OF_THE_SESSION` and those `assigned` by an option or the arm. The worker of the arm completes
    those of a recording or a configuration, which have of their own `OF_THE_CALL` only. Raises
    `UsageError` for cases of another framework, and the errors of the sources."""
    names = OF_THE_SESSION | set(assigned) & DECLARED.keys()
    plans = []
    known: list[str] = []
    for path, source in files:
        check_own_settings(path, source, assigned)
        if isinstance(source, SuiteSource):
            source.list_by(worker.models)
        in_file = list(source.cases())
        here = names
        if source.completion is not None:
            _check_framework(path, in_file, framework)
            in_file = complete_cases(worker, source, in_file)
            here = names | DECLARED.keys() - OF_THE_CALL
        settings = {name: getattr(selection.settings, name) for name in here}
        known += [case.id for case in in_file]
        cases = select_cases(in_file, selection)
        _check_framework(path, cases, framework)
        # Ids are of the case as it is in the file.
        chosen = [case for case in cases if not selection.ids or case.id.startswith(selection.ids)]
        made = tuple(unite_of(source)(with_settings(case, settings) for case in chosen))
        if forward_only:
            made = tuple(msgspec.structs.replace(case, passes=("forward",)) for case in made)
        plans.append(Plan(cases=made, excluded=dict(source.excluded)))
    for wanted in selection.ids:
        if not any(name.startswith(wanted) for name in known):
            listed = " and ".join(str(path) for path, _ in files)
            raise UsageError(f"--id {wanted}: no case of {listed} has this id")
    return plans


def _check_framework(path: Path, cases: Iterable[Case], framework: str) -> None:
    for case in cases:
        if case.target.framework != framework:
            raise UsageError(
                f"{path} has cases of {case.target.framework}, and {framework} is measured; "
                f"add --framework {case.target.framework}"
            )


def usual_id(case: Case) -> str:
    """Returns the id that the case has in `opperf run --list`: with the usual process."""
    usual = {name: DEFAULTS[name] for name, setting in DECLARED.items() if setting.process}
    return with_settings(case, usual).id


def choose_by_id(pairing: Pairing, ids: tuple[str, ...]) -> Pairing:
    """Returns the pairs of cases with these ids or beginnings. Raises `UsageError` without one."""
    if not ids:
        return pairing
    known = {
        pair.id: {pair.id, *(id for case in pair.cases for id in (case.id, usual_id(case)))}
        for pair in pairing.pairs
    }
    alone = tuple(absence for absence in pairing.alone if absence.id.startswith(ids))
    for wanted in ids:
        every = [absence.id for absence in alone] + [id for own in known.values() for id in own]
        if not any(id.startswith(wanted) for id in every):
            raise UsageError(
                f"--id {wanted}: no pair of cases has this id; see opperf run --list for the ids, "
                "or name the run file that has it"
            )
    pairs = tuple(
        pair for pair in pairing.pairs if any(id.startswith(ids) for id in known[pair.id])
    )
    return Pairing(pairs, alone)
