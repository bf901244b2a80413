"""How long a session takes, before and while it is measured."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.compare.ab.measure import WARMING
from opperf.compare.ab.procedure import CANDIDATES, Stage, fixed_stages
from opperf.compare.ab.session import ReplicateLine, SessionHeader, pair_of
from opperf.compare.statistics.blocks import BLOCK
from opperf.compare.statistics.data import Rules
from opperf.errors import UsageError
from opperf.model import Struct
from opperf.results.text import counted, duration


class Forecast(Struct, frozen=True):
    """What processes of a session take."""

    visit_s: dict[str, float]
    """By pair, the seconds of a visit."""
    start_s: float
    """Seconds until a process has started."""
    factor: float = 1.0
    """What processes took, as a multiple of what was expected of them."""

    def stage_s(self, stage: Stage) -> float:
        """Seconds that all of a stage takes."""
        named = {pair_of(figure) for figure in stage.figures} or self.visit_s.keys()
        visits = sum(self.visit_s[name] for name in named)
        return self.factor * BLOCK * stage.n_blocks * (self.start_s + visits)

    def fixed_s(self, rules: Rules) -> float:
        """Seconds of what is measured in any case: control and screen."""
        return sum(map(self.stage_s, fixed_stages(rules)))

    def confirm_s(self, rules: Rules) -> float:
        """Seconds of the confirm blocks, if there are as many candidates as forecast."""
        visits = CANDIDATES * sum(self.visit_s.values())
        return self.factor * BLOCK * rules.confirm_blocks * (self.start_s + visits)


def forecast_of(header: SessionHeader, lines: Iterable[ReplicateLine] = ()) -> Forecast:
    """The forecast of a session, corrected by what its processes have taken so far."""
    expected = taken = 0.0
    for line in lines:
        visited = {pair_of(name) for name in line.replicate.values}
        expected += header.start_s + sum(header.visit_s[name] for name in visited)
        taken += line.wall_s
    return Forecast(header.visit_s, header.start_s, taken / expected if expected else 1.0)


def forecast_text(forecast: Forecast, rules: Rules) -> str:
    """How long the whole session takes, in words."""
    fixed_blocks = rules.control_blocks + rules.screen_blocks
    more = (
        f", and then what is ambiguous, up to {rules.block_cap} blocks"
        if rules.block_cap > rules.confirm_blocks
        else ""
    )
    return (
        f"control and screen, {processes(BLOCK * fixed_blocks)}, "
        f"take about {duration(forecast.fixed_s(rules))}; confirming takes about "
        f"{duration(forecast.confirm_s(rules))} more if one figure in {round(1 / CANDIDATES)} is "
        f"a candidate{more}"
    )


def processes(number: int) -> str:
    """`1 process`, `2 processes`."""
    return "1 process" if number == 1 else f"{number} processes"


def check_budget(
    forecast: Forecast, rules: Rules, case_time_s: float, budget_s: float | None
) -> None:
    """Refuse a session that is expected to take longer than the budget, with what would fit.

    Raises `UsageError`.
    """
    needed = forecast.fixed_s(rules) + forecast.confirm_s(rules)
    if budget_s is None or needed <= budget_s:
        return
    fixed = BLOCK * (rules.control_blocks + rules.screen_blocks)
    sweeps = fixed + CANDIDATES * BLOCK * rules.confirm_blocks
    starting = forecast.start_s * (fixed + BLOCK * rules.confirm_blocks)
    visits = sum(forecast.visit_s.values())
    # What a sweep of all cases may take, and what of it cannot be made shorter.
    sweep_s = (budget_s - starting) / sweeps
    timed_s = WARMING * case_time_s * len(forecast.visit_s)
    fits = [
        counted(int(len(forecast.visit_s) * sweep_s / visits), "case")
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
        + ("" if what else "choose fewer --control-blocks, --screen-blocks and --confirm-blocks")
    )
