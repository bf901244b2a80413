"""Nodes of a cluster, those of each kind compared with each other by the cases that each has
measured."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

import msgspec

from opperf.comparison.compared import ComparedRow, Comparison, Side, ratio_text
from opperf.comparison.sections import RowGroup, Telling
from opperf.errors import RunFileError
from opperf.model import Environment, Metric, MetricKind, Record, Run, identity_of
from opperf.plurals import pluralize
from opperf.reports.model import Section
from opperf.results.figures import CaseFigures
from opperf.results.settings import changed_settings_text
from opperf.results.text import inputs_text
from opperf.statistics.data import Verdict
from opperf.statistics.stragglers import FEWEST, Found, find_stragglers

FIGURES = "figures"
"""The metric of a node's row: of all its figures."""

VERDICTS = {Verdict.REGRESSED: "slower", Verdict.IMPROVED: "faster", Verdict.NO_CLEAR_CHANGE: ""}
"""Verdicts of nodes, and what tables call them."""

CHANGED = (Verdict.REGRESSED.value, Verdict.IMPROVED.value)
"""Findings of a strict comparison."""

SHOWN = 20
"""Most nodes of a kind in a table for people, the slowest and those that differ: a screen."""


def compare_nodes(
    run: Run, threshold: float, metrics: Sequence[str] = (), fail_on: tuple[str, ...] = ()
) -> Comparison:
    """Returns the nodes of a run by the cases that several have measured; `threshold` is the
    smallest difference of interest, as a share, and `metrics` are compared, or all that vary.
    Raises `RunFileError` if no kind has enough of them."""
    kinds: dict[str, dict[str, list[Record]]] = {}
    for record in run.records:
        if record.node and not record.why_without_figures:
            kind = kind_of(run.environments[record.environment])
            kinds.setdefault(kind, {}).setdefault(record.node, []).append(record)
    rows: list[ComparedRow] = []
    too_few: dict[str, str] = {}
    for kind, nodes in kinds.items():
        found = _find(nodes, math.log1p(threshold), metrics)
        rows += (_row(kind, node) for node in found)
        if not found:
            too_few |= dict.fromkeys(nodes, f"fewer than {FEWEST} nodes of {kind} have its cases")
    if not rows:
        counts = [len(nodes) for nodes in kinds.values()]
        raise RunFileError(
            f"at least {FEWEST} nodes of one kind that have measured the same cases are needed, "
            f"and the run has {max(counts, default=0)}; measure with --executor ray --every-node"
        )
    sides = (
        Side(node, cases=len(records), machine=kind)
        for kind, nodes in kinds.items()
        for node, records in nodes.items()
    )
    return Comparison(
        command="nodes",
        sides=tuple(sides),
        labels=("the other nodes of its kind", "a node"),
        threshold=threshold,
        rows=tuple(rows),
        reasons={"Not compared": too_few, "Not measured": _unmeasured(run.records)},
        fail_on=fail_on,
    )


def kind_of(environment: Environment) -> str:
    """Returns the processor and the GPUs of a machine, as text."""
    gpus = [gpu.get("model", "GPU") for gpu in environment.gpus]
    counts = [f"{gpus.count(model)} x {model}" for model in dict.fromkeys(gpus)]
    return ", ".join([f"{environment.cpu}, {environment.cores} cores", *counts])


def _find(
    nodes: dict[str, list[Record]], margin: float, metrics: Sequence[str]
) -> tuple[Found, ...]:
    """Returns the nodes of a kind, the slowest first; none if they are too few."""
    figures: dict[str, dict[str, float]] = {}
    errors: dict[str, float] = {}
    for node, records in nodes.items():
        measured = dict(_figures(records, metrics))
        figures[node] = {case: figure for case, (figure, _) in measured.items()}
        errors[node] = median([error for _, error in measured.values()] or [0.0])
    times = Counter(case for own in figures.values() for case in own)
    shared = {
        node: {case: value for case, value in own.items() if times[case] >= FEWEST}
        for node, own in figures.items()
    }
    shared = {node: own for node, own in shared.items() if own}
    if len(shared) < FEWEST:
        return ()
    return find_stragglers(shared, errors, margin)


