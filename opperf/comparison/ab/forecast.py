"""How long a session takes, before and while it is measured."""

from __future__ import annotations

from collections.abc import Collection
from decimal import ROUND_DOWN, Context

import msgspec

from opperf.comparison.ab.procedure import AMBIGUOUS_SHARE, Stage, coarse_stage, fixed_stages
from opperf.comparison.ab.rehearsal import WARMUP_FACTOR
from opperf.comparison.ab.session import Session, pair_of
from opperf.comparison.ab.threads import coarse_time_s
from opperf.comparison.statistics.blocks import BLOCK
from opperf.comparison.statistics.data import Thresholds
from opperf.comparison.statistics.design import FEWEST_BLOCKS
from opperf.errors import UsageError
from opperf.model import Struct
from opperf.plurals import pluralize
from opperf.results.text import duration

ARMS = 2
"""Arms of a block, each of which has a first process."""


class Forecast(Struct, frozen=True):
    """How long the processes of a session of two arms take."""

    visit_s: dict[str, float]
    """Seconds that a process takes for a pair, by pair."""
    start_s: float
    """Seconds until the first process of an arm in a block has started."""
    later_start_s: float
    """Seconds until another one of the arm in the block has started."""
    factor: float = 1.0
    """Measured time of processes so far, as a multiple of the expected."""
    coarse_saving_s: float = 0.0
    """Seconds by which the coarse look's time of a case is shorter."""

    @property
    def starts_s(self) -> float:
        """Seconds until the processes of a block have started."""
        return ARMS * self.start_s + (BLOCK - ARMS) * self.later_start_s

    def stage_s(self, stage: Stage) -> float:
        """Seconds that all of a stage takes."""
        named = {pair_of(figure) for figure in stage.figures} or self.visit_s.keys()
        visits_s = BLOCK * self.visits_s(stage.phase, named)
        return self.factor * stage.n_blocks * (self.starts_s + visits_s)

    def visits_s(self, phase: str, pairs: Collection[str]) -> float:
        """Expected seconds that a process takes for these pairs."""
        saving_s = self.coarse_saving_s if phase == "coarse" else 0.0
        return sum(self.visit_s[name] - saving_s for name in pairs)

    def later_s(self, stage: Stage, thresholds: Thresholds) -> float:
        """Seconds of the stages that follow one in every session."""
        coarse = coarse_stage(thresholds)
        stages = [*fixed_stages(thresholds), coarse]
        if stage not in stages:
            return 0.0
        return sum(map(self.stage_s, stages[stages.index(stage) + 1 :]))

    def first_look_s(self, thresholds: Thresholds) -> float:
        """Seconds of the stages that every session has: the control, and the blocks up to the
        first look."""
        return sum(map(self.stage_s, fixed_stages(thresholds)))

    def rest_s(self, thresholds: Thresholds) -> float:
        """Seconds of the blocks after the first look, up to the cap."""
        visits = AMBIGUOUS_SHARE * sum(self.visit_s.values())
        blocks = thresholds.block_cap - thresholds.looks[0]
        return self.factor * blocks * (self.starts_s + BLOCK * visits)

    def total_s(self, thresholds: Thresholds) -> float:
        """Seconds of the whole session."""
        return sum(
            (
                self.first_look_s(thresholds),
                self.stage_s(coarse_stage(thresholds)),
                self.rest_s(thresholds),
            )
        )


TWO_DIGITS = Context(prec=2, rounding=ROUND_DOWN)
"""A time that is rounded up would not fit into the budget."""


def forecast_of(session: Session) -> Forecast:
    """Returns the forecast of a session, scaled to the time that its processes have taken so
    far."""
    plan = session.plan
    case_time_s = session.selection.settings.max_time_s or 0.0
    found = Forecast(
        plan.visit_s,
        plan.start_s,
        plan.later_start_s,
        coarse_saving_s=coarse_saving_s(case_time_s),
    )
    expected = taken = 0.0
    started: set[tuple[str, int, str]] = set()
    for process in session.processes:
        place = process.line.place
        worker = place.phase, place.block, place.role
        start_s = plan.later_start_s if worker in started else plan.start_s
        started.add(worker)
        visited = {pair_of(name) for name in process.values}
        expected += start_s + found.visits_s(place.phase, visited)
        taken += process.line.wall_s
    return msgspec.structs.replace(found, factor=taken / expected) if expected else found


