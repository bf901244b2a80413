"""Columns of the work of a record's passes: rates, and what the peaks of its device say of its
times. Files have them beside the metrics where the operations or the peaks are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from opperf.instruments.times import FORWARD
from opperf.model import PASSES, Metric, MetricKind, NoteCode, Record
from opperf.results.figures import CaseFigures
from opperf.results.roofline import FLOPS_OF, Roofline, Work, roofline_of, work_of
from opperf.results.units import Figure, unit_of


class FigureColumn(NamedTuple):
    """A column of figures, or of texts."""

    metric: Metric
    read: Callable[[Record], Figure | None]
    """None if the record has none."""
    text: Callable[[Record], str] | None = None
    """Of a column of texts, which has no figures."""


class Rate(NamedTuple):
    """A rate, with the bounds of its interval where the time has one."""

    value: float
    low: float | None = None
    high: float | None = None


def _rate(amount: Callable[[Work], float | None], metric: str, record: Record) -> Rate | None:
    time, made = CaseFigures(record).of(metric), amount(work_of(record, metric))
    if time is None or not made or not time.median > 0:
        return None
    low, high = (
        made / bound if bound > 0 else None for bound in reversed(time.interval or (0.0, 0.0))
    )
    return Rate(made / time.median, low, high)


def _divided(value: float | None, metric: str, record: Record) -> Figure | None:
    """Returns a figure that is as uncertain as the time that it was divided by."""
    time = CaseFigures(record).figure(metric)
    if value is None or time is None:
        return None
    half_width = None if time.share is None else time.share * value
    return time._replace(value=value, half_width=half_width)


def _rate_figure(
    amount: Callable[[Work], float | None], metric: str, record: Record
) -> Figure | None:
    rate = _rate(amount, metric, record)
    return _divided(rate and rate.value, metric, record)


def _intensity(metric: str, record: Record) -> Figure | None:
    found, counted = work_of(record, metric).intensity, FLOPS_OF[metric]
    is_least = record.note(counted, NoteCode.LEAST) is not None
    return None if found is None else Figure(found, is_least=is_least)


def _attainable(metric: str, record: Record) -> Figure | None:
    found = roofline_of(record, metric)
    return _divided(found and 100 * found.share, metric, record)


def _headroom(metric: str, record: Record) -> Figure | None:
    found = roofline_of(record, metric)
    if found is None or found.headroom_ns is None:
        return None
    return found.time.shown._replace(value=found.headroom_ns)


FIGURES: dict[str, tuple[str, str, Callable[[str, Record], Figure | None]]] = {
    "flop_rate": (
        "GFLOP/s",
        "floating-point operations over the time",
        partial(_rate_figure, attrgetter("flops")),
    ),
    "bandwidth": (
        "GB/s",
        "bytes of the inputs and of the outputs over the time",
        partial(_rate_figure, attrgetter("moved")),
    ),
    "intensity": ("flop/B", "floating-point operations for each byte that is moved", _intensity),
    "attainable": ("%", "minimum time by the measured peaks, as a share of the time", _attainable),
    "headroom": ("ns", "the time beyond the minimum by the measured peaks", _headroom),
}
"""Unit, description and function of figures. What a nanosecond has once, a second has 1e9 times:
GFLOP/s, GB/s."""


def _said(say: Callable[[Roofline], str], metric: str, record: Record) -> str:
    found = roofline_of(record, metric)
    return "" if found is None else say(found)


TEXTS: dict[str, tuple[str, Callable[[str, Record], str]]] = {
    "bound": (
        "what bounds the time: memory, compute, dispatch, launch (hardly longer than a call that "
        "does nothing), or impossible",
        partial(_said, lambda found: found.bound),
    ),
    "bound_level": ("the memory that bounds the time", partial(_said, lambda found: found.level)),
    "bound_note": ("what the bound lacks", partial(_said, lambda found: "; ".join(found.remarks))),
    "flops_by": (
        "how the operations are known: formula, or count of the framework",
        lambda metric, record: work_of(record, metric).flops_by,
    ),
    "bytes_by": (
        "how the bytes are known: formula, or minimal, each tensor once",
        lambda metric, record: work_of(record, metric).bytes_by,
    ),
}
"""Description and function of texts."""


def _name(name: str, metric: str) -> str:
    return name if metric == FORWARD.name else f"{name}_{metric}"


def _column_metric(name: str, unit: str, description: str, metric: str) -> Metric:
    return Metric(
        _name(name, metric),
        unit,
        MetricKind.DERIVED,
        description=f"{description} of the {metric} pass",
        lower_is_better=name == "headroom",
        usual=False,
    )


def _made() -> Iterator[FigureColumn]:
    for metric in PASSES:
        for name, (unit, description, read) in FIGURES.items():
            made = _column_metric(name, unit, description, metric)
            yield FigureColumn(made, partial(read, metric))
        for name, (description, say) in TEXTS.items():
            made = _column_metric(name, "", description, metric)
            yield FigureColumn(made, lambda record: None, partial(say, metric))


RATES = tuple(_made())
"""The columns of both passes."""

BANDWIDTH = next(column for column in RATES if column.metric.name == "bandwidth")

DRAWN: dict[str, tuple[FigureColumn, Callable[[Record], Rate | None]]] = {
    column.metric.name: (column, partial(_rate, amount, metric))
    for metric in PASSES
    for name, amount in (("bandwidth", attrgetter("moved")), ("flop_rate", attrgetter("flops")))
    for column in RATES
    if column.metric.name == _name(name, metric)
}
"""Columns that plots draw by name, with functions that return their intervals."""


def drawn(metric: Metric) -> tuple[FigureColumn, Callable[[Record], Rate | None]] | None:
    """Returns what plots draw of a column's metric; None of any other, even of the same name."""
    found = DRAWN.get(metric.name)
    return found if found is not None and found[0].metric is metric else None


def _file_name(metric: Metric) -> str:
    return f"{metric.name}_{unit_of(metric.unit).name}" if metric.unit else metric.name


WRITTEN = {_file_name(column.metric): column for column in RATES}
"""The columns by the names that files have for them."""


def written_rates(record: Record) -> dict[str, float | str]:
    """Returns what files have of the columns, in their order; nothing of a record of which neither
    operations nor peaks are known."""
    if record.peaks is None and not record.summaries.keys() & set(FLOPS_OF.values()):
        return {}
    found: dict[str, float | str] = {}
    for name, column in WRITTEN.items():
        figure, text = column.read(record), column.text and column.text(record)
        if figure is not None:
            found[name] = figure.value / unit_of(column.metric.unit).size
        elif text:
            found[name] = text
    return found
