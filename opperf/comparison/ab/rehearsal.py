"""The rehearsal of a session: every pair is called once in both arms, to find whether it runs,
which passes it has, and how long it takes; and once more, with the same inputs, to compare the
results.

Results that depend on random numbers differ between arms that draw them in another order. So a case
whose results differ is called again in either arm with other random numbers: what differs from
itself is not compared.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from opperf.comparison.ab.absences import Absence
from opperf.comparison.ab.differences import Side, find_differences, is_partial
from opperf.comparison.ab.pairs import Pair, usual_id, with_contents_of_a
from opperf.execution.progress import Progress
from opperf.frameworks.capabilities import needs_build
from opperf.model import DIFFERENT, Case, Check, Record, SameResults, Status, Tolerance
from opperf.results.verifications import why_without_figures
from opperf.rules.not_finite import UNWRITTEN
from opperf.worker.client import Worker
from opperf.worker.protocol import Observed

WARMUP_FACTOR = 1.2
"""Time of a case as a multiple of its time limit: warm-up adds a fifth."""


@dataclass(frozen=True)
class Rehearsal:
    """The result of calling each pair once in both arms."""

    pairs: tuple[Pair, ...]
    excluded: tuple[Absence, ...]
    visit_s: dict[str, float]
    """Seconds that a process of the slower arm takes for a pair, by pair."""
    first_s: float
    """Seconds that the first case of a process takes in addition."""


def rehearse(
    pairs: Sequence[Pair], workers: Mapping[str, Worker], case_time_s: float, progress: Progress
) -> Rehearsal:
    """Calls every pair once in each arm, and ends their processes, one before the other begins."""
    if not pairs:
        return Rehearsal((), (), {}, 0.0)
    records: dict[str, dict[str, Record]] = {"A": {}, "B": {}}
    first_s = 0.0
    with progress:
        for arm, found in records.items():
            worker = workers[arm]
            compiled = [case for case in (pair.of(arm) for pair in pairs) if needs_build(case)]
            if compiled:
                worker.build(compiled)
            # Called twice: imports are not part of the first case's own time.
            first = worker.measure(unverified(_once(pairs[0].of(arm))))
            for pair in pairs:
                case = _once(pair.of(arm))
                progress.begin(case)
                found[pair.id] = worker.measure(case)
                progress.end(found[pair.id])
            first_s = max(first_s, first.wall_s - found[pairs[0].id].wall_s)
            worker.end_process()
    kept: list[Pair] = []
    excluded: list[Absence] = []
    for pair in pairs:
        own = {arm: found[pair.id] for arm, found in records.items()}
        both = [record.summaries for record in own.values()]
        passes = tuple(metric for metric in pair.a.passes if all(metric in own for own in both))
        reasons = _why_excluded(pair, own)
        if not reasons and passes:
            kept.append(pair.with_passes(passes))
            continue
        measured = tuple(metric for metric in pair.a.passes if metric in own["A"].summaries)
        excluded.append(
            Absence(
                usual_id(pair.a),
                pair.label,
                pair.inputs,
                measured,
                reasons or dict.fromkeys(own, "no pass runs a kernel in both arms"),
                is_missing=reasons.keys() == {"B"},
            )
        )
    return Rehearsal(
        tuple(kept),
        tuple(excluded),
        {
            # A verification's time is the rehearsal's alone: at most, it is too much here.
            pair.id: max(found[pair.id].wall_s for found in records.values())
            + WARMUP_FACTOR * case_time_s
            for pair in kept
        },
        first_s,
    )


def _why_excluded(pair: Pair, records: Mapping[str, Record]) -> dict[str, str]:
    """Returns the arms that have no time of a pair, each with the reason."""
    reasons = {}
    for arm, record in records.items():
        why = why_without_figures(record)
        if not why and not any(metric in record.summaries for metric in pair.a.passes):
            why = "no pass runs a kernel"
        if why:
            reasons[arm] = why
    return reasons


def unverified(case: Case) -> Case:
    """Returns the case without a verification: the rehearsal has verified it."""
    settings = msgspec.structs.replace(case.settings, verify=False)
    return msgspec.structs.replace(case, settings=settings)


def _once(case: Case) -> Case:
    settings = msgspec.structs.replace(case.settings, warmup=0, runs=1, max_time_s=None)
    return msgspec.structs.replace(case, settings=settings)


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
    found = find_differences(sides["A"], sides["B"], tolerance, pair.names)
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
    if "backward" not in pair.a.passes:
        return []
    reasons = {arm: side.observed.without_gradients for arm, side in sides.items()}
    if len(set(reasons.values())) == 1:
        return [reasons["A"]] if reasons["A"] else []
    return [f"{arm}: {reason}" for arm, reason in reasons.items() if reason]


def _unread(observed: Iterable[Observed]) -> dict[str, str]:
    """Returns the places of objects of which only the type is known, and the types."""
    return {
        value.place: value.text for results in observed for value in results.values if value.unread
    }
