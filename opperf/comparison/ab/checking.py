"""Whether the arms compute what the first does: each pair is called with the same inputs in both.

Results that depend on random numbers differ between arms that draw them in another order. So a case
whose results differ is called again in either arm with other random numbers: what differs from
itself is not compared.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from opperf.comparison.ab.differences import Side, find_differences, is_later, is_partial, once
from opperf.comparison.ab.pairs import Pair, with_contents_of_a
from opperf.comparison.ab.rehearsal import lacking_pass
from opperf.execution.progress import Progress
from opperf.instruments.times import BACKWARD
from opperf.model import (
    DIFFERENT,
    Case,
    Check,
    Difference,
    ModelTarget,
    Record,
    SameResults,
    Status,
    Tolerance,
)
from opperf.rules.deviations import UNWRITTEN
from opperf.worker.client import Worker
from opperf.worker.protocol import OTHER, TYPE, Observed

KEPT = 5
"""Most differences of a pair that are kept: further ones mostly follow from the first."""

OTHER_DEVICE = "the gradients of results are drawn on each device"


def check_results(
    pairs: Sequence[Pair],
    workers: Mapping[str, Worker],
    tolerance: Tolerance,
    progress: Progress,
    several: bool = False,
) -> dict[str, dict[str, Check]]:
    """Calls every pair in each arm and compares the results, by other arm and pair: of the first
    call, or also of the last of `several`, and of one with other contents in the same storage. Ends
    the processes."""
    first, *others = workers
    checks: dict[str, dict[str, Check]] = {arm: {} for arm in others}
    with tempfile.TemporaryDirectory(prefix="opperf-") as folder, progress:
        for place, worker in enumerate(workers.values()):
            worker.begin_process({pair.cases[place].settings.device for pair in pairs})
        for number, pair in enumerate(pairs):
            progress.begin(pair.a)
            for arm, one in zip(others, pair.each, strict=True):
                two = {first: workers[first], arm: workers[arm]}
                with tempfile.TemporaryDirectory(prefix=f"{number}-", dir=folder) as own:
                    checks[arm][pair.id] = check_pair(one, two, tolerance, Path(own), several)
            progress.end(Record(case=pair.a, id=pair.a.id, status=Status.OK))
        for worker in workers.values():
            worker.end_process()
    return checks


def with_lacking(
    checks: Mapping[str, Mapping[str, Check]],
    lacking: Mapping[str, Mapping[str, Sequence[Difference]]],
) -> dict[str, dict[str, Check]]:
    """Returns checks, by arm and pair, with the passes that one arm alone has as their first
    differences."""
    found = {arm: dict(own) for arm, own in checks.items()}
    for arm, of_pairs in lacking.items():
        own = found.setdefault(arm, {})
        for id, alone in of_pairs.items():
            rest = own.get(id, Check(DIFFERENT))
            own[id] = Check(
                DIFFERENT, rest.note, (*alone, *rest.differences)[:KEPT], len(alone) + rest.count
            )
    return found


def check_pair(
    pair: Pair, workers: Mapping[str, Worker], tolerance: Tolerance, folder: Path, several: bool
) -> Check:
    """Calls a pair in its two arms and returns how the results compare. `several` is that of
    `check_results`, and the files are in an empty folder."""
    first, second = workers
    cases: dict[str, Case] = {first: pair.a, second: with_contents_of_a(pair)}
    sides: dict[str, Side] = {}
    # As many calls in both arms, for functions that keep a state.
    calls: int | None = None if several else 0
    for arm, case in cases.items():
        observed = _observe(workers[arm], case, folder / arm, calls=calls)
        if observed.refusal:
            return Check("not compared", f"{arm}: {observed.refusal}")
        if observed.unwritten:
            return Check("not compared", f"{arm} {UNWRITTEN.reason}")
        sides[arm] = Side(case, observed, folder / arm)
        calls = observed.calls
    sides = comparable(pair, sides)
    # Of these only the type is known.
    unread = {
        value.place: value.text
        for side in sides.values()
        for value in side.observed.values
        if value.unread and not is_later(value.place)
    }
    found = differences_of(pair, sides, tolerance)
    places = {difference.place for difference in found}
    drawn = _random_places(places, sides, workers, tolerance, folder) if found else {}
    left = [difference for difference in found if difference.place not in drawn]
    notes = [
        *(f"{place}: random, or not written, in {arm}" for place, arm in drawn.items()),
        *(f"gradients: {why}" for why in _why_no_gradients(pair, sides)),
        *(f"{place}: a {name} cannot be read" for place, name in unread.items()),
        *without_others(sides),
        *(["large tensors in part only"] if any(map(is_partial, sides.values())) else []),
    ]
    outcome: SameResults = DIFFERENT if left else "same"
    compared = {
        value.place
        for value in sides[first].observed.values
        if not value.unread and not value.place.startswith(TYPE) and not is_later(value.place)
    }
    if not left and not compared - drawn.keys() - unread.keys():
        outcome = "not compared"
    return Check(outcome, "; ".join(notes), tuple(left[:KEPT]), len(left))


def _observe(
    worker: Worker, case: Case, folder: Path, draw: int = 0, calls: int | None = 0
) -> Observed:
    folder.mkdir()
    return worker.observe(case, folder, draw, calls)


def comparable(pair: Pair, sides: Mapping[str, Side]) -> dict[str, Side]:
    """Returns the sides with the results that both arms can have: on two kinds of devices, or of
    two frameworks, no gradients, and other contents only if both arms had them."""
    found = dict(sides)
    is_elsewhere = _device_kind(pair.a) != _device_kind(pair.b)
    why = OTHER_DEVICE if is_elsewhere else _other_framework(pair)
    if why:
        found = {
            arm: side._replace(
                observed=msgspec.structs.replace(side.observed, without_gradients=why)
            )
            for arm, side in found.items()
        }
    lacks = [side.observed.without_others or side.observed.failed_others for side in found.values()]
    # A model's inputs are rearranged by random numbers of their device.
    if any(lacks) or (is_elsewhere and isinstance(pair.a.target, ModelTarget)):
        found = {arm: side.without(OTHER) for arm, side in found.items()}
    return found


def without_others(sides: Mapping[str, Side]) -> list[str]:
    """Returns why no call with other contents is compared."""
    reasons = {arm: side.observed.without_others for arm, side in sides.items()}
    return [f"other contents: {arm}: {reason}" for arm, reason in reasons.items() if reason][:1]


def differences_of(pair: Pair, sides: Mapping[str, Side], tolerance: Tolerance) -> list[Difference]:
    """Returns where results of the sides differ, and what one of them alone has."""
    base, new = sides.values()
    lost = {arm: why for arm, side in sides.items() if (why := side.observed.without_gradients)}
    failed = {arm: why for arm, side in sides.items() if (why := side.observed.failed_others)}
    found = [
        *find_differences(base, new, tolerance, pair.names),
        *(
            lacking_pass(name, arm, next(other for other in sides if other != arm), why)
            for name, reasons in ((BACKWARD.name, lost), (f"output{OTHER}", failed))
            if len(reasons) == 1 and (name != BACKWARD.name or name in pair.a.passes)
            for arm, why in reasons.items()
        ),
    ]
    return once(found)


def _other_framework(pair: Pair) -> str:
    """Returns why arms of two frameworks have no gradients to compare; empty for one framework."""
    same = pair.a.target.framework == pair.b.target.framework
    return "" if same else "each framework draws the gradients of results"


def _device_kind(case: Case) -> str:
    return case.settings.device.partition("(")[0]


def _random_places(
    places: Collection[str],
    sides: Mapping[str, Side],
    workers: Mapping[str, Worker],
    tolerance: Tolerance,
    folder: Path,
) -> dict[str, str]:
    """Returns the places whose results differ with other random numbers, each with the arm."""
    found: dict[str, str] = {}
    for arm, side in sides.items():
        again = folder / f"{arm}-again"
        observed = _observe(workers[arm], side.case, again, 1, side.observed.calls)
        if observed.refusal:
            continue
        if observed.without_others or observed.failed_others:
            side = side.without(OTHER)
        other = side._replace(observed=observed, folder=again)
        for difference in find_differences(side, other, tolerance, {}):
            if difference.place in places:
                found.setdefault(difference.place, arm)
    return found


def _why_no_gradients(pair: Pair, sides: Mapping[str, Side]) -> list[str]:
    """Returns why neither arm's gradients are compared."""
    reasons = {side.observed.without_gradients for side in sides.values()}
    both = reasons.pop() if len(reasons) == 1 else ""
    return [both] if both and BACKWARD.name in pair.a.passes else []
