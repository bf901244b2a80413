"""How long the processes of a stage measure each case: the session's time at first, and after the
first look what its scatter deserves.

A function of the processes before the stage, so that a resumed session has the same times."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import median

from opperf.comparison.ab.forecast import Stage, analyse_early
from opperf.comparison.ab.process import Process, key, pair_of
from opperf.comparison.ab.session import Session
from opperf.defaults import LONGEST_VISIT_S, SHORTEST_VISIT_S
from opperf.results.figures import NORMAL_95, CaseFigures
from opperf.statistics.design import LEAST_SHARE, best_seconds


def visit_times(session: Session, stage: Stage) -> dict[str, float]:
    """Returns the seconds of each pair that this stage measures for another time than the
    session's; none up to the first look, and where the user set the time."""
    if not session.plan.allocates or stage.phase != "comparison" or not stage.first_block:
        return {}
    before = [
        process
        for process in session.processes
        for phase, block in [process.block]
        if phase == "control" or (phase == "comparison" and block < stage.first_block)
    ]
    variances = _visit_variances(session, stage.first_block)
    sampled, cost_s = _sampled(session, before), _fixed_cost(before)
    found: dict[str, float] = defaultdict(float)
    for figure, (sample_variance, own) in sampled.items():
        if figure in variances and figure in stage.figures:
            whole = variances[figure]
            between = max(whole - own, LEAST_SHARE * whole)
            seconds = best_seconds(cost_s, sample_variance, between)
            name = pair_of(figure)
            found[name] = max(found[name], seconds)
    passes = Counter(map(pair_of, stage.figures))
    # The passes of a case share its time.
    return {
        name: min(max(passes[name] * seconds, SHORTEST_VISIT_S), LONGEST_VISIT_S)
        for name, seconds in found.items()
    }


def _visit_variances(session: Session, n_blocks: int) -> dict[str, float]:
    """Returns by figure the variance of a visit, of the noisiest arms where there are several: a
    block's effect, of two visits of either arm, has that of one."""
    found: dict[str, float] = {}
    for analysis in analyse_early(session.comparisons, session.plan.thresholds, n_blocks):
        for verdict in analysis.verdicts:
            if verdict.error is not None:
                variance = verdict.error**2 * verdict.n_blocks
                found[verdict.case] = max(found.get(verdict.case, 0.0), variance)
    return found


def _sampled(session: Session, processes: Sequence[Process]) -> dict[str, tuple[float, float]]:
    """Returns by figure the variance within a process: times the seconds sampled, and as it was;
    medians over the processes."""
    kept: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for process in processes:
        for record in process.records:
            name = session.group_of[record.id]
            for metric, waits in record.waits.items():
                found = CaseFigures(record).of(metric)
                if found is None or not found.median > 0:
                    continue
                width = found.summary.ci_high - found.summary.ci_low
                error = width / (2 * NORMAL_95 * found.median)
                kept[key(name, metric)].append((error**2 * waits.wall_s, error**2))
    return {
        figure: (median(rate for rate, _ in own), median(now for _, now in own))
        for figure, own in kept.items()
    }


def _fixed_cost(processes: Sequence[Process]) -> float:
    """Returns the seconds of a visit that are no samples, the start of its process included."""
    visits = sum(len(process.records) for process in processes)
    sampled_s = sum(
        waits.wall_s
        for process in processes
        for record in process.records
        for waits in record.waits.values()
    )
    spent_s = sum(process.line.wall_s for process in processes)
    return max(0.0, spent_s - sampled_s) / max(visits, 1)
