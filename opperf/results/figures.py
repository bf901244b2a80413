"""The view of records by case and metric, which comparisons, reports, exports, histories and Python
read; and the names of cases outside of opperf."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

from opperf.errors import one_line
from opperf.instruments.profilers.summary import summarise
from opperf.metrics import expected_metrics, metric_named
from opperf.model import (
    NOISE,
    PASSES,
    REMOVED,
    UNRELIABLE,
    WITHOUT_FIGURE,
    Case,
    Environment,
    Metric,
    MetricKind,
    Note,
    NoteCode,
    Record,
    Run,
    Status,
    Struct,
    Summary,
    identity_of,
)
from opperf.plurals import pluralize
from opperf.results.settings import changed_settings_text
from opperf.results.text import inputs_text
from opperf.results.units import FEW, LEAST_SHARE, Figure, unit_of

UNSOUND = {
    NoteCode.NOT_PRISTINE: "a figure may include other operators' workspace",
    NoteCode.UNSTEADY: "the counts of the same call differ",
    NoteCode.AHEAD: "other cases were compiled at the same time",
}
"""Why figures with notes of these codes have no clear verdict."""

CAVEATS = (*REMOVED, NoteCode.NOT_PRISTINE, NoteCode.UNSTEADY, NoteCode.BUSY, *NOISE)
"""Codes of notes that qualify a figure, in the order in which they are printed."""


NORMAL_95 = NormalDist().inv_cdf(0.975)
"""Standard errors in the half-width of an interval of 95 %."""


class Measurement(Struct, frozen=True):
    """A metric of a case: statistics of its samples, and what its reader must know."""

    metric: Metric
    summary: Summary
    samples: list[float] = []
    """In the order in which they were taken; empty where a file has averages only."""
    notes: tuple[Note, ...] = ()

    @classmethod
    def of_average(cls, metric: Metric, value: float) -> Measurement:
        """Returns that of a file that has an average alone."""
        return cls(metric, summarise([value], metric.unit))

    @property
    def unit(self) -> str:
        return self.summary.unit

    @property
    def median(self) -> float:
        return self.summary.median

    @property
    def half_width(self) -> float | None:
        """The half-width of the interval; None without one."""
        return self.summary.half_width

    @property
    def interval(self) -> tuple[float, float] | None:
        """The bounds of the 95 % confidence interval of the median; None without one."""
        found = self.summary
        return None if found.half_width is None else (found.ci_low, found.ci_high)

    @property
    def error(self) -> float | None:
        """The standard error of the logarithm of the median; None without an interval."""
        width = self.half_width
        return None if width is None else math.log1p(width / self.median) / NORMAL_95

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.summary.median)

    def note(self, *codes: NoteCode) -> Note | None:
        """Returns the first note with one of these codes, or None."""
        return next((note for note in self.notes if note.code in codes), None)

    @property
    def is_ranked(self) -> bool:
        """Whether a time is of the operator's work, and not only of a launch."""
        return self.note(NoteCode.LAUNCH_BOUND) is None

    @property
    def unreliable(self) -> bool:
        """Whether the median depends on when it was measured, or is of too few samples."""
        if self.metric.kind is MetricKind.COUNT:
            return False
        if self.note(*UNRELIABLE):
            return True
        summary, width = self.summary, self.half_width
        # Of a few that are equal, none says how much others would differ.
        is_few = summary.n < FEW
        is_lacking = width is None or (is_few and width < LEAST_SHARE * abs(summary.median))
        return is_lacking and self.metric.is_time

    @property
    def unsound(self) -> str:
        """Why a figure that should be the same on every run may vary; empty unless it may."""
        return next((why for code, why in UNSOUND.items() if self.note(code)), "")

    @property
    def caveat(self) -> str:
        """The notes that qualify the figure, as one line."""
        notes = map(self.note, CAVEATS)
        return "; ".join(one_line(note.message) for note in notes if note is not None)

    @property
    def shown(self) -> Figure:
        """The median with its half-width, as tables show it."""
        if self.metric.kind is MetricKind.COUNT:
            # Its few samples are of the same call: their extremes are no interval.
            return Figure(self.median, is_least=self.note(NoteCode.LEAST) is not None)
        return Figure(self.median, self.half_width, self.unreliable)


