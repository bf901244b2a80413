"""Findings on figures of a session besides the verdicts on their times.

Figures that no process's times decide: of slow cases, which the rehearsal has decided, and those
that B lacks and A has, although both had them when the session began. Figures that may not be what
they seem: gains that memory does not allow, as a call that reads its inputs and writes its outputs
takes as long as moving them does, and work that a compiler removed. And the totals of all calls.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.process import key, metric_of, pair_of
from opperf.comparison.ab.session import Session
from opperf.comparison.ab.slow_calls import CALL_FREEDOM, CALL_SCATTER, NS_PER_S, is_same
from opperf.frameworks.base import CPU
from opperf.instruments.times import BACKWARD, FORWARD
from opperf.machine.topology import copy_ns
from opperf.model import PASSES, REMOVED
from opperf.results.units import time_text
from opperf.statistics.data import Analysis, Arm, CaseVerdict, Verdict
from opperf.statistics.weights import Weighed, Weighted, mean_of_logs, weigh


def _call_ns(session: Session, arm: Arm) -> dict[str, float]:
    """Returns the geometric mean over an arm's processes of their medians, by figure."""
    logs: dict[str, list[float]] = {}
    for replicate in session.replicates:
        if replicate.phase == "comparison" and replicate.arm == arm:
            for name, value in replicate.values.items():
                if math.isfinite(value):
                    logs.setdefault(name, []).append(value)
    return {name: mean_of_logs(found) for name, found in logs.items()}


def decided_verdicts(session: Session) -> Iterator[CaseVerdict]:
    """Yields the verdicts of the rehearsal."""
    for group, pair in session.plan.slow.items():
        for metric in pair.decided:
            effect, low, high = pair.effect(metric)
            times = (
                f"{time_text(NS_PER_S * calls.seconds[metric])} in {arm}"
                for arm, calls in pair.arms.items()
            )
            yield CaseVerdict(
                key(group, metric),
                _verdict(effect),
                effect=effect,
                low=low,
                high=high,
                note=f"decided by single calls: {', '.join(times)}",
                error=CALL_SCATTER,
                freedom=CALL_FREEDOM,
            )


def _verdict(effect: float) -> Verdict:
    if is_same(effect):
        return Verdict.SAME
    return Verdict.REGRESSED if effect > 0 else Verdict.IMPROVED


def missing_figures(session: Session) -> dict[str, str]:
    """Returns why the second arm has no figure, by figure: the case failed in some of its
    processes, with all threads too, and in none of the first arm's, or a pass has a figure in none
    of its processes."""
    first, second = session.arms[:2]
    failed: dict[str, dict[str, str]] = {first: {}, second: {}}
    valued: dict[str, set[str]] = {first: set(), second: set()}
    without: dict[str, str] = {}
    for process in session.processes:
        place = process.line.place
        if place.arm not in failed:
            continue
        valued[place.arm] |= process.values.keys()
        for record in process.records:
            group = session.group_of[record.id]
            why = record.why_without_figures
            if why:
                when = "with all threads: " if place.phase == "coarse" else ""
                failed[place.arm].setdefault(group, f"{when}{why}")
            elif place.arm == second and group in process.lost:
                names = (key(group, metric) for metric in record.case.passes)
                without |= dict.fromkeys(names, process.lost[group].reason)
    whole = {
        key(pair.id, metric): f"{second}: {failed[second][pair.id]}"
        for pair in session.pairs
        if pair.id in failed[second] and pair.id not in failed[first]
        for metric in pair.a.passes
    }
    only = valued[first] - valued[second]
    return {name: why for name, why in without.items() if name in only} | whole


KIB = 1024

MARGIN = 3.0
"""Times as fast as a copy that a call may be: reading alone is up to twice as fast as reading and
writing, and the machine may be disturbed while it copies."""


class Moved(NamedTuple):
    """The bytes that a pass has to move."""

    field: str
    """Of a record."""
    words: str


MOVED: Mapping[str, Moved] = {
    FORWARD.name: Moved("moved_bytes", "reading its inputs and writing its outputs"),
    BACKWARD.name: Moved(
        "moved_backward_bytes",
        "reading the gradients of its outputs and writing those of its inputs",
    ),
}


