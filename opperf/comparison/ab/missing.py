"""Figures that B lacks and A has, although both had them when the session began."""

from __future__ import annotations

from opperf.comparison.ab.process import key
from opperf.comparison.ab.session import Session
from opperf.results.verifications import why_without_figures


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
            why = why_without_figures(record)
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