class CaseFigures(NamedTuple):
    """The figures of a record."""

    record: Record
    environment: Environment | None = None

    def of(self, metric: str) -> Measurement | None:
        """Returns a metric's figure; None if the record lacks it."""
        record = self.record
        summary = record.summaries.get(metric)
        if summary is None:
            return None
        notes = tuple(note for note in record.notes if note.metric == metric)
        return Measurement(
            metric_named(metric, summary.unit), summary, record.samples.get(metric, []), notes
        )

    def figure(self, metric: str) -> Figure | None:
        """Returns a metric's median with its half-width; None if the record lacks it."""
        found = self.of(metric)
        return None if found is None else found.shown

    def statistic(self, metric: str, name: str, is_rounded: bool = False) -> float | None:
        """Returns a statistic in the unit of files, ms or kB, if asked to the ns or the byte; None
        if the record lacks the metric."""
        summary = self.record.summaries.get(metric)
        if summary is None:
            return None
        unit = unit_of(summary.unit)
        value = float(getattr(summary, name)) / unit.size
        return round(value, unit.decimals) if is_rounded and unit.decimals is not None else value

    @property
    def measured(self) -> dict[str, Measurement]:
        """The figures by metric."""
        found = {name: self.of(name) for name in self.record.summaries}
        return {name: one for name, one in found.items() if one is not None}

    @property
    def compared(self) -> dict[str, Measurement]:
        """The figures that are compared with others: the time of a wrong result is no base, and no
        improvement."""
        return {} if self.record.why_without_figures else self.measured

    @property
    def absent(self) -> dict[str, str]:
        """Why a measured case lacks metrics that it was to have, by metric."""
        record = self.record
        if record.status is not Status.OK:
            return {}
        absent = [name for name in expected_metrics(record.case) if name not in record.summaries]
        notes = {name: record.note(name, *WITHOUT_FIGURE) for name in absent}
        return {
            name: one_line(note.message) if note else "not measured" for name, note in notes.items()
        }


def case_figures(run: Run) -> list[CaseFigures]:
    """Returns the figures of a run's records, or of a session's, in their order."""
    environments = run.environments
    return [CaseFigures(record, environments.get(record.environment)) for record in run.records]


LONGEST = 896
"""Most characters of a name: Bencher allows 1024, of which an eighth is for the metric."""


class CaseName(NamedTuple):
    """The name of a case where others show it: in exports, and in the dashboards that are fed by
    them."""

    called: str
    """The name of what the case calls: `relu`."""
    parameters: str
    """Inputs, framework, and the settings that are not at their defaults."""

    @classmethod
    def of(cls, called: str, *parts: str) -> CaseName:
        """Returns the name with these parameters, without those that are empty."""
        return cls(called, "; ".join(filter(None, parts)))

    def __str__(self) -> str:
        return f"{self.called}[{self.parameters}]" if self.parameters else self.called

    def of_metric(self, metric: str) -> CaseName:
        """Returns the name of one of the case's metrics: `relu.forward`."""
        return self._replace(called=f"{self.called}.{metric}")


def case_name(case: Case) -> CaseName:
    """Returns the name of a case, which depends on nothing but the case: tools compare runs by
    names."""
    return CaseName.of(
        case.label,
        inputs_text(case),
        case.target.framework,
        changed_settings_text(identity_of(case.settings)),
    )


def distinct_names(named: Mapping[str, CaseName]) -> dict[str, CaseName]:
    """Returns names by the ids of cases, each with its id if it is too long, or another case of
    these has it too."""
    shared = Counter(str(name)[:LONGEST] for name in named.values())
    return {
        id: name
        if shared[str(name)[:LONGEST]] == 1 and len(str(name)) <= LONGEST
        else _with_id(name, id)
        for id, name in named.items()
    }


def _with_id(name: CaseName, id: str) -> CaseName:
    # Brackets, and what is before the id.
    room = LONGEST - len("[; ]") - len(id)
    called = name.called[:room]
    return CaseName.of(called, name.parameters[: room - len(called)], id)


def explain_unranked(records: Iterable[Record], metrics: Sequence[str] = PASSES) -> str:
    """Returns how many times of these metrics are not ranked, and why; empty if all are."""
    times = (CaseFigures(record).of(metric) for record in records for metric in metrics)
    count = sum(time is not None and not time.is_ranked for time in times)
    if not count:
        return ""
    return (
        f"{pluralize(count, 'time')} {'is' if count == 1 else 'are'} not ranked, as an empty "
        "kernel takes hardly less"
    )