def _row(kind: str, node: Found) -> ComparedRow:
    changed = Verdict.REGRESSED if node.ratio > 1 else Verdict.IMPROVED
    return ComparedRow(
        id=node.name,
        operator=node.name,
        inputs="",
        metric=FIGURES,
        verdict=changed if node.differs else Verdict.NO_CLEAR_CHANGE,
        category=kind,
        ratio=node.ratio,
        low=node.low,
        high=node.high,
        basis=pluralize(node.cases, "case"),
        note=f"largest {ratio_text(node.worst_ratio)}: {node.worst}",
    )


def _figures(
    records: Iterable[Record], metrics: Sequence[str]
) -> Iterable[tuple[str, tuple[float, float]]]:
    """Yields each case and metric of a node, by a name that is the same on every node, with the
    figure, the larger the slower, and the standard error of its log."""
    for record in records:
        case = msgspec.structs.replace(
            record.case, settings=msgspec.structs.replace(record.case.settings, node="")
        )
        words = (case.label, inputs_text(case), changed_settings_text(identity_of(case.settings)))
        text = " ".join(filter(None, words))
        for name, found in CaseFigures(record).measured.items():
            if _is_compared(found.metric, metrics) and found.median > 0:
                value = found.median if found.metric.lower_is_better else 1 / found.median
                yield f"{text}: {name}", (value, found.error or 0.0)


def _is_compared(metric: Metric, metrics: Sequence[str]) -> bool:
    if metrics:
        return metric.name in metrics
    return metric.usual and not metric.is_steady and metric.kind is not MetricKind.RECORDED


def _unmeasured(records: Iterable[Record]) -> dict[str, str]:
    """Returns the number of cases without a figure by node, with the reason of the first."""
    by_node: dict[str, list[Record]] = {}
    for record in records:
        node = record.node or record.case.settings.node
        if node and record.why_without_figures:
            by_node.setdefault(node, []).append(record)
    return {
        node: f"{pluralize(len(found), 'case')}; {found[0].why_without_figures}"
        for node, found in by_node.items()
    }


def telling_of(found: Comparison, name: str) -> Telling:
    """Returns what is said of the nodes of a run, whose name is `name`."""
    differing = [row.operator for row in found.rows if row.verdict.value in CHANGED]
    verb = "differs" if len(differing) == 1 else "differ"
    said = f"{', '.join(differing)} {verb}" if differing else "None differs"
    summary = f"{said} from the other nodes of its kind, of {pluralize(len(found.rows), 'node')}."
    how = (
        "A ratio is the median over the cases of the node's figure to the median of the others'; "
        f"above 1 it is slower. It differs by more than {found.threshold:.0%} where that holds "
        "at a false discovery rate of 5 %. The interval, of 95 %, is by the scatter among nodes."
    )
    kinds = dict.fromkeys(row.category for row in found.rows)
    return Telling(
        title=f"Nodes of {name}",
        headline="",
        answer=(),
        groups=[_group(found, kind) for kind in kinds],
        case="Node",
        how=Section(prose=[summary, how]),
        verdicts=VERDICTS,
    )


def _group(found: Comparison, kind: str) -> RowGroup:
    rows = [row for row in found.rows if row.category == kind]
    order = sorted(range(len(rows)), key=lambda place: rows[place].verdict.value not in CHANGED)
    left = len(rows) - SHOWN
    return RowGroup(
        kind,
        rows,
        without=("Metric",),
        shown=tuple(sorted(order[:SHOWN])) if left > 0 else None,
        more=f"and {pluralize(left, 'node')} more" if left > 0 else "",
    )
