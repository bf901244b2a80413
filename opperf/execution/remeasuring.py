"""Finds measurements that stalled, or whose threads waited for cores, and measures them again.

A machine may stall for as long as a case is measured: its samples are then alike, but the time is
an outlier beside that of a larger case, or of the forward pass when it is timed again, with the
backward pass. Options may make an operator slow, too: so a second measurement decides.

Beside a busy process, all threads of a call wait for one. A single thread waits less, and mostly
takes longer than several that do not wait: where it takes less, the first time was one of waits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from opperf.instruments.profilers.waits import NOTABLE
from opperf.instruments.times import BACKWARD, FORWARD, TOTAL
from opperf.model import PASSES, Case, MetricKind, Note, NoteCode, Pass, Record, Status, identity_of
from opperf.results.possible import STALLED, plausible_ns
from opperf.results.units import time_text
from opperf.sources.varying import group_by_process

SUSPECT = 10.0
"""Ratio of a time to what is expected from which it is suspicious. Kernels of one operator that are
right differ by less for the same bytes, with few exceptions; a stall costs milliseconds, a hundred
times as long as a short call."""

LEAST_STALL_NS = 100e3
"""Shortest stall: threads that wait for a core wait for a scheduler's slice, which is milliseconds.
A few microseconds more are noise."""

LEAST_NS = 1.0
"""Least time that others are compared with: one may be shorter than the clock's steps."""


MOST_SHARE = 0.05
"""Most cases that are measured again, as a share of all: a run takes that much longer at most."""

MOST = 3
"""Most cases that are measured again in a short run."""


