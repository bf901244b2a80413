"""Changes at or near the replacement of a machine, by what all of its series have in common.

Assumption: the ratio of two machines is much the same for all series, but for a spread that the
series themselves show; one whose ratio is far from that changed for a reason of its own, the code.
Source: the median and the median absolute deviation, like those of `machines`.
Breaks where the new machine suits some kind of work far better than another: then the spread is
large and hides the code's changes, or those of a kind are flagged, which as many are one event.

A change a few runs before the replacement has too few points on the old machine, and one a few runs
after it too few before it on the new one, so that the points of a stretch around the replacement
are compared with the old machine's level before it, in the new machine's measure.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from opperf.history.detection.findings import ChangeState
from opperf.history.detection.levels import NORMAL_95, Levels
from opperf.history.detection.likelihood import best_split
from opperf.history.detection.looks import Alarm
from opperf.history.detection.machines import LEAST_SERIES
from opperf.history.detection.series import Floats
from opperf.history.detection.strand_changes import STANDS, STILL_LARGE, Judged, StrandChange
from opperf.history.detection.windows import AFTER, BEFORE, CLIP

NEAR = 10
"""Last points of the old machine that may be of the new level already."""

REFERENCE = 100
"""Points before these that say what the level was."""

MOST_OWN = 30
"""First points of the new machine that are looked at: a change after more is found among them."""

CLEAR = 4.5
"""Spreads from the median ratio from which on a series changed by itself: among sixty series of a
normal spread one in some two thousand replacements."""

NORMAL_MAD = 1.4826
"""Standard deviations in a median absolute deviation."""


class _Pair(NamedTuple):
    """A series on two machines, in scales of the new one's noise."""

    strand: int
    scale: float
    reference: Floats
    tail: Floats
    """Last points of the old machine."""
    own: Floats
    """First points of the new one."""
    positions: Sequence[int]
    """Of all three."""
    has_later: bool
    """Whether the new machine's points have a change of their own, before which `own` ends."""


def carried_changes(
    judged: Judged, smallest: float, known: Mapping[int, Sequence[Alarm]]
) -> list[tuple[int, StrandChange]]:
    """Returns the changes near replacements, in the new machine's measure, each with the index of
    its strand there; those `known` need to stand, and no more."""
    found = []
    for pairs in _replacements(judged).values():
        if len(pairs) >= LEAST_SERIES:
            found += _changes(pairs, smallest, known)
    return found


def _replacements(judged: Judged) -> dict[tuple[str, str], list[_Pair]]:
    """The series that go on, by old and new machine."""
    strands = judged.strands
    of_series: dict[str, list[int]] = defaultdict(list)
    for index, strand in enumerate(strands):
        if strand.series >= 0:
            of_series[strand.key].append(index)
    pairs: dict[tuple[str, str], list[_Pair]] = defaultdict(list)
    for indices in of_series.values():
        for new in indices:
            begin = strands[new].positions[0]
            before = [old for old in indices if strands[old].positions[-1] < begin]
            if before:
                old = max(before, key=lambda index: int(strands[index].positions[-1]))
                pair = _pair(judged, old, new)
                if pair is not None:
                    pairs[strands[old].environment, strands[new].environment].append(pair)
    return pairs


def _pair(judged: Judged, old: int, new: int) -> _Pair | None:
    before, after = judged.logs[old], judged.logs[new]
    end = before.size - NEAR
    splits, later = (
        [
            change.split
            for change in judged.changes.get(index, ())
            if change.state is ChangeState.DETECTED
        ]
        for index in (old, new)
    )
    start = max([end - REFERENCE, 0, *(split for split in splits if split <= end - AFTER)])
    own = after[: min([MOST_OWN, *later])]
    if end - start < BEFORE or own.size < AFTER:
        return None
    positions = [*judged.strands[old].positions[start:], *judged.strands[new].positions[: own.size]]
    scale = max(float(judged.scale[old]), float(judged.scale[new]))
    return _Pair(
        new, scale, before[start:end], before[end:], own, list(map(int, positions)), bool(later)
    )


def _mean(values: Floats, scale: float) -> float:
    """The mean of values that count as far as they are clipped."""
    middle = float(np.median(values))
    return middle + float(np.clip(values - middle, -CLIP * scale, CLIP * scale).mean())


def _changes(
    pairs: Sequence[_Pair], smallest: float, known: Mapping[int, Sequence[Alarm]]
) -> list[tuple[int, StrandChange]]:
    references = np.array([_mean(pair.reference, pair.scale) for pair in pairs])
    clear: dict[int, int] = {}
    last: dict[int, StrandChange] = {}
    for count in range(AFTER, max(pair.own.size for pair in pairs) + 1):
        chosen = [index for index, pair in enumerate(pairs) if pair.own.size >= count]
        if len(chosen) < LEAST_SERIES:
            break
        ratios = np.array([_mean(pairs[i].own[:count], pairs[i].scale) for i in chosen])
        ratios -= references[chosen]
        common = float(np.median(ratios))
        errors = np.array(
            [pairs[i].scale * math.sqrt(1 / count + 1 / pairs[i].reference.size) for i in chosen]
        )
        spread = NORMAL_MAD * float(np.median(np.abs(ratios - common)))
        more = max(0.0, spread**2 - float(np.median(errors)) ** 2)
        for i, shift, error in zip(chosen, ratios - common, errors, strict=True):
            size = abs(float(shift)) / math.sqrt(error**2 + more)
            pair = pairs[i]
            if size >= CLEAR and abs(shift) >= math.log1p(smallest):
                clear.setdefault(i, count)
            stands = size >= STANDS and abs(shift) >= STILL_LARGE * math.log1p(smallest)
            is_known = not pair.has_later and _is_known(known.get(pair.strand, ()), shift > 0)
            if stands and (i in clear or is_known):
                seen = clear.get(i, count)
                last[i] = _carried(pair, references[i] + common, count, seen, more)
            else:
                last.pop(i, None)
    return [(pairs[i].strand, change) for i, change in last.items()]


def _is_known(alarms: Collection[Alarm], is_rise: bool) -> bool:
    return any(alarm.split < BEFORE and alarm.is_rise == is_rise for alarm in alarms)


def _carried(pair: _Pair, level: float, count: int, seen: int, more: float) -> StrandChange:
    common = level - _mean(pair.reference, pair.scale)
    joined = np.concatenate([pair.reference + common, pair.tail + common, pair.own[:count]])
    # Beyond both levels, not between them: a clear step is where it is, whatever is beside it.
    size = (float(np.median(pair.own[:count])) - level) / pair.scale
    values = np.clip((joined - level) / pair.scale, min(size, 0.0) - CLIP, max(size, 0.0) + CLIP)
    begin = max(0, pair.reference.size - AFTER)
    split = begin + best_split(values[begin:], AFTER, AFTER).first
    after = _mean(joined[split:], pair.scale)
    error = math.sqrt(pair.scale**2 * (1 / pair.reference.size + 1 / (joined.size - split)) + more)
    half = NORMAL_95 * error
    levels = Levels(level, after, after - level - half, after - level + half)
    p = math.erfc(abs(after - level) / error / math.sqrt(2))
    seen_at = pair.positions[pair.reference.size + pair.tail.size + seen - 1]
    last_good, first_bad = pair.positions[split - 1 : split + 1]
    return StrandChange(last_good, first_bad, seen_at, levels, p)
