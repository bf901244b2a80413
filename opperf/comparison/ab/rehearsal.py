"""The rehearsal of a session: every case is called once in each arm, to find whether it runs,
which passes it has, and how long it takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from opperf.comparison.ab.deadline import Deadline
from opperf.comparison.ab.pairs import Pair, usual_id
from opperf.comparison.ab.process import Absence
from opperf.comparison.ab.slow_calls import (
    LONG_CALL_S,
    SlowPair,
    Visits,
    decided_passes,
    deciding_s,
    is_long,
    large_ratios,
    slow_pair,
)
from opperf.execution.progress import Progress
from opperf.frameworks.capabilities import needs_build
from opperf.instruments.visit import FewCalls
from opperf.model import PASSES, WITHOUT_FIGURE, Case, Difference, Pass, Record, Status
from opperf.sources.varying import with_settings
from opperf.worker.client import Worker

WARMUP_FACTOR = 1.2
"""Time of a case as a multiple of its time limit: warm-up adds a fifth."""


@dataclass(frozen=True)
class Rehearsal:
    """The result of calling each case once in its arm."""

    pairs: tuple[Pair, ...]
    excluded: tuple[Absence, ...]
    visit_s: dict[str, float]
    """Seconds that a process of the slower arm takes for a pair, by pair."""
    first_s: float
    """Seconds that the first case of a process takes in addition."""
    lacking: dict[str, dict[str, tuple[Difference, ...]]]
    """Passes that the first arm or another alone has, by the other and pair."""
    slow: dict[str, SlowPair]
    """By pair, those of which a call takes longer than its time in a process."""


def rehearse(
    pairs: Sequence[Pair],
    workers: Mapping[str, Worker],
    case_time_s: float,
    progress: Progress,
    deadline: Deadline | None = None,
    loss: float | None = None,
) -> Rehearsal:
    """Calls every pair once in each arm, and ends their processes, one before the other begins. A
    call that is long is made twice, and no more. `loss` is that of `decided_passes`, zero for an
    unknown one; None to decide nothing. Raises `TimeLimitError` at the deadline."""
    if not pairs:
        return Rehearsal((), (), {}, 0.0, {}, {})
    found, decided, first_s = _call_all(pairs, workers, progress, deadline or Deadline(), loss)
    kept: list[Pair] = []
    excluded: list[Absence] = []
    first, *others = workers
    lacking: dict[str, dict[str, tuple[Difference, ...]]] = {}
    slow: dict[str, SlowPair] = {}
    for pair in pairs:
        records = {arm: visits[pair.id].main for arm, visits in found.items()}
        passes = tuple(
            name for name in PASSES if all(name in record.summaries for record in records.values())
        )
        reasons = why_excluded(records)
        if not reasons and passes:
            cases = (msgspec.structs.replace(case, passes=passes) for case in pair.cases)
            kept.append(pair.with_cases(cases))
            for other in others:
                if alone := tuple(_lacking({first: records[first], other: records[other]})):
                    lacking.setdefault(other, {})[pair.id] = alone
            calls = {arm: visits[pair.id].calls for arm, visits in found.items()}
            own = slow_pair(calls, passes, case_time_s, decided.get(pair.id, ()))
            slow |= {} if own is None else {pair.id: own}
            continue
        measured = tuple(name for name in PASSES if name in records[first].summaries)
        excluded.append(
            Absence(
                usual_id(pair.a),
                pair.label,
                pair.inputs,
                measured,
                reasons
                or dict.fromkeys(records, f"no pass is in {'all' if others[1:] else 'both'} arms"),
                is_missing=bool(reasons) and first not in reasons,
            )
        )
    warmup_s = WARMUP_FACTOR * case_time_s
    visits_s = {
        # A verification's time is the rehearsal's alone: at most, it is too much here.
        pair.id: max(visits[pair.id].main.wall_s for visits in found.values()) + warmup_s
        for pair in kept
    }
    return Rehearsal(tuple(kept), tuple(excluded), visits_s, first_s, lacking, slow)


def _call_all(
    pairs: Sequence[Pair],
    workers: Mapping[str, Worker],
    progress: Progress,
    deadline: Deadline,
    loss: float | None,
) -> tuple[dict[str, dict[str, Visits]], dict[str, tuple[Pass, ...]], float]:
    """Returns the visits by arm and pair, the passes that they decide by pair, and the seconds that
    the first case of a process takes in addition."""
    call = Caller(workers, deadline, len(pairs))
    found: dict[str, dict[str, Visits]] = {arm: {} for arm in workers}
    base, second, *_ = found
    first_s = 0.0
    with progress:
        for place, (arm, own) in enumerate(found.items()):
            compiled = [pair.cases[place] for pair in pairs if needs_build(pair.cases[place])]
            if compiled:
                workers[arm].build(compiled)
            for pair in pairs:
                case = _once(pair.cases[place])
                progress.begin(case)
                other = found[base].get(pair.id) if loss is not None and arm == second else None
                own[pair.id] = call.visit(arm, case, not own, other)
                progress.end(own[pair.id].main)
            first, later = own[pairs[0].id].records[0], own[pairs[0].id].main
            first_s = max(first_s, first.wall_s - later.wall_s)
            workers[arm].end_process()
        decided = {} if loss is None else call.confirm(pairs, found, loss)
    return found, decided, first_s


class Caller:
    """Calls the cases of a rehearsal within its time; `number` of each arm."""

    def __init__(self, workers: Mapping[str, Worker], deadline: Deadline, number: int) -> None:
        self._workers, self._deadline = workers, deadline
        self._visited, self._number = 0, len(workers) * number

    def visit(self, arm: str, case: Case, is_first: bool, other: Visits | None) -> Visits:
        """Calls a case of an arm, twice if it is the first of its process, whose imports are not
        part of the case's own time, or long. Where the first call decides beside those of the
        `other` arm, the second is ended as soon as it does too."""
        first = self._call(arm, _unverified(case) if is_first else case)
        self._visited += 1
        if first.status is Status.TIMEOUT or not (is_first or is_long(first)):
            return Visits((first,), first)
        least_s = None if other is None else deciding_s(other, first)
        if least_s is not None:
            # Making the inputs takes as long as it did before.
            limit_s = least_s + max(0.0, first.wall_s - first.busy_s)
            later = self._call(arm, with_settings(case, {"timeout_s": limit_s}))
            if later.status is Status.TIMEOUT:
                return Visits((first,), first, least_s)
        else:
            later = self._call(arm, case if is_first else _unverified(case))
        return Visits((first, later), later if is_first else first)

    def confirm(
        self, pairs: Iterable[Pair], found: Mapping[str, Mapping[str, Visits]], loss: float
    ) -> dict[str, tuple[Pass, ...]]:
        """Returns the passes that are decided, by pair: where A is much faster, after another call
        of it."""
        decided: dict[str, tuple[Pass, ...]] = {}
        first, second, *_ = found
        for pair in pairs:
            a, b = (found[arm][pair.id] for arm in (first, second))
            passes = decided_passes(a, b, loss)
            before, after = a.calls.seconds, b.calls.seconds
            doubted = [name for name in large_ratios(a, b) if before[name] < after[name]]
            if doubted:
                again = self._call(first, _unverified(_once(pair.a)))
                sure = large_ratios(Visits((again,), again), b)
                passes = [name for name in passes if name in sure or name not in doubted]
            decided[pair.id] = tuple(passes)
        self._workers[first].end_process()
        return decided

    def _call(self, arm: str, case: Case) -> Record:
        done = f"{self._visited} of {self._number} first calls made"
        limit = self._deadline.limit(case, done)
        record = self._workers[arm].measure(limit, few=FewCalls(LONG_CALL_S))
        self._deadline.check(record, done)
        return record


def lacking_pass(name: str, arm: str, other: str, reason: str) -> Difference:
    """Returns the difference of a pass, or another metric, that the other arm has and this one
    lacks, with why."""
    return Difference(name, f"{other} has it, {arm} has not ({reason})", lacks=arm)


def _lacking(both: Mapping[str, Record]) -> Iterator[Difference]:
    for name in PASSES:
        without = [arm for arm, record in both.items() if name not in record.summaries]
        if len(without) == 1:
            (arm,) = without
            (other,) = both.keys() - without
            yield lacking_pass(name, arm, other, _why_without(both[arm], name))


def _why_without(record: Record, name: Pass) -> str:
    if name not in record.case.passes:
        return "its case is without it"
    note = record.note(name, *WITHOUT_FIGURE)
    return note.message if note else "it was not produced"


def why_excluded(records: Mapping[str, Record]) -> dict[str, str]:
    """Returns the arms that have no time of a pair, each with the reason."""
    reasons = {}
    for arm, record in records.items():
        why = record.why_without_figures
        if not why and not record.summaries.keys() & set(PASSES):
            lost = (f"{name}: {_why_without(record, name)}" for name in record.case.passes)
            why = "; ".join(lost)
        if why:
            reasons[arm] = why
    return reasons


def _unverified(case: Case) -> Case:
    """Returns the case without a verification: the rehearsal has verified it."""
    return with_settings(case, {"verify": False})


def _once(case: Case) -> Case:
    return with_settings(case, {"warmup": 0, "runs": 1, "max_time_s": None})
