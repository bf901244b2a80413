"""Whether the arms still compute what the first does at the last of the calls that are timed, after
them, and with other contents in the same storage: in the first process of each arm, of the first
block that has all.

A function that keeps results, or does less after some calls, returns at its first call what it
should. A state that it keeps is no fault: what differs from the first call in both arms is not
compared.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from opperf.comparison.ab.checking import KEPT, comparable, differences_of, without_others
from opperf.comparison.ab.differences import Side, at_first, find_differences, is_later, renamed
from opperf.comparison.ab.pairs import Pair, with_contents_of_a
from opperf.comparison.ab.rehearsal import lacking_pass
from opperf.comparison.ab.session import Session
from opperf.decoding import read_as
from opperf.instruments.visit import KeptResults
from opperf.model import DIFFERENT, Case, Check, Difference, Place, Tolerance
from opperf.worker.protocol import AFTER, OBSERVED, TIMED, Observed

Observe = Callable[[Place, Case, Path, int], Observed]
"""Calls a case once in a new process of a place, with the random numbers of a draw."""


class TimedResults(AbstractContextManager["TimedResults"]):
    """The results of the timed calls of a stage's processes, and of calls after them, in files of a
    folder."""

    def __init__(self, session: Session, phase: str, places: Sequence[Place]) -> None:
        self._session = session
        self._places: dict[Place, str] = {}
        """The processes whose results are compared, each with its arm."""
        if phase == "comparison" and session.plan.tolerance is not None and not session.is_checked:
            self._places = _first_of_each(places, session.arms)
        self._cases: dict[str, dict[str, Case]] = {}
        """Those that were visited, by arm and group."""
        self._folder = tempfile.TemporaryDirectory(prefix="opperf-")

    def __exit__(self, *error: object) -> None:
        self._folder.cleanup()

    def begin(self, place: Place, cases: Mapping[str, Case]) -> dict[str, Case]:
        """Returns the cases of a process, by group: with the contents of those of the first arm
        where the results are compared."""
        arm = self._places.get(place)
        if arm is None:
            return dict(cases)
        first = self._session.arms[0]
        own = {} if arm == first else self._session.pairs_of(first, arm)
        self._cases[arm] = {
            group: msgspec.structs.replace(case, arguments=with_contents_of_a(own[group]).arguments)
            if group in own
            else case
            for group, case in cases.items()
        }
        return self._cases[arm]

    def kept(self, place: Place) -> dict[str, KeptResults]:
        """Returns where the results of a process are kept, by the case's id; empty for none."""
        arm = self._places.get(place)
        if arm is None:
            return {}
        found: dict[str, KeptResults] = {}
        for group, case in self._cases[arm].items():
            drawn = random.Random(f"{self._session.plan.seed}/{arm}/{group}")
            found[case.id] = KeptResults(str(self._of(arm, group)), drawn.randint(1, MOST_AFTER))
        return found

    def _of(self, arm: str, group: str) -> Path:
        return Path(self._folder.name).resolve() / arm / group

    def check(self, place: Place, observe: Observe) -> dict[str, dict[str, Check]] | None:
        """Returns the checks that say more than the session's after its last process that is
        compared, by arm and group; None after any other."""
        if place not in self._places or len(self._cases) < len(self._places):
            return None
        tolerance = self._session.plan.tolerance
        assert tolerance is not None
        first_calls = self._first_calls(observe)
        first, *others = self._session.arms
        found: dict[str, dict[str, Check]] = {}
        for arm in others:
            for pair in self._session.pairs_of(first, arm).values():
                sides = dict(self._sides(pair.id, (first, arm)))
                if len(sides) < 2:
                    continue
                earlier = self._session.plan.checks.get(arm, {}).get(pair.id)
                known = {differing.place for differing in earlier.differences} if earlier else set()
                check = _Comparison(pair, sides, tolerance, first_calls, known).check()
                if check != SAME:
                    found.setdefault(arm, {})[pair.id] = check
        return found

    def _sides(self, group: str, arms: Iterable[str]) -> Iterator[tuple[str, Side]]:
        for arm in arms:
            cases = self._cases[arm]
            folder = self._of(arm, group)
            if group in cases and (folder / OBSERVED).exists():
                observed = read_as(folder / OBSERVED, Observed)
                yield arm, Side(cases[group], observed, folder)

    def _first_calls(self, observe: Observe) -> Callable[[str, Side, int], Side]:
        places = {arm: place for place, arm in self._places.items()}

        def first_call(arm: str, side: Side, draw: int) -> Side:
            # The first arm is compared with each other.
            folder = Path(tempfile.mkdtemp(prefix=f"draw {draw} ", dir=side.folder))
            observed = observe(places[arm], side.case, folder, draw)
            return side._replace(observed=observed, folder=folder)

        return first_call


