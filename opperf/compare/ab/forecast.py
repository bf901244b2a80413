"""How long a session takes, before and while it is measured."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.compare.ab.measure import WARMUP_FACTOR
from opperf.compare.ab.procedure import UNDECIDED, Stage, fixed_stages
from opperf.compare.ab.session import ReplicateLine, SessionHeader, pair_of
from opperf.compare.statistics.blocks import BLOCK
from opperf.compare.statistics.data import Thresholds
from opperf.errors import UsageError
from opperf.model import Struct
from opperf.results.text import duration, pluralize


class Forecast(Struct, frozen=True):
    """How long the processes of a session take."""

    visit_s: dict[str, float]
    """Seconds that a process takes for a pair, by pair."""
    start_s: float
    """Seconds until a process has started."""
    factor: float = 1.0
    """Measured time of processes so far, as a multiple of the expected."""

    def stage_s(self, stage: Stage) -> float:
        """Seconds that all of a stage takes."""
        named = {pair_of(figure) for figure in stage.figures} or self.visit_s.keys()
        visits = sum(self.visit_s[name] for name in named)
        return self.factor * BLOCK * stage.n_blocks * (self.start_s + visits)

    def first_look_s(self, thresholds: Thresholds) -> float:
        """Seconds of the stages that every session has: the control, and the blocks up to the
        first look."""
        return sum(map(self.stage_s, fixed_stages(thresholds)))

    def rest_s(self, thresholds: Thresholds) -> float:
        """Seconds of the blocks after the first look, up to the cap."""
        visits = UNDECIDED * sum(self.visit_s.values())
        blocks = thresholds.block_cap - thresholds.looks[0]
        return self.factor * BLOCK * blocks * (self.start_s + visits)


def forecast_of(header: SessionHeader, lines: Iterable[ReplicateLine] = ()) -> Forecast:
    """The forecast of a session, scaled to the time that its processes have taken so far."""
    expected = taken = 0.0
    for line in lines:
        visited = {pair_of(name) for name in line.replicate.values}
        expected += header.start_s + sum(header.visit_s[name] for name in visited)
        taken += line.wall_s
    return Forecast(header.visit_s, header.start_s, taken / expected if expected else 1.0)


def forecast_text(forecast: Forecast, thresholds: Thresholds) -> str:
    """The duration of the whole session, as a sentence."""
    first = BLOCK * (thresholds.control_blocks + thresholds.looks[0])
    rest = BLOCK * (thresholds.block_cap - thresholds.looks[0])
    text = (
        f"{processes(first)} up to the first look take about "
        f"{duration(forecast.first_look_s(thresholds))}"
    )
    if not rest:
        return text
    return (
        f"{text}; what is undecided then takes up to {processes(rest)} more, about "
        f"{duration(forecast.rest_s(thresholds))}"
    )


def processes(number: int) -> str:
    """`1 process`, `2 processes`."""
    return "1 process" if number == 1 else f"{number} processes"


def check_budget(
    forecast: Forecast, thresholds: Thresholds, case_time_s: float, budget_s: float | None
) -> None:
    """Raises `UsageError` for a session that is expected to take longer than the budget, with a
    number of cases and a time for each that would fit."""
    needed = forecast.first_look_s(thresholds) + forecast.rest_s(thresholds)
    if budget_s is None or needed <= budget_s:
        return
    first = BLOCK * (thresholds.control_blocks + thresholds.looks[0])
    rest = BLOCK * (thresholds.block_cap - thresholds.looks[0])
    sweeps = first + UNDECIDED * rest
    starting = forecast.start_s * (first + rest)
    visits = sum(forecast.visit_s.values())
    # The seconds that a sweep of all cases may take, and those of it that --case-time changes.
    sweep_s = (budget_s - starting) / sweeps
    timed_s = WARMUP_FACTOR * case_time_s * len(forecast.visit_s)
    fits = [
        pluralize(int(len(forecast.visit_s) * sweep_s / visits), "case")
        + f" of {len(forecast.visit_s)}"
        if sweep_s >= visits / len(forecast.visit_s)
        else "",
        f"--case-time {case_time_s * (1 - (visits - sweep_s) / timed_s):.2g}"
        if visits - sweep_s < timed_s
        else "",
    ]
    what = " or ".join(text for text in fits if text)
    raise UsageError(
        f"the session would take about {duration(needed)} and --budget allows "
        f"{duration(budget_s)}: "
        + (f"{what} would fit" if what else "starting its processes alone takes longer; ")
        + ("" if what else "choose fewer --blocks")
    )
