"""The budget of alerts in a period: the clearest at each commit, until it is spent."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from opperf.history.detection.findings import Change, Rate
from opperf.history.detection.series import Series
from opperf.history.detection.trends import DAY


def limit(found: list[list[Change]], series: Sequence[Series], rate: Rate) -> list[list[Change]]:
    """Returns the changes, those marked that are over the budget. An alert was sent when its commit
    was checked, so that a later and clearer one does not take its place; without times, all points
    are of one period."""
    if rate.most_alerts is None:
        return found
    alarms = []
    for row, changes in enumerate(found):
        one = series[row]
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
