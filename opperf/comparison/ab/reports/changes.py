"""The figures of a session, as a page draws them."""

from __future__ import annotations

import math
import shlex
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from opperf.comparison.ab.process import key
from opperf.comparison.ab.report import Report, Row
from opperf.comparison.ab.session import Session
from opperf.comparison.compared import tone_of
from opperf.comparison.results import TITLE, verdict_text
from opperf.comparison.statistics.data import Verdict
from opperf.machine.environment import machine_text
from opperf.model import DIFFERENT
from opperf.reports.model import ChangeRow, Changes, SideSamples

INTERVAL = "90 % interval"
"""Each bound is wrong with a probability of 5 %, `Thresholds.same_level`."""


class Measured(NamedTuple):
    """Samples, commands and machine of a session, for a page."""

    samples: Mapping[str, Sequence[SideSamples]] = MappingProxyType({})
    """The medians of the processes of both arms, by figure."""
    commands: Mapping[str, Sequence[tuple[str, str]]] = MappingProxyType({})
    """By the id of a pair."""
    machine: str = ""


NOTHING = Measured()


def measured_of(session: Session, name: str) -> Measured:
    """Returns what was measured in a session, whose file commands read by this name, if any."""
    medians: dict[str, dict[str, list[float]]] = defaultdict(lambda: {"A": [], "B": []})
    for replicate in session.replicates:
        if replicate.phase == "comparison":
            for figure, value in replicate.values.items():
                if math.isfinite(value):
                    medians[figure][replicate.arm].append(math.exp(value))
    return Measured(
        samples={
            figure: [
                SideSamples(arm, "ns", values, statistics.median(values))
                for arm, values in of_arms.items()
            ]
            for figure, of_arms in medians.items()
            if all(of_arms.values())
        },
        commands={}
        if not name
        else {
            pair.id: [
                (
                    f"Measure it again with {arm}",
                    f"opperf run {shlex.quote(name)} --id {case.id}",
                )
                for arm, case in (("A", pair.a), ("B", pair.b))
            ]
            for pair in session.pairs
        },
        machine="; ".join(dict.fromkeys(map(machine_text, session.environments.values()))),
    )


def changes_of(report: Report, measured: Measured = NOTHING) -> Changes:
    """Returns all figures."""
    return Changes(
        sides=(report.a, report.b),
        threshold=report.threshold,
        same_within=report.same_within,
        detectable=report.detectable,
        rows=[_row(row, measured) for row in report.rows],
        interval=INTERVAL,
        facts=tuple(_sides(report, measured)),
        samples="medians of processes",
    )


def _sides(report: Report, measured: Measured) -> Iterator[tuple[str, str]]:
    yield "A, before", report.a
    yield "B, after", report.b
    yield (
        "Measured",
        ", ".join(filter(None, (report.started, nodes_text(report), measured.machine))),
    )


def nodes_text(report: Report) -> str:
    """Returns the names of the nodes that measured; empty for this machine."""
    if not report.nodes:
        return ""
    return f"{'node' if len(report.nodes) == 1 else 'nodes'} {', '.join(report.nodes)}"


def _row(row: Row, measured: Measured) -> ChangeRow:
    return ChangeRow(
        operator=row.operator,
        inputs=", ".join(filter(None, (row.inputs, row.settings))),
        metric=row.metric,
        verdict=verdict_text(row.verdict, row.results),
        tone="worse" if row.results == DIFFERENT else tone_of(row.verdict),
        finding=_finding(row),
        ratio=row.ratio,
        low=row.low,
        high=row.high,
        detectable=row.detectable,
        facts=tuple(_facts(row)),
        notes=(row.note,) if row.note and row.verdict is not Verdict.MISSING else (),
        samples=measured.samples.get(key(row.id, row.metric), ()),
        commands=measured.commands.get(row.id, ()),
    )


def _finding(row: Row) -> str:
    if row.verdict is Verdict.MISSING:
        return row.note
    return f"{TITLE}: {row.difference}" if row.results == DIFFERENT else ""


def _facts(row: Row) -> Iterator[tuple[str, str]]:
    if row.ratio is not None:
        yield "Blocks", str(row.blocks)
    if row.basis:
        yield "Rests on", row.basis
    if row.p is not None:
        yield "P-value of a change", f"{row.p:.2g}"
    yield "Id", row.id
