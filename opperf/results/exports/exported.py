"""Selects the figures of a run for all exports, and names them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opperf.errors import RunFileError
from opperf.metrics import metrics_in
from opperf.model import DEFAULTS, Case, Metric, Record, Run, Status
from opperf.plurals import pluralize
from opperf.results.text import inputs_text

LONGEST = 896
"""Maximum characters of a name: Bencher allows 1024, the fewest of all tools, of which an eighth is
for the settings."""


class ExportEntry(NamedTuple):
    """A record with figures to export, and its name."""

    record: Record
    name: str
    """`relu[data: (1024, 1024)]`, with the case's id if another case of the same place would have
    that name."""
    place: str
    """Framework and settings: `mxnet cpu(0) float32 native`."""
    metrics: tuple[Metric, ...]
    """The usual metrics with a finite figure."""


def select_figures(run: Run) -> tuple[list[ExportEntry], list[str]]:
    """Returns the records with figures to export, and warnings about excluded ones.

    Raises `RunFileError` if there is no figure.
    """
    found = [(record, _finite_metrics(record)) for record in run.records]
    kept = [(record, metrics) for record, metrics in found if metrics]
    if not kept:
        raise RunFileError("the run has no results to export: no case was measured")
    names = unique_names([record for record, _ in kept])
    selected = [
        ExportEntry(record, name, place_of(record.case), metrics)
        for (record, metrics), name in zip(kept, names, strict=True)
    ]
    left = len(found) - len(kept)
    warnings = [f"excluded: {pluralize(left, 'case')} not measured"] if left else []
    odd = sum(len(_usual(record)) - len(metrics) for record, metrics in found)
    if odd:
        warnings.append(f"excluded: {pluralize(odd, 'figure')} not finite")
    return selected, warnings


def _usual(record: Record) -> tuple[Metric, ...]:
    """Returns the metrics that are exported, from which the others can be computed."""
    return tuple(metric for metric in metrics_in([record]) if metric.usual)


def _finite_metrics(record: Record) -> tuple[Metric, ...]:
    if record.status is not Status.OK:
        return ()
    return tuple(
        metric for metric in _usual(record) if math.isfinite(record.summaries[metric.name].median)
    )


def unique_names(records: Sequence[Record]) -> list[str]:
    """Returns a name for each record, from operator and inputs. If cases would have the same name
    although their settings are the same too, each of these names contains the case's id: tools
    compare runs by names, so that a name must not depend on cases that differ in any of these."""
    named = [
        (f"{record.case.label}[{inputs_text(record.case)}]", place_of(record.case))
        for record in records
    ]
    shared = Counter((name[:LONGEST], place) for name, place in named)
    return [
        name
        if shared[name[:LONGEST], place] == 1 and len(name) <= LONGEST
        else _with_id(name, record.id)
        for (name, place), record in zip(named, records, strict=True)
    ]


def _with_id(name: str, id: str) -> str:
    ending = f" {id}]"
    return name.removesuffix("]")[: LONGEST - len(ending)] + ending


def place_of(case: Case) -> str:
    """Returns the framework and the settings of a case as text: some always, and the others if they
    are not at their declared defaults."""
    identity = case.settings.identity()
    always = ("device", "dtype", "profiler")
    words = [case.target.framework, *(str(identity[name]) for name in always)]
    words += [
        f"{name}={value}"
        for name, value in identity.items()
        if name not in always and value != DEFAULTS[name]
    ]
    return " ".join(words)


def are_finite(values: Iterable[float]) -> bool:
    """Returns whether all values can be written as JSON."""
    return all(math.isfinite(value) for value in values)
