"""Figures that no process's times decide: of slow cases, which the rehearsal has decided, and those
that B lacks and A has, although both had them when the session began."""

from __future__ import annotations

from collections.abc import Iterator

from opperf.comparison.ab.process import key
from opperf.comparison.ab.session import Session
from opperf.comparison.ab.slow_calls import CALL_FREEDOM, CALL_SCATTER, NS_PER_S, is_same
from opperf.results.units import time_text
from opperf.statistics.data import CaseVerdict, Verdict


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
