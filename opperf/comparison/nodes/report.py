"""The comparison of nodes as a report."""

from __future__ import annotations

import math
from collections.abc import Iterator

from opperf.comparison.nodes.comparing import Kind, NodeComparison
from opperf.comparison.statistics.stragglers import FEWEST, Found
from opperf.plurals import pluralize
from opperf.reports.model import Cell, Column, Report, Section, Table, names, numbers, texts

SHOWN = 20
"""Most nodes of a kind in a table for people, the slowest and those that differ: a screen."""

COLUMNS = ("kind", "node", "ratio", "low", "high", "differs", "cases", "worst", "worst_ratio")


def report_of(compared: NodeComparison, run: str, margin: float) -> Report:
    """Returns the report of a run's nodes."""
    differing = compared.differing
    count = sum(len(kind.nodes) for kind in compared.kinds)
    verb = "differs" if len(differing) == 1 else "differ"
    found = f"{', '.join(node.name for node in differing)} {verb}" if differing else "None differs"
    prose = [
        f"{found} from the other nodes of its kind, of {pluralize(count, 'node')}.",
        "A ratio is the median over the cases of the node's figure to the median of the others'; "
        f"above 1 it is slower. It differs by more than {math.expm1(margin):.0%} where that holds "
        "at a false discovery rate of 5 %. The interval, of 95 %, is by the scatter among nodes.",
    ]
    return Report(
        command="nodes",
        title=f"Nodes of {run}",
        sections=[Section(prose=prose), *map(_kind_section, compared.kinds), *_others(compared)],
        data={
            "run": run,
            "threshold": math.expm1(margin),
            "nodes": [dict(zip(COLUMNS, row, strict=True)) for row in _rows(compared)],
            "not_compared": {kind.name: kind.too_few for kind in compared.kinds if kind.too_few},
            "unmeasured": [node._asdict() for node in compared.unmeasured],
        },
        header=COLUMNS,
        rows=list(_rows(compared)),
    )


def _rows(compared: NodeComparison) -> Iterator[tuple[object, ...]]:
    for kind in compared.kinds:
        yield from ((kind.name, *node) for node in kind.nodes)


def _kind_section(kind: Kind) -> Section:
    if not kind.nodes:
        listed = ", ".join(kind.too_few[:SHOWN])
        few = f"Not compared, as fewer than {FEWEST} have the same cases: {listed}."
        return Section(title=kind.name, prose=[few])
    order = sorted(range(len(kind.nodes)), key=lambda row: not kind.nodes[row].differs)
    shown = [kind.nodes[row] for row in sorted(order[:SHOWN])]
    left = len(kind.nodes) - len(shown)
    table = Table(
        (
            names("Node", [node.name for node in shown]),
            numbers("Ratio", [f"{node.ratio:.3f}" for node in shown]),
            numbers("95 % interval", [f"{node.low:.3f} - {node.high:.3f}" for node in shown]),
            Column("Differs", [_verdict(node) for node in shown], is_whole=True),
            numbers("Cases", [f"{node.cases}" for node in shown]),
            numbers("Largest", [f"{node.worst_ratio:.3f}" for node in shown]),
            texts("Of", [node.worst for node in shown]),
        ),
        more=f"and {pluralize(left, 'node')} more, none of which differs" if left > 0 else "",
    )
    return Section(title=kind.name, table=table)


def _verdict(node: Found) -> Cell:
    if not node.differs:
        return Cell("")
    return Cell("slower", "worse") if node.ratio > 1 else Cell("faster", "better")


def _others(compared: NodeComparison) -> Iterator[Section]:
    if compared.unmeasured:
        yield Section(
            title="Not measured",
            items=[
                f"{node.node}: {pluralize(node.cases, 'case')}; {node.reason}"
                for node in compared.unmeasured
            ],
        )
