"""Compares the nodes of a run, those of each kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

import msgspec

from opperf.comparison.statistics.stragglers import FEWEST, Found, find_stragglers
from opperf.errors import RunFileError
from opperf.model import Environment, Metric, MetricKind, Record, Run, identity_of
from opperf.results.figures import CaseFigures
from opperf.results.settings import changed_settings_text
from opperf.results.text import inputs_text


class Kind(NamedTuple):
    """The nodes of one kind."""

    name: str
    """Their processor and GPUs."""
    nodes: tuple[Found, ...]
    """The slowest first; empty if they are too few to be compared."""
    too_few: tuple[str, ...] = ()
    """Their names then."""


class Unmeasured(NamedTuple):
    """A node some of whose cases have no figure."""

    node: str
    cases: int
    reason: str
    """Of the first."""


class NodeComparison(NamedTuple):
    """The nodes of a run."""

    kinds: tuple[Kind, ...]
    unmeasured: tuple[Unmeasured, ...]

    @property
    def differing(self) -> tuple[Found, ...]:
        return tuple(node for kind in self.kinds for node in kind.nodes if node.differs)


def compare_nodes(run: Run, margin: float, metrics: Sequence[str] = ()) -> NodeComparison:
    """Returns the nodes of a run by the cases that several have measured; `margin` is the smallest
    difference of interest, in log units, and `metrics` are compared, or all that vary. Raises
    `RunFileError` if no kind has enough of them."""
    kinds: dict[str, dict[str, list[Record]]] = {}
    for record in run.records:
        if record.node and not record.why_without_figures:
            kind = kind_of(run.environments[record.environment])
            kinds.setdefault(kind, {}).setdefault(record.node, []).append(record)
    compared = tuple(_compare(name, nodes, margin, metrics) for name, nodes in kinds.items())
    if not any(kind.nodes for kind in compared):
        counts = [len(nodes) for nodes in kinds.values()]
        raise RunFileError(
            f"at least {FEWEST} nodes of one kind that have measured the same cases are needed, "
            f"and the run has {max(counts, default=0)}; measure with --executor ray --every-node"
        )
    return NodeComparison(compared, tuple(_unmeasured(run.records)))


def kind_of(environment: Environment) -> str:
    """Returns the processor and the GPUs of a machine, as text."""
    gpus = [gpu.get("model", "GPU") for gpu in environment.gpus]
    counts = [f"{gpus.count(model)} x {model}" for model in dict.fromkeys(gpus)]
    return ", ".join([f"{environment.cpu}, {environment.cores} cores", *counts])


def _compare(
    name: str, nodes: dict[str, list[Record]], margin: float, metrics: Sequence[str]
) -> Kind:
    figures: dict[str, dict[str, float]] = {}
    errors: dict[str, float] = {}
    for node, records in nodes.items():
        measured = dict(_figures(records, metrics))
        figures[node] = {case: figure for case, (figure, _) in measured.items()}
        errors[node] = median([error for _, error in measured.values()] or [0.0])
    times: defaultdict[str, int] = defaultdict(int)
    for own in figures.values():
        for case in own:
            times[case] += 1
    shared = {
        node: {case: value for case, value in own.items() if times[case] >= FEWEST}
        for node, own in figures.items()
    }
    shared = {node: own for node, own in shared.items() if own}
    if len(shared) < FEWEST:
        return Kind(name, (), tuple(nodes))
    return Kind(name, find_stragglers(shared, errors, margin))


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


def _unmeasured(records: Iterable[Record]) -> Iterable[Unmeasured]:
    by_node: dict[str, list[Record]] = {}
    for record in records:
        node = record.node or record.case.settings.node
        if node and record.why_without_figures:
            by_node.setdefault(node, []).append(record)
    for node, found in by_node.items():
        yield Unmeasured(node, len(found), found[0].why_without_figures)
