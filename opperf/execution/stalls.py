"""Finds measurements that stalled, and measures them again.

A machine or an engine may stall for as long as a case is measured, as when the threads of a kernel
wait for a core that another process has. All its samples are then alike, so that their scatter says
nothing. But such a time is an outlier beside others: a larger case of the operator takes a fraction
of it, or the forward pass does when it is timed again, with the backward pass. That is only a
suspicion, as options may make an operator slow, and a small matrix may be inverted by a slow
algorithm: so the case is measured again, which decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from opperf.instruments.times import BACKWARD, FORWARD, TOTAL
from opperf.model import PASSES, Case, MetricKind, Note, NoteCode, Pass, Record, Status
from opperf.results.units import time_text
from opperf.sources.varying import group_by_process

SUSPECT = 10.0
"""Ratio of a time to what is expected from which it is suspicious. Kernels of one operator that are
right differ by less for the same bytes, with few exceptions; a stall costs milliseconds, a hundred
times as long as a short call."""

STALLED = 3.0
"""Ratio of the first time to the second from which the first is a stall: another process on the
same core makes a case take twice as long, and a clock's speed changes by less."""

LEAST_STALL_NS = 100e3
"""Shortest stall: threads that wait for a core wait for a scheduler's slice, which is milliseconds.
A few microseconds more are noise."""

LEAST_NS = 1.0
"""Least time that others are compared with: one may be shorter than the clock's steps."""

CALL_NS = 100e3
BYTE_NS = 10.0
"""Expected time of a call and of a byte that it moves, for a case with nothing to compare it with:
ten times as long as a slow call takes, and a hundredth of a memory's speed. `SUSPECT` times that is
more than most operators need that compute much with few bytes."""

MOST_SHARE = 0.05
"""Most cases that are measured again, as a share of all: a run takes that much longer at most."""

MOST = 3
"""Most cases that are measured again in a short run."""


class Suspect(NamedTuple):
    """A record with a time that may be a stall."""

    record: Record
    ratio: float
    """Of the time to the expected one, in the pass where it is largest."""


def find_suspects(records: Iterable[Record], total: int) -> list[Record]:
    """Returns the records to measure again, of a run of `total` cases: those with the most extreme
    times, cases of one process together."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        if record.status is Status.OK:
            groups.setdefault(_family(record.case), []).append(record)
    found = [suspect for group in groups.values() for suspect in _suspects(group)]
    found.sort(key=lambda one: -one.ratio)
    chosen = {
        suspect.record.id: suspect.record for suspect in found[: max(MOST, int(MOST_SHARE * total))]
    }
    return [
        chosen[case.id] for case in group_by_process(suspect.case for suspect in chosen.values())
    ]


def _family(case: Case) -> str:
    """Returns what cases have in common whose times can be compared by size. The profiler is none
    of it: kernels take no longer than a call."""
    settings = {**case.settings.identity(), "profiler": ""}
    return f"{case.target.framework} {case.label} {sorted(map(str, settings.items()))}"


def _suspects(group: Sequence[Record]) -> Iterator[Suspect]:
    for record in group:
        others = [other for other in group if other.id != record.id and _bounds(other, record)]
        pairs = [
            (record.summaries[metric].median, _expected_ns(record, metric, others))
            for metric in PASSES
            # A single sample is shown to be uncertain anyway.
            if metric in record.summaries and record.summaries[metric].n > 1
        ]
        ratio = max((time / usual for time, usual in pairs if _is_longer(time, usual)), default=0.0)
        # Several rounds show a stall as two levels.
        if ratio >= SUSPECT and record.rounds == 1:
            yield Suspect(record, ratio)


def _is_longer(time: float, usual: float) -> bool:
    """Returns whether a time is longer than usual by a stall at least."""
    return time - usual >= LEAST_STALL_NS


def _bounds(one: Record, record: Record) -> bool:
    """Returns whether the first case should take no less time than the second: it moves as many
    bytes, and is timed by the same kind of clock, or by one that counts more."""
    same_clock = one.time_kind is record.time_kind or record.time_kind is MetricKind.KERNEL
    return same_clock and one.moved_bytes >= record.moved_bytes


def _expected_ns(record: Record, metric: Pass, others: Sequence[Record]) -> float:
    """Returns the longest time that is plausible for a pass, in nanoseconds."""
    times = [other.summaries[metric].median for other in others if metric in other.summaries]
    plausible = [*times] if times else [CALL_NS + BYTE_NS * record.moved_bytes]
    backward, both = record.summaries.get(BACKWARD.name), record.summaries.get(TOTAL.name)
    if metric == FORWARD.name and backward is not None and both is not None:
        # The forward pass was timed twice: alone, and before each backward pass.
        plausible.append(both.median - backward.median)
    return max(LEAST_NS, min(plausible))


def settle(first: Record, second: Record) -> Record:
    """Returns the record of a case that was measured twice: the first, but with the times of the
    second where the first stalled, and a note on each of them."""
    if second.status is not Status.OK:
        return first
    stalled = [metric for metric in PASSES if _is_stalled(metric, first, second)]
    if not stalled:
        return first
    marks = [Note(metric, NoteCode.STALL, _text(metric, first, second)) for metric in stalled]
    kept = with_times_of(first, second, stalled, marks)
    waits = {name: second.waits[name] for name in stalled if name in second.waits}
    return msgspec.structs.replace(kept, waits=first.waits | waits)


def with_times_of(
    first: Record, second: Record, passes: Sequence[Pass], marks: Iterable[Note]
) -> Record:
    """Returns the first record of a case with the times and notes of the second for some passes,
    and with further notes."""
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
    )


def _is_stalled(metric: Pass, first: Record, second: Record) -> bool:
    if metric not in first.summaries or metric not in second.summaries:
        return False
    before, after = (record.summaries[metric].median for record in (first, second))
    return before >= STALLED * after and _is_longer(before, after)


def _text(metric: Pass, first: Record, second: Record) -> str:
    before, after = (time_text(record.summaries[metric].median) for record in (first, second))
    return f"the first measurement stalled: it took {before}, the second {after}"
