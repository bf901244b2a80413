"""The stages of a session, how long they take, before and while they are measured, and what that
time goes to.

The stages are the control, the blocks of the arms from one look to the next, and the coarse look
with all threads. That comes after the first look at the verdicts: a session that is invalid there
wastes no time on it, and one that is interrupted later has it. The next stage is a function of the
replicates so far, so that a resumed session has the stages of an uninterrupted one. It depends only
on blocks that were complete before it began.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_DOWN, Context
from itertools import pairwise
from typing import NamedTuple

import msgspec

from opperf.comparison.ab.arms import COARSE_TIME_S, Order
from opperf.comparison.ab.gate import timed_figures
from opperf.comparison.ab.process import Process, pair_of
from opperf.comparison.ab.rehearsal import WARMUP_FACTOR
from opperf.comparison.ab.session import Session
from opperf.comparison.ab.session_plan import block_size
from opperf.errors import UsageError
from opperf.instruments.compilation import FIRST_CALL
from opperf.model import Place, Record, Struct
from opperf.plurals import pluralize
from opperf.results.text import duration
from opperf.statistics.blocks import by_block, is_complete
from opperf.statistics.data import Analysis, Phase, Replicate, Thresholds
from opperf.statistics.design import FEWEST_BLOCKS, block_order
from opperf.statistics.verdicts import analyse_together, needing_more_blocks

AMBIGUOUS_SHARE = 0.5
"""Share of the figures that a forecast counts as ambiguous after the first look, on average over
the blocks that follow: some half of those that scatter by 4 %, fewer of quieter ones."""


class Stage(NamedTuple):
    """Blocks that are measured before the next look at the data."""

    phase: Phase
    first_block: int
    n_blocks: int
    figures: tuple[str, ...]
    """Those that are measured; empty for all."""

    def places(
        self, seed: int, arms: Sequence[str], done: Iterable[Place] = (), order: Order = "block"
    ) -> Iterator[Place]:
        """Yields its processes in their order, without those that are done; of alternating arms,
        each arm of a process."""
        have = {(place.phase, place.block, place.position) for place in done}
        control = self.phase == "control"
        roles = arms[:2] if control else arms
        for block in range(self.first_block, self.first_block + self.n_blocks):
            turns = enumerate(block_order(seed, self.phase, block, roles))
            for position, role in turns if order == "block" else ((0, role) for role in roles):
                if (self.phase, block, position) not in have:
                    arm = arms[0] if control else role
                    yield Place(self.phase, block, position, arm, role)


def first_stages(thresholds: Thresholds) -> tuple[Stage, Stage, Stage]:
    """Returns the stages that every session has; the last is the coarse look, which has no blocks
    in a session without one."""
    return (
        Stage("control", 0, thresholds.control_blocks, ()),
        Stage("comparison", 0, thresholds.looks[0], ()),
        Stage("coarse", 0, thresholds.coarse_blocks, ()),
    )


def next_stage(
    comparisons: Sequence[Sequence[Replicate]], thresholds: Thresholds, lost: Collection[str] = ()
) -> Stage | None:
    """Returns the first stage that is not complete; None where the session is complete or invalid.
    `comparisons` have the replicates of each comparison of two arms, those of the control in all;
    `lost` are figures that can be measured no more."""
    for stage in first_stages(thresholds):
        if not _is_complete(comparisons, stage):
            if stage.phase != "coarse":
                return stage
            early = analyse_early(comparisons, thresholds, thresholds.looks[0])
            return stage if all(analysis.valid for analysis in early) else None
    for taken, following in pairwise(thresholds.looks):
        early = analyse_early(comparisons, thresholds, taken)
        left = dict.fromkeys(
            figure for analysis in early for figure in needing_more_blocks(analysis)
        )
        figures = tuple(figure for figure in left if figure not in lost)
        if not all(analysis.valid for analysis in early) or not figures:
            return None
        stage = Stage("comparison", taken, following - taken, figures)
        if not _is_complete(comparisons, stage):
            return stage
    return None


def analyse_early(
    comparisons: Iterable[Iterable[Replicate]], thresholds: Thresholds, n_blocks: int
) -> list[Analysis]:
    """Returns the analyses after this number of blocks."""
    seen = [
        [
            replicate
            for replicate in replicates
            if replicate.phase != "comparison" or replicate.block < n_blocks
        ]
        for replicates in comparisons
    ]
    return analyse_together(seen, thresholds)


def _is_complete(comparisons: Iterable[Iterable[Replicate]], stage: Stage) -> bool:
    blocks = range(stage.first_block, stage.first_block + stage.n_blocks)
    return all(
        is_complete(found.get(block, {}))
        for replicates in comparisons
        for found in [by_block(replicates, stage.phase)]
        for block in blocks
    )


def block_of(place: Place) -> object:
    """Returns what the processes of the same workers have in common. The coarse look has two for
    all its blocks: layouts differ by a percent or two, which is nothing beside its threshold."""
    return place.phase if place.phase == "coarse" else (place.phase, place.block)


class Forecast(Struct, frozen=True):
    """How long the processes of a session take."""

    visit_s: dict[str, float]
    start_s: float
    """Of the first process of a block: the workers of its arms start together."""
    later_start_s: float
    """Of another one of the block."""
    factor: float = 1.0
    """Measured time of processes so far, as a multiple of the expected."""
    coarse_saving_s: float = 0.0
    """Seconds by which the coarse look's time of a case is shorter."""
    n_arms: int = 2
    order: Order = "block"

    def starts_s(self, phase: str) -> float:
        """Seconds of the starts of a block."""
        if self.order == "alternate":
            return self.later_start_s
        return self.start_s + (self.size(phase) - 1) * self.later_start_s

    def size(self, phase: str) -> int:
        """Visits of a case in a block."""
        return block_size(phase, self.n_arms, self.order)

    def stage_s(self, stage: Stage) -> float:
        named = {pair_of(figure) for figure in stage.figures} or self.visit_s.keys()
        size = self.size(stage.phase)
        visits_s = size * self.visits_s(stage.phase, named)
        starts = 1 if stage.phase == "coarse" and stage.n_blocks else stage.n_blocks
        starts_s = starts * self.starts_s(stage.phase)
        each = size if self.order == "block" else 1
        starts_s += (stage.n_blocks - starts) * each * self.later_start_s
        return self.factor * (starts_s + stage.n_blocks * visits_s)

    def visits_s(self, phase: str, pairs: Collection[str]) -> float:
        saving_s = self.coarse_saving_s if phase == "coarse" else 0.0
        return sum(self.visit_s[name] - saving_s for name in pairs)

    def later_s(self, stage: Stage, thresholds: Thresholds) -> float:
        """Seconds of the stages that follow one in every session."""
        stages = first_stages(thresholds)
        return sum(map(self.stage_s, stages[stages.index(stage) + 1 :] if stage in stages else ()))

    def first_look_s(self, thresholds: Thresholds) -> float:
        """Seconds of the control and of the blocks up to the first look."""
        return sum(map(self.stage_s, first_stages(thresholds)[:2]))

    def rest_s(self, thresholds: Thresholds) -> float:
        """Seconds of the blocks after the first look, up to the cap."""
        visits = AMBIGUOUS_SHARE * sum(self.visit_s.values())
        blocks = thresholds.block_cap - thresholds.looks[0]
        phase = "comparison"
        return self.factor * blocks * (self.starts_s(phase) + self.size(phase) * visits)

    def total_s(self, thresholds: Thresholds) -> float:
        return sum(map(self.stage_s, first_stages(thresholds))) + self.rest_s(thresholds)


