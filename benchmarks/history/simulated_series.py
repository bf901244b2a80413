"""Histories of many series on a machine, with the noise that benchmarks have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from opperf.history.detection.series import Series, series_of
from opperf.model import Metric, MetricKind

Floats = NDArray[np.float64]

TIME = Metric("time", "ns", MetricKind.WALL, "Time")

MONTH = 200
"""Commits of a month of 30 days: ten on a working day."""

DAY = 86_400.0

FREEDOM = 4.0
"""Degrees of freedom of a point's noise: some one in 250 is beyond four standard deviations."""

CORRELATION = 0.2
"""Between a point's noise and the next one's."""

SPREAD = 0.2
"""Standard deviation of the logarithm of the series' own standard deviations."""

STRAY, STRAY_SIZE = 0.01, 0.10
"""Share of points that something disturbed, and how much longer they took in the mean."""

MACHINE_SD, MACHINE_STRAY, MACHINE_STRAY_SIZE = 0.01, 0.02, 0.05
"""Of a run, in all series alike: docs/measuring.md has 1 % between separate runs. Some runs have a
busy neighbour."""


@dataclass
class Condition:
    """A history to simulate."""

    series: int = 5000
    commits: int = MONTH
    sd: float = 0.011
    """Median over the series of a point's standard deviation, beside stray points."""
    step: float = 0.0
    share: float = 0.01
    """Of the series, that have what is special: a step, a drift, a season."""
    drift: float = 0.0
    """Over a month."""
    season: float = 0.0
    """Amplitude; half of the series have a day's, and half a week's."""
    machine_shift: float = 0.0
    """Of all series, from the middle on."""
    replaced: float = 0.0
    """Standard deviation of the ratios of another machine to the first, from the middle on."""


@dataclass
class History:
    """Logarithms of times, by series and commit; the first series have what is special."""

    logs: Floats
    times: Floats
    environments: NDArray[np.str_]
    special: int
    at: int
    """The commit of a step."""
    runs: NDArray[np.str_] = field(init=False)

    def __post_init__(self) -> None:
        self.runs = np.array([f"run{i}" for i in range(self.times.size)])

    def series(
        self, chosen: Sequence[int] | None = None, commits: int | None = None
    ) -> list[Series]:
        rows = range(len(self.logs)) if chosen is None else chosen
        names = self.environments[:commits]
        return [
            series_of(
                f"{row:05d}",
                TIME,
                positions,
                np.exp(self.logs[row, positions]),
                environment=name,
                runs=self.runs[positions],
                times=self.times[positions],
            )
            for name in dict.fromkeys(names.tolist())
            for positions in [np.flatnonzero(names == name)]
            for row in rows
        ]


def simulate(condition: Condition, seed: int) -> History:
    rng = np.random.default_rng(seed)
    shape = condition.series, condition.commits
    noise = rng.standard_t(FREEDOM, shape) * np.sqrt((FREEDOM - 2) / FREEDOM)
    noise = lfilter([np.sqrt(1 - CORRELATION**2)], [1, -CORRELATION], noise, axis=1)
    own = condition.sd * np.exp(SPREAD * rng.standard_normal(condition.series))
    logs = own[:, None] * noise
    logs += np.log1p((rng.random(shape) < STRAY) * rng.exponential(STRAY_SIZE, shape))
    logs += np.log(rng.uniform(1e3, 1e7, condition.series))[:, None]
    commits = np.arange(condition.commits)
    machine = lfilter([1], [1, -CORRELATION], MACHINE_SD * rng.standard_normal(condition.commits))
    machine += np.log1p(MACHINE_STRAY_SIZE) * (rng.random(condition.commits) < MACHINE_STRAY)
    times = commits * 30 * DAY / MONTH
    special = round(condition.series * condition.share)
    at = condition.commits // 2 + int(rng.integers(-20, 20))
    logs[:special] += np.log1p(condition.step) * (commits >= at)
    logs[:special] += np.log1p(condition.drift) * commits / MONTH
    phase = rng.uniform(0, 2 * np.pi, (special, 1))
    period = np.where(np.arange(special) % 2, DAY, 7 * DAY)[:, None]
    logs[:special] += condition.season * np.sin(2 * np.pi * times / period + phase)
    later = commits >= condition.commits // 2
    machine += np.log1p(condition.machine_shift) * later
    environments = np.full(condition.commits, "one machine")
    if condition.replaced:
        environments = np.where(later, "another machine", environments)
        logs += condition.replaced * rng.standard_normal((condition.series, 1)) * later
    return History(logs + machine, times, environments, special, at)
