"""Figures that may not be what they seem: gains that memory does not allow, as a call that reads
its inputs and writes its outputs takes as long as moving them does, and work that a compiler
removed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

from opperf.comparison.ab.process import key, metric_of, pair_of
from opperf.comparison.ab.session import Session
from opperf.frameworks.base import CPU
from opperf.instruments.times import BACKWARD, FORWARD
from opperf.machine.topology import copy_ns
from opperf.model import REMOVED
from opperf.results.units import time_text
from opperf.statistics.data import Analysis, Verdict
from opperf.statistics.weights import mean_of_logs

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
    return {
        figure: text
        for figure, (moved, ns) in session.closing.moved.items()
        if metric_of(figure) in MOVED
        and (text := _text(metric_of(figure), moved, ns, _time_ns(session, figure)))
    }


def _text(metric: str, moved: int, least_ns: float, time_ns: float) -> str:
    if time_ns <= 0 or time_ns * MARGIN >= least_ns:
        return ""
    return (
        f"implausible: {MOVED[metric].words}, {moved / KIB:,.0f} KiB, in "
        f"{time_text(time_ns)} is {moved / time_ns:,.0f} GB/s, and this machine copies as many at "
        f"{moved / least_ns:,.0f} GB/s; it does less at each call than it seems"
    )


def _time_ns(session: Session, figure: str) -> float:
    """Returns the geometric mean of the medians of B's processes; zero without one."""
    logs = [
        replicate.values[figure]
        for replicate in session.replicates
        if replicate.phase == "comparison" and replicate.arm == "B" and figure in replicate.values
    ]
    return mean_of_logs(logs) if logs else 0.0