TWO_DIGITS = Context(prec=2, rounding=ROUND_DOWN)
"""A time that is rounded up would not fit into the budget."""


def forecast_of(session: Session, times: Mapping[str, float] | None = None) -> Forecast:
    """Returns the forecast of a session, scaled to the time that it has taken so far. `times` are
    the seconds that a stage has for pairs, where they are not the session's."""
    plan = session.plan
    case_time_s = session.selection.settings.max_time_s or 0.0
    timed = {pair_of(figure) for figure in timed_figures(session)}
    visit_s = {group: seconds for group, seconds in plan.visit_s.items() if group in timed}
    found = Forecast(
        visit_s,
        plan.start_s,
        plan.later_start_s,
        coarse_saving_s=coarse_saving_s(case_time_s),
        n_arms=len(plan.arms),
        order=plan.order,
    )
    expected = taken = 0.0
    started: set[object] = set()
    for process in session.processes:
        place = process.line.place
        is_early = place.phase != "comparison" or place.block < plan.thresholds.looks[0]
        if plan.allocates and not is_early:
            # Its cases had times of their own.
            continue
        start_s = plan.later_start_s if block_of(place) in started else plan.start_s
        started.add(block_of(place))
        visited = {pair_of(name) for name in process.values}
        expected += start_s + found.visits_s(place.phase, visited)
        taken += process.line.wall_s
    visit_s = plan.visit_s | {
        name: plan.visit_s[name] + WARMUP_FACTOR * (seconds - case_time_s)
        for name, seconds in (times or {}).items()
    }
    factor = taken / expected if expected else 1.0
    return msgspec.structs.replace(found, visit_s=visit_s, factor=factor)