SAME = Check("same")

MOST_AFTER = 4
"""Most calls after the last timed one up to that whose results are kept: how many there are is
drawn by the session's seed, so that a function cannot know which it is."""


def _first_of_each(places: Sequence[Place], arms: Sequence[str]) -> dict[Place, str]:
    """Returns the first processes of the arms in the first block that has all."""
    for block in dict.fromkeys(place.block for place in places):
        found: dict[str, Place] = {}
        for place in places:
            if place.block == block:
                found.setdefault(place.role, place)
        if all(arm in found for arm in arms):
            return {found[arm]: arm for arm in arms}
    return {}


class _Comparison:
    """The comparison of a pair; `first_call` returns a side with the results of a first call,
    `known` are the places that differ at that."""

    def __init__(
        self,
        pair: Pair,
        sides: Mapping[str, Side],
        tolerance: Tolerance,
        first_call: Callable[[str, Side, int], Side],
        known: Collection[str],
    ) -> None:
        self._known = known
        self._pair, self._tolerance, self._first_call = pair, tolerance, first_call
        self._all = sides
        # A profiler of another package may keep no result.
        kept = all(
            any(value.place.endswith(TIMED) for value in side.observed.values)
            for side in sides.values()
        )
        shown = sides if kept else {arm: side.without(TIMED) for arm, side in sides.items()}
        self._sides = comparable(pair, shown)

    def check(self) -> Check:
        refused = {arm: why for arm, side in self._all.items() if (why := side.observed.refusal)}
        if refused:
            lost = [
                lacking_pass(f"output{AFTER}", arm, other, why)
                for arm, why in refused.items()
                for other in self._all.keys() - refused
            ]
            return Check(DIFFERENT, "", tuple(lost), 1) if lost else SAME
        notes = without_others(self._sides)
        found = [
            difference
            for difference in differences_of(self._pair, self._sides, self._tolerance)
            if at_first(difference.place) not in self._known
        ]
        if found:
            found, said = self._without_state(found)
            notes += said
        outcome = DIFFERENT if found else SAME.outcome
        return Check(outcome, "; ".join(notes), tuple(found[:KEPT]), len(found))

    def _without_state(self, found: list[Difference]) -> tuple[list[Difference], list[str]]:
        """Returns the differences that neither random numbers nor a state of both arms explain, and
        what depends on a state."""
        changed: dict[str, list[set[str]]] = {TIMED: [], AFTER: []}
        drawn: set[str] = set()
        for arm, side in self._all.items():
            first, again = (self._first_call(arm, side, draw) for draw in (0, 1))
            drawn |= self._places(first, again)
            for end, places in changed.items():
                places.append(self._places(first, _as_first(side, end)))
        kept = {end: set.intersection(*places) - drawn for end, places in changed.items()}
        left, states = [], []
        for difference in found:
            place = at_first(difference.place)
            if place in kept[TIMED if difference.place.endswith(TIMED) else AFTER]:
                states.append(f"{place}: depends on the calls before it, in both arms")
            elif place not in drawn:
                left.append(difference)
        return left, list(dict.fromkeys(states))

    def _places(self, one: Side, other: Side) -> set[str]:
        """Returns the places of first calls that differ."""
        if one.observed.refusal or other.observed.refusal:
            return set()
        found = find_differences(one, other, self._tolerance, {})
        names = self._pair.names
        return {renamed(place.place, names) for place in found if not is_later(place.place)}


def _as_first(side: Side, end: str) -> Side:
    """Returns the results with this end, of a later call, as those of a first call."""
    values = tuple(
        msgspec.structs.replace(value, place=at_first(value.place))
        for value in side.observed.values
        if value.place.endswith(end)
    )
    return side._replace(observed=msgspec.structs.replace(side.observed, values=values))