def find_suspects(records: Iterable[Record], total: int) -> list[Record]:
    """Returns the records to measure again, of a run of `total` cases: those with the most extreme
    times, cases of one process together."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        if record.status is Status.OK:
            groups.setdefault(_family(record.case), []).append(record)
    found = [suspect for group in groups.values() for suspect in _suspects(group)]
    found.sort(key=lambda suspect: -suspect[0])
    most = max(MOST, int(MOST_SHARE * total))
    chosen = {record.id: record for _, record in found[:most]}
    return [chosen[case.id] for case in group_by_process(record.case for record in chosen.values())]


def _family(case: Case) -> str:
    """Returns what cases have in common whose times can be compared by size, by any profiler."""
    settings = {**identity_of(case.settings), "profiler": ""}
    return f"{case.target.framework} {case.label} {sorted(map(str, settings.items()))}"


def _suspects(group: Sequence[Record]) -> Iterator[tuple[float, Record]]:
    """Yields the records with a time that may be a stall, each after the ratio of the time to the
    expected one, in the pass where it is largest."""
    for record in group:
        others = [other for other in group if other.id != record.id and _bounds(other, record)]
        pairs = [
            (record.summaries[metric].median, _expected_ns(record, metric, others))
            for metric in PASSES
            # A single sample is shown to be uncertain anyway.
            if metric in record.summaries and record.summaries[metric].n > 1
        ]
        ratio = max((time / usual for time, usual in pairs if _is_longer(time, usual)), default=0.0)
        # Several rounds show a stall as two levels. What several operators take follows from no
        # number of bytes.
        if ratio >= SUSPECT and record.rounds == 1 and not record.parts:
            yield ratio, record


def _is_longer(time: float, usual: float) -> bool:
    return time - usual >= LEAST_STALL_NS


def _bounds(one: Record, record: Record) -> bool:
    """Whether the first case should take no less time than the second: it moves as many bytes, and
    is timed by the same kind of clock, or by one that counts more."""
    same_clock = one.time_kind is record.time_kind or record.time_kind is MetricKind.KERNEL
    return same_clock and one.moved_bytes >= record.moved_bytes


def _expected_ns(record: Record, metric: Pass, others: Sequence[Record]) -> float:
    """Returns the longest plausible time of a pass, in nanoseconds."""
    times = [other.summaries[metric].median for other in others if metric in other.summaries]
    plausible = [*times] if times else [plausible_ns(record)]
    backward, both = record.summaries.get(BACKWARD.name), record.summaries.get(TOTAL.name)
    if metric == FORWARD.name and backward is not None and both is not None:
        # The forward pass was timed twice: alone, and before each backward pass.
        plausible.append(both.median - backward.median)
    return max(LEAST_NS, min(plausible))


def settle(first: Record, second: Record) -> Record:
    """Returns the first record, with times of the second where the first stalled, and notes."""
    if second.status is not Status.OK:
        return first
    both = _both_ns(first, second)
    stalled = [
        metric
        for metric, (before, after) in both.items()
        if before >= STALLED * after and _is_longer(before, after)
    ]
    if not stalled:
        return first
    marks = []
    for metric in stalled:
        before, after = map(time_text, both[metric])
        text = f"the first measurement stalled: it took {before}, the second {after}"
        marks.append(Note(metric, NoteCode.STALL, text))
    kept = with_times_of(first, second, stalled, marks)
    waits = {name: second.waits[name] for name in stalled if name in second.waits}
    return msgspec.structs.replace(kept, waits=first.waits | waits)


def with_times_of(
    first: Record, second: Record, passes: Sequence[Pass], marks: Iterable[Note]
) -> Record:
    """Returns the first record with times and notes of the second for some passes."""
    # Both passes together are timed with the last one.
    last = BACKWARD.name if BACKWARD.name in second.summaries else FORWARD.name
    replaced = {*passes, *([TOTAL.name] if last in passes else [])}
    return msgspec.structs.replace(
        first,
        summaries=first.summaries | {name: second.summaries[name] for name in replaced},
        samples=first.samples | {name: second.samples[name] for name in replaced},
        notes=(
            *(note for note in first.notes if note.metric not in replaced),
            *(note for note in second.notes if note.metric in replaced),
            *marks,
        ),
        wall_s=first.wall_s + second.wall_s,
        busy_s=first.busy_s + second.busy_s,
        parts=second.parts or first.parts,
    )


def _both_ns(first: Record, second: Record) -> dict[Pass, tuple[float, float]]:
    """Returns the medians of the passes that both records have, in nanoseconds."""
    return {
        metric: (first.summaries[metric].median, second.summaries[metric].median)
        for metric in PASSES
        if metric in first.summaries and metric in second.summaries
    }


MOST_CONTENDED = 20
"""Most cases that are measured again with one thread: twice as many as a ranking shows, those that
stand for the most time. Each takes no longer than before."""

SHORTER = 0.7
"""Largest ratio of the time with one thread to that with all for the first to take its place. A
small operator is up to a fifth faster with one thread on a quiet machine too."""


def find_contended(
    records: Iterable[Record], unsettled: Collection[str] = ()
) -> list[tuple[Case, list[str]]]:
    """Returns the cases to measure with one thread, those of one process together, each with the
    ids of the records that it decides about. `unsettled` are ids of records whose second
    measurement was as long an outlier as the first."""
    found = [record for record in records if _is_contended(record, record.id in unsettled)]
    found.sort(key=_all_calls_ns, reverse=True)
    cases: dict[str, Case] = {}
    ids: dict[str, list[str]] = {}
    for record in found[:MOST_CONTENDED]:
        alone = msgspec.structs.replace(record.case.settings, threads=1)
        case = without_memory(msgspec.structs.replace(record.case, settings=alone))
        cases.setdefault(case.id, case)
        ids.setdefault(case.id, []).append(record.id)
    return [(case, ids[case.id]) for case in group_by_process(cases.values())]


def _is_contended(record: Record, is_absurd: bool) -> bool:
    if record.status is not Status.OK or record.rounds > 1 or record.case.settings.threads == 1:
        return False
    # A single sample is shown to be uncertain anyway.
    sampled = (metric for metric in PASSES if len(record.samples.get(metric, ())) > 1)
    if any(record.note(metric, NoteCode.BUSY) for metric in sampled):
        return True
    # Of what is not known some may have waited.
    return is_absurd and any(
        waits.waited_s is None or waits.waited_s > NOTABLE * waits.wall_s
        for waits in record.waits.values()
    )


def _all_calls_ns(record: Record) -> float:
    times = (record.summaries[metric].median for metric in PASSES if metric in record.summaries)
    return record.case.count * sum(times)


def without_memory(case: Case) -> Case:
    """Returns the case without memory and verification, which are the same each time."""
    settings = msgspec.structs.replace(case.settings, memory=False, verify=False)
    return msgspec.structs.replace(case, settings=settings)


def settle_contended(first: Record, alone: Record) -> Record:
    """Returns the first record, with the times of one thread where much shorter, and notes."""
    if alone.status is not Status.OK:
        return first
    noted = [metric for metric in PASSES if first.note(metric, NoteCode.BUSY)]
    both = _both_ns(first, alone)
    waited = [
        metric
        for metric, (before, after) in both.items()
        # An outlier may have waits that its samples do not show.
        if metric in (noted or PASSES) and after < SHORTER * before
    ]
    if not waited:
        return first
    marks = []
    for metric in waited:
        before, after = map(time_text, both[metric])
        text = f"with all threads, which waited for cores, it took {before}"
        text = f"the machine was busy: {text}; shown is the time with one thread, {after}"
        marks.append(Note(metric, NoteCode.BUSY, text))
    # Waits of the one thread say nothing of the times that it replaces.
    others = tuple(note for note in alone.notes if note.code != NoteCode.BUSY.value)
    return with_times_of(first, msgspec.structs.replace(alone, notes=others), waited, marks)
