"""Whether A and B compute the same: each pair is called with the same inputs in both arms.

Results that depend on random numbers differ between arms that draw them in another order. So a case
whose results differ is called again in either arm with other random numbers: what differs from
itself is not compared.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from opperf.comparison.ab.differences import Side, find_differences, is_partial
from opperf.comparison.ab.pairs import Pair, with_contents_of_a
from opperf.comparison.ab.rehearsal import lacking_pass
from opperf.execution.progress import Progress
from opperf.instruments.times import BACKWARD
from opperf.model import DIFFERENT, Case, Check, Difference, Record, SameResults, Status, Tolerance
from opperf.rules.not_finite import UNWRITTEN
from opperf.worker.client import Worker
from opperf.worker.protocol import Observed

KEPT = 5
"""Most differences of a pair that are kept: further ones mostly follow from the first."""

OTHER_DEVICE = "the gradients of results are drawn on each device"


def check_results(
    pairs: Sequence[Pair], workers: Mapping[str, Worker], tolerance: Tolerance, progress: Progress
) -> dict[str, Check]:
    """Calls every pair once in each arm and compares the results, by pair. Ends the processes."""
    checks: dict[str, Check] = {}
    with tempfile.TemporaryDirectory(prefix="opperf-") as folder, progress:
        for arm, worker in workers.items():
            worker.begin_process({pair.of(arm).settings.device for pair in pairs})
        for number, pair in enumerate(pairs):
            progress.begin(pair.a)
            with tempfile.TemporaryDirectory(prefix=f"{number}-", dir=folder) as own:
                checks[pair.id] = _check(pair, workers, tolerance, Path(own))
            progress.end(Record(case=pair.a, id=pair.a.id, status=Status.OK))
        for worker in workers.values():
            worker.end_process()
    return checks


def with_lacking(
    checks: Mapping[str, Check], lacking: Mapping[str, Sequence[Difference]]
) -> dict[str, Check]:
    """Returns checks, by pair, with the passes that one arm alone has as their first
    differences."""
    found = dict(checks)
    for id, alone in lacking.items():
        rest = found.get(id, Check(DIFFERENT))
        found[id] = Check(
            DIFFERENT, rest.note, (*alone, *rest.differences)[:KEPT], len(alone) + rest.count
        )
    return found


def _check(pair: Pair, workers: Mapping[str, Worker], tolerance: Tolerance, folder: Path) -> Check:
    cases: dict[str, Case] = {"A": pair.a, "B": with_contents_of_a(pair)}
    sides: dict[str, Side] = {}
    for arm, case in cases.items():
        observed = _observe(workers[arm], case, folder / arm)
        if observed.refusal:
            return Check("not compared", f"{arm}: {observed.refusal}")
        if observed.unwritten:
            return Check("not compared", f"{arm} {UNWRITTEN.reason}")
        sides[arm] = Side(case, observed, folder / arm)
    if _device_kind(pair.a) != _device_kind(pair.b):
        sides = {arm: _without_gradients(side) for arm, side in sides.items()}
    unread = _unread(side.observed for side in sides.values())
    found = [
        *find_differences(sides["A"], sides["B"], tolerance, pair.names),
        *_lost_gradients(pair, sides),
    ]
    places = {difference.place for difference in found}
    drawn = _random_places(places, sides, workers, tolerance, folder) if found else {}
    left = [difference for difference in found if difference.place not in drawn]
    notes = [
        *(f"{place}: random, or not written, in {arm}" for place, arm in drawn.items()),
        *(f"gradients: {why}" for why in _why_no_gradients(pair, sides)),
        *(f"{place}: a {name} cannot be read" for place, name in unread.items()),
        *(["large tensors in part only"] if any(map(is_partial, sides.values())) else []),
    ]
    outcome: SameResults = DIFFERENT if left else "same"
    compared = {value.place for value in sides["A"].observed.values} - drawn.keys() - unread.keys()
    if not left and not compared:
        outcome = "not compared"
    return Check(outcome, "; ".join(notes), tuple(left[:KEPT]), len(left))


def _observe(worker: Worker, case: Case, folder: Path, draw: int = 0) -> Observed:
    folder.mkdir()
    return worker.observe(case, folder, draw)


def _device_kind(case: Case) -> str:
    return case.settings.device.partition("(")[0]


def _without_gradients(side: Side) -> Side:
    observed = msgspec.structs.replace(side.observed, without_gradients=OTHER_DEVICE)
    return side._replace(observed=observed)


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
        observed = _observe(workers[arm], side.case, again, draw=1)
        if observed.refusal:
            continue
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


def _lost_gradients(pair: Pair, sides: Mapping[str, Side]) -> list[Difference]:
    reasons = {arm: why for arm, side in sides.items() if (why := side.observed.without_gradients)}
    if BACKWARD.name not in pair.a.passes or len(reasons) != 1:
        return []
    return [lacking_pass(BACKWARD.name, arm, why) for arm, why in reasons.items()]


def _unread(observed: Iterable[Observed]) -> dict[str, str]:
    """Returns the places of objects of which only the type is known, and the types."""
    return {
        value.place: value.text for results in observed for value in results.values if value.unread
    }
