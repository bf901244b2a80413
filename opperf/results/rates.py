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


class Rate(NamedTuple):
    """A rate, with the bounds of its interval where the time has one."""

    value: float
    low: float | None = None
    high: float | None = None


class FigureColumn(NamedTuple):
    """A column of figures, or of texts."""

    metric: Metric
    read: Callable[[Record], Figure | None]
    """None if the record has none."""
    text: Callable[[Record], str] | None = None
    """Of a column of texts, which has no figures."""
    rate: Callable[[Record], Rate | None] | None = None
    """Of a rate, what plots draw of it."""


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


def _figure_of(rate: Callable[[Record], Rate | None], metric: str, record: Record) -> Figure | None:
    found = rate(record)
    return _divided(found and found.value, metric, record)


def _intensity(metric: str, record: Record) -> Figure | None:
    work = work_of(record, metric)
    if work.flops is None or not work.moved:
        return None
    is_least = record.note(FLOPS_OF[metric], NoteCode.LEAST) is not None
    return Figure(work.flops / work.moved, is_least=is_least)


def _attainable(metric: str, record: Record) -> Figure | None:
    found = roofline_of(record, metric)
    if found is None or found.attainable is None:
        return None
    return _divided(100 * found.attainable, metric, record)


def _headroom(metric: str, record: Record) -> Figure | None:
    found = roofline_of(record, metric)
    if found is None or found.headroom_ns is None:
        return None
    return found.time.shown._replace(value=found.headroom_ns)


AMOUNTS: dict[str, tuple[str, str, Callable[[Work], float | None]]] = {
    "flop_rate": ("GFLOP/s", "floating-point operations over the time", attrgetter("flops")),
    "bandwidth": (
        "GB/s",
        "bytes of the inputs and of the outputs over the time",
        attrgetter("moved"),
    ),
}
"""Unit and description of rates, and what is divided by the time. What a nanosecond has once, a
second has 1e9 times: GFLOP/s, GB/s."""

FIGURES: dict[str, tuple[str, str, Callable[[str, Record], Figure | None]]] = {
    "intensity": ("flop/B", "floating-point operations for each byte that is moved", _intensity),
    "attainable": ("%", "minimum time by the measured peaks, as a share of the time", _attainable),
    "headroom": ("ns", "the time beyond the minimum by the measured peaks", _headroom),
}
"""Unit, description and function of other figures."""


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


def _columns(metric: str) -> Iterator[FigureColumn]:
    """Yields the columns of a pass."""

    def made(name: str, unit: str, description: str) -> Metric:
        return Metric(
            name if metric == FORWARD.name else f"{name}_{metric}",
            unit,
            MetricKind.DERIVED,
            description=f"{description} of the {metric} pass",
            lower_is_better=name == "headroom",
            usual=False,
        )

    for name, (unit, description, amount) in AMOUNTS.items():
        rate = partial(_rate, amount, metric)
        read = partial(_figure_of, rate, metric)
        yield FigureColumn(made(name, unit, description), read, rate=rate)
    for name, (unit, description, figure) in FIGURES.items():
        yield FigureColumn(made(name, unit, description), partial(figure, metric))
    for name, (description, say) in TEXTS.items():
        text = partial(say, metric)
        yield FigureColumn(made(name, "", description), lambda record: None, text)


RATES = tuple(column for metric in PASSES for column in _columns(metric))
"""The columns of both passes."""

DRAWN = {column.metric.name: column for column in RATES if column.rate is not None}
"""The columns of rates, which plots draw, by name."""

BANDWIDTH = DRAWN["bandwidth"]


def rate_of(metric: Metric) -> FigureColumn | None:
    """Returns the column of a rate; None of any other metric, even of the same name."""
    found = DRAWN.get(metric.name)
    return found if found is not None and found.metric is metric else None


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