def moved_by_gains(
    session: Session, analysis: Analysis, copy: Callable[[int], float] = copy_ns
) -> dict[str, tuple[int, float]]:
    """Returns the bytes that the calls of B have to move, and the nanoseconds of copying as many,
    of the figures with a gain on the CPU."""
    second = session.arms[1]
    found: dict[str, tuple[int, float]] = {}
    for verdict in analysis.verdicts:
        group, metric = pair_of(verdict.case), metric_of(verdict.case)
        if verdict.verdict is not Verdict.IMPROVED or metric not in MOVED:
            continue
        settings = session.cases_of(second)[group].settings
        moved = max(
            (
                getattr(record, MOVED[metric].field)
                for process in session.processes
                for record in process.records
                if process.line.place.arm == second and session.group_of[record.id] == group
            ),
            default=0,
        )
        if moved and settings.device.startswith(CPU.partition("(")[0]):
            cores = settings.threads or os.cpu_count() or 1
            found[verdict.case] = moved, copy(moved) / cores
    return found


def doubts(session: Session) -> dict[str, str]:
    """Returns why figures are doubtful, by figure."""
    found = implausible_gains(session)
    for figure, removed in removed_work(session).items():
        found[figure] = "; ".join(filter(None, (found.get(figure), removed)))
    return found


def removed_work(session: Session) -> dict[str, str]:
    """Returns what compilers removed of the arms' work, by figure."""
    found: dict[str, dict[str, str]] = {}
    for process in session.processes:
        for record in process.records:
            for note in record.notes:
                if note.code in REMOVED:
                    figure = key(session.group_of[record.id], note.metric)
                    found.setdefault(figure, {})[process.line.place.arm] = note.message
    return {
        figure: "; ".join(f"{arm}: {message}" for arm, message in sorted(by_arm.items()))
        for figure, by_arm in found.items()
    }


def implausible_gains(session: Session) -> dict[str, str]:
    """Returns what to say of gains beyond what memory allows, by figure."""
    if session.closing is None:
        return {}
    times = _call_ns(session, "B")
    return {
        figure: f"implausible: {MOVED[metric_of(figure)].words}, {moved / KIB:,.0f} KiB, in "
        f"{time_text(ns)} is {moved / ns:,.0f} GB/s, and this machine copies as many at "
        f"{moved / least_ns:,.0f} GB/s; it does less at each call than it seems"
        for figure, (moved, least_ns) in session.closing.moved.items()
        if metric_of(figure) in MOVED and 0 < (ns := times.get(figure, 0.0)) * MARGIN < least_ns
    }


def weigh_session(session: Session, analysis: Analysis) -> Weighted:
    """Returns the totals of the pairs that have a ratio, and the same results. The time of a call
    is the sum of its passes: of A, the geometric mean over the processes of their medians; of B,
    that times the ratio of the verdict, from which the core's speed is subtracted."""
    different = (key(name, metric) for name in session.different for metric in PASSES)
    left_out = {*missing_figures(session), *different}
    ratios = {
        verdict.case: verdict.ratio
        for verdict in analysis.verdicts
        if verdict.ratio is not None and verdict.case not in left_out
    }
    times, pairs = _call_ns(session, "A"), session.pairs
    weighed = [found for pair in pairs for found in _weighed(pair, times, ratios)]
    measured = {metric for pair in pairs for metric in PASSES if key(pair.id, metric) in ratios}
    return weigh(
        weighed,
        metrics=[metric for metric in PASSES if metric in measured],
        unmeasured_calls=sum(pair.a.count for pair in pairs)
        - sum(found.base_calls for found in weighed),
    )


def _weighed(pair: Pair, times: dict[str, float], ratios: dict[str, float]) -> Iterator[Weighed]:
    names = [name for metric in PASSES if (name := key(pair.id, metric)) in ratios]
    if names:
        yield Weighed(
            operator=pair.label,
            base_calls=pair.a.count,
            new_calls=pair.b.count,
            base_ns=math.fsum(times[name] for name in names),
            new_ns=math.fsum(times[name] * ratios[name] for name in names),
        )
