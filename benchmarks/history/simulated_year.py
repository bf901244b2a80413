"""A year of a project's runs, checked after each run as a project does: events are kept between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from opperf.formats.model import SeriesFacts, SeriesKey
from opperf.history.checking import Checked, check_history
from opperf.history.detection.detecting import LIKELIHOOD
from opperf.history.detection.findings import Rate
from opperf.history.events import Event
from opperf.history.model import StoredRun
from opperf.history.timelines import History, Timeline
from opperf.model import MetricKind
from opperf.repository import Commit

DAY = 86_400.0

FEWEST = 12
"""Runs from which on a check can find anything."""

BRANCH = "main"


class Step(NamedTuple):
    """A change of a series from a day on."""

    row: int
    day: int
    factor: float


@dataclass
class Year:
    """What is simulated."""

    series: int = 60
    days: int = 350
    sd: float = 0.02
    """Of a figure around its level."""
    freedom: float = np.inf
    """Degrees of freedom of the noise: infinite of normal noise."""
    correlation: float = 0.0
    machine_sd: float = 0.005
    """Of a run, in all series alike."""
    spikes: float = 0.0
    """Share of figures that take half as long again."""
    missing: float = 0.0
    """Share of days without a run."""
    steps: tuple[Step, ...] = ()
    drifts: dict[int, float] = field(default_factory=dict)
    """Over the year, by the series."""
    bad_days: tuple[int, ...] = ()
    """On which all series take a quarter longer."""
    replaced: int | None = None
    """Day from which on another machine measures, a fifth faster."""
    ratios: float = 0.0
    """Standard deviation of the series' ratios of the machines."""
    shifted: int | None = None
    """Day from which on the same machine is a tenth slower."""


def figures(year: Year, seed: int) -> NDArray[np.float64]:
    """Returns the logarithms of the figures, by series and day."""
    rng = np.random.default_rng(seed)
    shape = year.series, year.days
    if np.isfinite(year.freedom):
        scale = np.sqrt((year.freedom - 2) / year.freedom)
        noise = rng.standard_t(year.freedom, shape) * scale
    else:
        noise = rng.standard_normal(shape)
    for day in range(1, year.days):
        own = np.sqrt(1 - year.correlation**2) * noise[:, day]
        noise[:, day] = year.correlation * noise[:, day - 1] + own
    logs = year.sd * noise + np.log(rng.uniform(1e3, 1e7, year.series))[:, None]
    logs += year.machine_sd * rng.standard_normal(year.days)
    logs += np.log(1.5) * (rng.random(shape) < year.spikes)
    days = np.arange(year.days)
    for step in year.steps:
        logs[step.row] += np.log(step.factor) * (days >= step.day)
    for row, drift in year.drifts.items():
        logs[row] += np.log1p(drift) * days / year.days
    for day in year.bad_days:
        logs[:, day] += np.log(1.25)
    if year.replaced is not None:
        ratios = np.log(0.8) + year.ratios * rng.standard_normal((year.series, 1))
        logs += ratios * (days >= year.replaced)
    if year.shifted is not None:
        logs += np.log(1.1) * (days >= year.shifted)
    return logs


class Day(NamedTuple):
    """Events after the check of a day."""

    day: int
    events: dict[int, Event]
    """By number."""
    checked: Checked
    rows: dict[int, int]
    """Series' row, by its number."""

    def open_rows(self) -> dict[int, Event]:
        """Returns the open losses by their series' row: those with which a check ends with 1."""
        return {
            self.rows[event.series]: event
            for event in self.events.values()
            if event.is_open and event.series is not None and event.is_loss(True)
        }


FACTS = SeriesFacts("op", "ns", MetricKind.WALL)


def check_days(
    year: Year, seed: int, upto: int | None = None, start: int = FEWEST
) -> Iterator[Day]:
    """Yields the events after each day's check, from so many runs on."""
    rng = np.random.default_rng([seed, 1])
    logs = figures(year, seed)
    runs = [
        StoredRun(
            number + 1,
            f"run{number}",
            Commit(f"{number:040x}", position=number, time=DAY * number),
            BRANCH,
            False,
            DAY * number,
            0.0,
            "",
            "",
            {},
        )
        for number in range(year.days)
        if rng.random() >= year.missing
    ]
    days = np.array([run.id - 1 for run in runs])
    values = np.exp(logs[:, days])
    second = year.days if year.replaced is None else year.replaced
    bounds = {"first": (0, int(np.searchsorted(days, second)))}
    bounds["second"] = (bounds["first"][1], len(runs))
    rows = {row + 1 + year.series * n: row for n in range(2) for row in range(year.series)}
    events: dict[int, Event] = {}
    for count in range(start, len(runs) + 1):
        if upto is not None and days[count - 1] >= upto:
            return
        lines = []
        for n, (name, (low, high)) in enumerate(bounds.items()):
            high = min(high, count)
            if high <= low:
                continue
            for row in range(year.series):
                part = values[row, low:high]
                key = SeriesKey(f"case{row}", "time", name)
                where = np.arange(low, high)
                unknown = np.full(part.size, np.nan)
                number = row + 1 + year.series * n
                lines.append(Timeline(number, key, FACTS, where, part, unknown, unknown))
        history = History(runs[:count], lines)
        known = list(events.values())
        checked = check_history(history, BRANCH, Rate(), LIKELIHOOD, known=known)
        for update in checked.updates(known):
            event = update.event
            number = event.id or len(events) + 1
            events[number] = msgspec.structs.replace(event, id=number, by="opperf history check")
        yield Day(int(days[count - 1]), dict(events), checked, rows)
