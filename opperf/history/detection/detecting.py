"""Detection: from a set of series to changes, events of machines, and notes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import attrgetter

import msgspec
import numpy as np

from opperf.history.detection import machine_events
from opperf.history.detection.findings import (
    ChangeState,
    Findings,
    Known,
    LevelChange,
    NoteKind,
    Rate,
    SeriesNote,
    taken_back,
)
from opperf.history.detection.levels import compare_levels
from opperf.history.detection.looks import Alarm
from opperf.history.detection.machines import make_strands
from opperf.history.detection.piecewise import fit_pieces, regressions
from opperf.history.detection.replacements import carried_changes
from opperf.history.detection.series import Floats, Series, Strand, one_per_commit
from opperf.history.detection.strand_changes import Judged, StrandChange, judge
from opperf.history.detection.trends import DAY, DRIFT_ERRORS, find_drift
from opperf.history.detection.windows import AFTER
from opperf.model import Metric
from opperf.shares import share_text

SMALLEST = 0.02
"""Change below which none is reported: that which `opperf ab` confirms."""

EXACT, LIKELIHOOD, ASV = "tolerance", "likelihood", "asv"

METHODS = (LIKELIHOOD, ASV)
"""Methods for noisy series."""


def detect(
    series: Sequence[Series],
    rate: Rate | None = None,
    method: str = LIKELIHOOD,
    smallest: float = SMALLEST,
    known: Sequence[Known] = (),
) -> Findings:
    """Returns the changes of each series, events of machines, and notes. The points alone decide,
    and not the order in which they came; a change that is known stands until they take it back, and
    need not be clear enough to be found once more. Noisy series with fewer than twelve points have
    no changes yet. Raises `ValueError` for an unknown method, a rate that is not above 0, and for
    two series of one key in one environment."""
    rate = rate or Rate()
    if method not in METHODS:
        raise ValueError(f"method {method!r} is none of {', '.join(METHODS)}")
    if not (rate.false_alarms > 0 and rate.days > 0):
        raise ValueError("the rate of false alarms and its days have to be above 0")
    if len({(given.key, given.environment) for given in series}) < len(series):
        raise ValueError("two series have the same key")
    found = [list(_exact_changes(given)) for given in series]
    notes = list(_breaks(series))
    if method == ASV:
        for changes, one in zip(found, series, strict=True):
            changes += _asv_changes(one)
        return Findings(tuple(map(_in_order, found)), notes=tuple(notes))
    strands = make_strands(series)
    known_alarms = _known_alarms(strands, known)
    judged = judge(strands, rate, smallest, known_alarms)
    own = [(index, change) for index, changes in judged.changes.items() for change in changes]
    for index, change in (*own, *carried_changes(judged, smallest, known_alarms)):
        number = strands[index].series
        if number >= 0:
            found[number].append(_noisy_change(series[number], change))
    notes += _trend_notes(judged, smallest)
    moves = list(machine_events.moves(judged))
    grouped = machine_events.mark_behind(list(map(_in_order, found)), moves, judged)
    limited = limit_alerts(grouped, series, rate)
    events = sorted(
        (*moves, *machine_events.excursions(judged, smallest)),
        key=attrgetter("first_bad", "environment", "method"),
    )
    return Findings(tuple(map(tuple, limited)), tuple(events), tuple(notes), level=judged.level)


def _known_alarms(strands: Sequence[Strand], known: Sequence[Known]) -> dict[int, list[Alarm]]:
    indices = {(strand.key, strand.environment): index for index, strand in enumerate(strands)}
    alarms: dict[int, list[Alarm]] = {}
    for change in known:
        index = indices.get((change.key, change.environment))
        if index is not None:
            split = int(np.searchsorted(strands[index].positions, change.first_bad))
            alarm = Alarm(index, split + AFTER, split, change.p, change.is_rise, True)
            alarms.setdefault(index, []).append(alarm)
    return alarms


def _in_order(changes: list[LevelChange]) -> tuple[LevelChange, ...]:
    """Returns the changes of a series by commit, those marked that later ones took back."""
    ordered = sorted(changes, key=attrgetter("first_bad"))
    chosen = [index for index, change in enumerate(ordered) if change.state is ChangeState.DETECTED]
    moves = [(ordered[i].first_bad, ordered[i].before, ordered[i].after) for i in chosen]
    for index, position in zip(chosen, taken_back(moves), strict=True):
        ordered[index] = msgspec.structs.replace(ordered[index], taken_back=position)
    return tuple(ordered)


def _exact_changes(series: Series) -> Iterator[LevelChange]:
    if not series.metric.is_steady or not series.values.size:
        return
    positions, values = one_per_commit(series)
    for before, at in _exact_steps(values, series.metric):
        old, new = float(values[before]), float(values[at])
        ratio = new / old if old else math.inf
        yield LevelChange(
            series.key,
            series.environment,
            last_good=int(positions[at - 1]),
            first_bad=int(positions[at]),
            before=old,
            after=new,
            ratio=ratio,
            low=ratio,
            high=ratio,
            is_worse=(new > old) == series.metric.lower_is_better,
            p=0.0,
            method=EXACT,
            seen_at=int(positions[at]),
        )


def _exact_steps(values: Floats, metric: Metric) -> Iterator[tuple[int, int]]:
    """Yields the first points of the old and the new level of each change of a metric that is the
    same on every run. Two values of unchanged code differ by no more than its tolerance, so that
    one point is enough and there is no rate of false alarms. A value is compared with the first
    after the last change, and not with the one before it: small steps are found as they add up."""
    at = 0
    while True:
        level = float(values[at])
        allowed = max(metric.relative_tolerance * abs(level), metric.absolute_tolerance)
        beyond = np.abs(values[at:] - level) > allowed
        if not beyond.any():
            return
        before, at = at, at + int(np.argmax(beyond))
        yield before, at


def _noisy_change(series: Series, change: StrandChange) -> LevelChange:
    levels = change.levels
    return LevelChange(
        series.key,
        series.environment,
        last_good=change.last_good,
        first_bad=change.first_bad,
        before=math.exp(levels.before),
        after=math.exp(levels.after),
        ratio=math.exp(levels.shift),
        low=math.exp(levels.low),
        high=math.exp(levels.high),
        is_worse=(levels.shift > 0) == series.metric.lower_is_better,
        p=change.p,
        method=LIKELIHOOD,
        state=change.state,
        seen_at=change.seen_at,
    )


def _asv_changes(series: Series) -> Iterator[LevelChange]:
    if series.metric.is_steady:
        return
    positions, values = one_per_commit(series)
    for before, after in regressions(fit_pieces(values), series.metric.lower_is_better):
        levels = compare_levels(
            np.log(values[before.start : before.end]), np.log(values[after.start : after.end])
        )
        yield LevelChange(
            series.key,
            series.environment,
            last_good=int(positions[after.start - 1]),
            first_bad=int(positions[after.start]),
            before=before.level,
            after=after.level,
            ratio=after.level / before.level,
            low=math.exp(levels.low),
            high=math.exp(levels.high),
            is_worse=True,
            method=ASV,
            seen_at=int(positions[after.end - 1]),
        )


BREAK = "goes on in another environment, whose points are compared with each other only"
"""Message of a note, to which a report adds the names of both."""


def _breaks(series: Sequence[Series]) -> Iterator[SeriesNote]:
    by_key: dict[str, list[Series]] = {}
    for given in series:
        if given.positions.size:
            by_key.setdefault(given.key, []).append(given)
    for key, members in by_key.items():
        last, *others = sorted(members, key=lambda one: (one.positions[0], one.times[0]))
        for new in others:
            first = int(new.positions[0])
            if first > last.positions[-1]:
                old = last.environment
                yield SeriesNote(key, NoteKind.BREAK, new.environment, first, BREAK, old)
            if new.positions[-1] > last.positions[-1]:
                last = new


def _trend_notes(judged: Judged, smallest: float) -> Iterator[SeriesNote]:
    for index, strand in enumerate(judged.strands):
        of, first, last = strand.environment, int(strand.positions[0]), int(strand.positions[-1])
        season = judged.seasons.get(index)
        if season is not None:
            message = f"a season of a {season.period}, ±{share_text(season.amplitude)}: subtracted"
            yield SeriesNote(strand.key, NoteKind.SEASON, of, last, message)
        change, errors = find_drift(judged.rests[index], float(judged.scale[index]))
        if abs(errors) > DRIFT_ERRORS and abs(change) > smallest:
            message = f"a drift of {math.expm1(change):+.1%} without a step"
            yield SeriesNote(strand.key, NoteKind.DRIFT, of, first, message)


def limit_alerts(
    found: list[list[LevelChange]], series: Sequence[Series], rate: Rate
) -> list[list[LevelChange]]:
    """Returns the changes, those marked that are over the budget. An alert was sent when its commit
    was checked, so that a later and clearer one does not take its place; without times, all points
    are of one period."""
    if rate.most_alerts is None:
        return found
    alarms = []
    for row, (one, changes) in enumerate(zip(series, found, strict=True)):
        when = dict(zip(one.positions.tolist(), one.times.tolist(), strict=True))
        alarms += [
            (change.seen_at, change.p, change.key, row, column, when[change.seen_at])
            for column, change in enumerate(changes)
            if change.is_alarm
        ]
    sent: list[float] = []
    limited = [list(changes) for changes in found]
    for *_, row, column, time in sorted(alarms, key=lambda alarm: alarm[:4]):
        # Without a time, every alert counts against every other.
        recent = [at for at in sent if not time - at >= rate.days * DAY]
        if len(recent) < rate.most_alerts:
            sent.append(time if math.isfinite(time) else math.nan)
        else:
            change = limited[row][column]
            limited[row][column] = msgspec.structs.replace(change, over_budget=True)
    return limited
