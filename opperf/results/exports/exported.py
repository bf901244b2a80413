"""What every export has in common: which figures of a run can be exported, and their names."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opperf.errors import RunFileError
from opperf.metrics import metrics_in
from opperf.model import Metric, Record, Run, Settings, Status
from opperf.results.text import counted, inputs_text

LONGEST = 896
"""Characters of a name: of the 1024 that Bencher takes, the fewest of all tools, an eighth is left
for how the case was run."""


class Exported(NamedTuple):
    """A record with figures to export, and what it is called."""

    record: Record
    name: str
    """`relu[data: (1024, 1024)]`, and the case's id behind it where that is not one case's only."""
    place: str
    """Where and how it was run: `mxnet cpu(0) float32 native`."""
    metrics: tuple[Metric, ...]
    """The usual ones that it has a finite figure of."""


def select_figures(run: Run) -> tuple[list[Exported], list[str]]:
    """What of a run can be exported, and a warning for what cannot.

    Raises `RunFileError` if that is everything.
    """
    found = [(record, _finite_metrics(record)) for record in run.records]
    kept = [(record, metrics) for record, metrics in found if metrics]
    if not kept:
        raise RunFileError("the run has no figure that could be exported: no case was measured")
    names = unique_names([record for record, _ in kept])
    framework = run.environment.framework
    told = [
        Exported(record, name, place_of(record.case.settings, framework), metrics)
        for (record, metrics), name in zip(kept, names, strict=True)
    ]
    left = len(found) - len(kept)
    warnings = [f"excluded: {counted(left, 'case')} not measured"] if left else []
    odd = sum(len(_usual(record)) - len(metrics) for record, metrics in found)
    if odd:
        warnings.append(f"excluded: {counted(odd, 'figure')} not finite")
    return told, warnings


def _usual(record: Record) -> tuple[Metric, ...]:
    """The metrics that are exported: the others follow from them."""
    return tuple(metric for metric in metrics_in([record]) if metric.usual)


def _finite_metrics(record: Record) -> tuple[Metric, ...]:
    if record.status is not Status.OK:
        return ()
    return tuple(
        metric for metric in _usual(record) if math.isfinite(record.summaries[metric.name].median)
    )


def unique_names(records: Sequence[Record]) -> list[str]:
    """A name for each record, from operator and inputs. Where several cases would have one name,
    which differ in what the inputs do not show, each has its id in it."""
    names = [f"{record.case.label}[{inputs_text(record.case)}]" for record in records]
    shared = Counter(name[:LONGEST] for name in names)
    return [
        name if shared[name[:LONGEST]] == 1 and len(name) <= LONGEST else _with_id(name, record.id)
        for name, record in zip(names, records, strict=True)
    ]


def _with_id(name: str, id: str) -> str:
    ending = f" {id}]"
    return name.removesuffix("]")[: LONGEST - len(ending)] + ending


def place_of(settings: Settings, framework: str) -> str:
    """How a case was run, in words: what makes two cases of one name different ones."""
    identity = settings.identity()
    usual = Settings().identity()
    always = ("device", "dtype", "profiler")
    words = [framework, *(str(identity[name]) for name in always)]
    words += [
        f"{name}={value}"
        for name, value in identity.items()
        if name not in always and value != usual[name]
    ]
    return " ".join(words)


def are_finite(values: Iterable[float]) -> bool:
    """Whether all values can be written as JSON."""
    return all(math.isfinite(value) for value in values)