def coarse_saving_s(case_time_s: float) -> float:
    """Seconds by which a case takes less time in the coarse look than elsewhere."""
    return WARMUP_FACTOR * (case_time_s - coarse_time_s(case_time_s))


def forecast_text(forecast: Forecast, thresholds: Thresholds) -> str:
    """The duration of the whole session, as a sentence."""
    first, coarse, rest = _process_counts(thresholds)
    text = (
        f"{processes(first)} up to the first look take about "
        f"{duration(forecast.first_look_s(thresholds))}"
    )
    if coarse:
        coarse_s = forecast.stage_s(coarse_stage(thresholds))
        text += f", {coarse} with all threads about {duration(coarse_s)}"
    if not rest:
        return text
    return (
        f"{text}; ambiguous cases then take up to {processes(rest)} more, about "
        f"{duration(forecast.rest_s(thresholds))}"
    )


def processes(number: int) -> str:
    """`1 process`, `2 processes`."""
    return "1 process" if number == 1 else f"{number} processes"


def check_budget(
    forecast: Forecast, thresholds: Thresholds, case_time_s: float, budget_s: float | None
) -> None:
    """Raises `UsageError` for a session that is expected to take longer than the budget, with a
    number of cases, of seconds for each, and of blocks that would fit."""
    needed = forecast.total_s(thresholds)
    if budget_s is None or needed <= budget_s:
        return
    advice = _what_fits(forecast, thresholds, case_time_s, budget_s)
    raise UsageError(
        f"the session would take about {duration(needed)} and --budget allows "
        f"{duration(budget_s)}: "
        + (
            f"{' or '.join(advice)} would fit"
            if advice
            else "choose fewer cases and fewer --blocks"
        )
    )


def _what_fits(
    forecast: Forecast, thresholds: Thresholds, case_time_s: float, budget_s: float
) -> list[str]:
    """Changes of a session, each of which makes it fit into the budget."""
    first, coarse, rest = _process_counts(thresholds)
    cases, needed = len(forecast.visit_s), forecast.total_s(thresholds)
    starts_s = forecast.starts_s / BLOCK * (first + coarse + rest)
    fitting_cases = int(cases * (budget_s - starts_s) / (needed - starts_s))
    # The seconds of the session for each second of --case-time, which does not change the time of
    # a case in the coarse look.
    rate = WARMUP_FACTOR * cases * (first + AMBIGUOUS_SHARE * rest)
    fitting_s = case_time_s - (needed - budget_s) / rate
    advice: list[str] = []
    if fitting_cases >= 1:
        advice.append(f"{pluralize(fitting_cases, 'case')} of {cases}")
    if fitting_s > 0:
        advice.append(f"--case-time {float(TWO_DIGITS.create_decimal(fitting_s)):g}")
    without_coarse = msgspec.structs.replace(thresholds, coarse_blocks=0)
    if coarse and forecast.total_s(without_coarse) <= budget_s:
        advice.append("--threads without all")
    for blocks in range(thresholds.block_cap - 1, FEWEST_BLOCKS - 1, -1):
        fewer = msgspec.structs.replace(thresholds, block_cap=blocks)
        if forecast.total_s(fewer) <= budget_s:
            return [*advice, f"{blocks} blocks at most"]
    return advice


def _process_counts(thresholds: Thresholds) -> tuple[int, int, int]:
    """The number of processes up to the first look, of the coarse look, and of what follows."""
    first = thresholds.control_blocks + thresholds.looks[0]
    rest = thresholds.block_cap - thresholds.looks[0]
    return BLOCK * first, BLOCK * thresholds.coarse_blocks, BLOCK * rest