def coarse_saving_s(case_time_s: float) -> float:
    """Seconds by which a case takes less time in the coarse look than elsewhere."""
    return WARMUP_FACTOR * max(0.0, case_time_s - COARSE_TIME_S)


def forecast_text(forecast: Forecast, thresholds: Thresholds) -> str:
    """The duration of the whole session, as a sentence."""
    first, coarse, rest = _process_counts(forecast, thresholds)
    text = (
        f"{pluralize(first, 'process')} up to the first look take about "
        f"{duration(forecast.first_look_s(thresholds))}"
    )
    if coarse:
        coarse_s = forecast.stage_s(first_stages(thresholds)[2])
        text += f", {coarse} with all threads about {duration(coarse_s)}"
    if not rest:
        return text
    return (
        f"{text}; ambiguous cases then take up to {pluralize(rest, 'process')} more, about "
        f"{duration(forecast.rest_s(thresholds))}"
    )


def check_budget(
    forecast: Forecast, thresholds: Thresholds, case_time_s: float, budget_s: float | None
) -> None:
    """Raises `UsageError`, with what would fit, for a session beyond the budget."""
    needed = forecast.total_s(thresholds)
    if budget_s is None or needed <= budget_s:
        return
    fitting = " or ".join(_what_fits(forecast, thresholds, case_time_s, budget_s))
    advice = f"{fitting} would fit" if fitting else "choose fewer cases and fewer --blocks"
    raise UsageError(
        f"the session would take about {duration(needed)} and --budget allows "
        f"{duration(budget_s)}: {advice}"
    )


def _what_fits(
    forecast: Forecast, thresholds: Thresholds, case_time_s: float, budget_s: float
) -> list[str]:
    first, coarse, rest = _process_counts(forecast, thresholds)
    cases, needed = len(forecast.visit_s), forecast.total_s(thresholds)
    each = forecast.size("comparison") if forecast.order == "block" else 1
    a_start_s = forecast.starts_s("comparison") / each
    starts_s = a_start_s * (first + coarse + rest)
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


def first_processes(thresholds: Thresholds, n_arms: int, order: Order) -> int:
    """Returns the processes up to the first look."""
    return sum(
        stage.n_blocks * (block_size(stage.phase, n_arms) if order == "block" else 1)
        for stage in first_stages(thresholds)[:2]
    )


def _process_counts(forecast: Forecast, thresholds: Thresholds) -> tuple[int, int, int]:
    """Returns the processes up to the first look, of the coarse look, and of what follows."""
    size = forecast.size("comparison") if forecast.order == "block" else 1
    rest = thresholds.block_cap - thresholds.looks[0]
    first = first_processes(thresholds, forecast.n_arms, forecast.order)
    return first, size * thresholds.coarse_blocks, size * rest


NS_PER_S = 1e9

STARTS = "starting processes and importing"
SAMPLES, WARMUP, COMPILATION, REST = (
    "samples",
    "warmup",
    "compilation",
    "inputs, first use and the rest",
)
"""Parts of the time of a process; the first is what none of its cases took."""


def parts_of(records: Iterable[Record]) -> dict[str, float]:
    """Returns the seconds that cases took, by part."""
    found = dict.fromkeys((SAMPLES, WARMUP, COMPILATION, REST), 0.0)
    for record in records:
        sampled_s = sum(waits.wall_s for waits in record.waits.values())
        first = record.summaries.get(FIRST_CALL.name)
        compiled_s = min(first.median / NS_PER_S if first else 0.0, record.busy_s)
        found[SAMPLES] += sampled_s
        found[COMPILATION] += compiled_s
        found[WARMUP] += max(0.0, record.busy_s - sampled_s - compiled_s)
        found[REST] += max(0.0, record.wall_s - max(record.busy_s, sampled_s))
    return {part: seconds for part, seconds in found.items() if seconds}


def spent(processes: Sequence[Process]) -> str:
    """Returns what the time of all processes went to, in a sentence, the largest part first."""
    total_s = sum(process.line.wall_s for process in processes)
    found = parts_of(record for process in processes for record in process.records)
    found[STARTS] = max(0.0, total_s - sum(found.values()))
    parts = sorted(found.items(), key=lambda part: -part[1])
    shares = ", ".join(f"{part} {seconds / total_s:.0%}" for part, seconds in parts if total_s)
    return f"the processes took {duration(total_s)}: {shares}" if shares else ""
