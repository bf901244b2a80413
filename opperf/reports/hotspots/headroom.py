"""The roofline of groups of calls: bounds of their time, and the part of it that could go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from opperf.errors import UsageError
from opperf.model import PASSES, Record, Run
from opperf.plurals import pluralize
from opperf.reports.fields import LABEL, MILLISECONDS, PERCENT, Field
from opperf.reports.hotspots.times import add_figures, totals
from opperf.results.figures import CaseFigures
from opperf.results.roofline import Bound, Roofline, roofline_of
from opperf.results.units import Figure, time_text

BOUNDS: dict[Bound, str] = {
    "memory": "by memory",
    "compute": "by compute",
    "dispatch": "by dispatch",
    "launch": "by a launch alone",
}
"""Bounds as sentences have them."""

NAMED = 3
"""Most operators that a sentence names."""

LEAST_BOUND = 0.95
"""Share of a group's time that a bound has to have for the group to be shown without others."""


class Bounded(NamedTuple):
    """A pass of a record that was called so many times, and what the peaks say of it."""

    record: Record
    calls: int
    roofline: Roofline

    @property
    def time_ns(self) -> float:
        return self.calls * self.roofline.time.median


class Headroom(NamedTuple):
    """The passes of a group of calls whose minimum times are known."""

    passes: tuple[Bounded, ...]
    unknown: tuple[Record, ...]
    """Those of the other times of the group, each once for each time."""

    @property
    def possible(self) -> list[Bounded]:
        return [entry for entry in self.passes if not entry.roofline.is_impossible]

    @property
    def time_ns(self) -> float:
        """Time of the calls that is not impossible."""
        return sum(entry.time_ns for entry in self.possible)

    @property
    def time(self) -> Figure | None:
        """The part of this time that could go; None if all of it is impossible."""
        found = self.possible
        return add_figures(map(_headroom, found)) if found else None

    @property
    def attainable(self) -> float | None:
        """The rest of this time as a share; None likewise."""
        return None if self.time is None else 1 - self.time.value / self.time_ns

    @property
    def by_bound(self) -> dict[str, float]:
        """The time by the text of what bounds it, the longest first."""
        found = totals((entry.roofline.text, entry.time_ns) for entry in self.passes)
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))

    @property
    def bound(self) -> Bound:
        """The bound of most of the time."""
        text = next(iter(self.by_bound))
        return next(entry.roofline.bound for entry in self.passes if entry.roofline.text == text)

    @property
    def text(self) -> str:
        """The bound of the group, or its two largest: `memory`, `memory 85 %, dispatch`."""
        times = self.by_bound
        whole = sum(times.values())
        first, *others = times
        if not others or times[first] >= LEAST_BOUND * whole:
            return first
        return f"{first} {100 * times[first] / whole:.0f} %, {others[0]}"


def _headroom(entry: Bounded) -> tuple[int, Figure]:
    left = entry.roofline.headroom_ns or 0.0
    return entry.calls, entry.roofline.time.shown._replace(value=left)


def headroom_of(calls: Iterable[tuple[Record, int, str]]) -> Headroom | None:
    """Returns the passes of records of which the peaks say something; None without any. Each record
    comes with its number of calls, and the metric that it stands for, or none."""
    found, unknown = [], []
    for record, number, metric in calls:
        timed = CaseFigures(record).compared
        for each in (metric,) if metric else PASSES:
            roofline = roofline_of(record, each)
            if roofline is not None:
                found.append(Bounded(record, number, roofline))
            elif each in timed:
                unknown.append(record)
    return Headroom(tuple(found), tuple(unknown)) if found else None


def headroom_fields(is_ranked: bool) -> tuple[Field[Headroom | None], ...]:
    """Returns the columns of groups of calls. A table that is not ranked by them omits them where
    there is no room."""
    title = "Headroom" if is_ranked else None
    bound: Field[Headroom | None] = Field("bound", "Bound", LABEL, lambda own: own and own.text)
    share: Field[Headroom | None] = Field(
        "attainable", "Attainable", PERCENT, lambda own: own and own.attainable
    )
    return (
        replace(bound, is_optional=True, extra=0 if is_ranked else 2),
        replace(share, is_optional=True, extra=0 if is_ranked else 3),
        Field("headroom_ms", title, MILLISECONDS, lambda own: own and own.time),
    )


def roofline_sentences(found: Headroom, whole_ns: float, steps: int) -> Iterator[str]:
    """Yields what bounds a time, of which calls it is not known, and which times are impossible."""
    if found.time is not None:
        times = totals((entry.roofline.bound, entry.time_ns) for entry in found.possible)
        shares = [
            f"{_percent(times[key], whole_ns)} {BOUNDS[key]}" for key in BOUNDS if key in times
        ]
        shares[0] = shares[0].replace("%", "% of the time is bound")
        headroom = found.time.value
        of_step = f", {time_text(headroom / steps)} of a step" if steps > 1 else ""
        yield (
            f"By the peaks of {_devices(found)}, {', '.join(shares)}; "
            f"{_percent(headroom, whole_ns)} could go at most{of_step}."
        )
    if found.unknown:
        left = whole_ns - sum(entry.time_ns for entry in found.passes)
        have = "has" if len(found.unknown) == 1 else "have"
        is_peaked = all(record.peaks for record in found.unknown)
        lacking = "operations or bytes" if is_peaked else "operations, bytes or peaks"
        yield (
            f"{pluralize(len(found.unknown), 'time')}, {_percent(left, whole_ns)} of the sum, "
            f"{have} no known {lacking}, and no bound."
        )
    partly = [entry for entry in found.possible if entry.roofline.remarks]
    if partly:
        share = _percent(sum(entry.time_ns for entry in partly), whole_ns)
        yield f"{share} of the time is judged {_longest_remark(partly)}."
    yield from _impossible(found)


def _devices(found: Headroom) -> str:
    known = (entry.record.peaks for entry in found.passes)
    listed = {f"{peaks.device} ({peaks.measured[:10]})" for peaks in known if peaks is not None}
    return " and ".join(sorted(listed))


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "0 %"


def _longest_remark(passes: Iterable[Bounded]) -> str:
    times = totals((text, entry.time_ns) for entry in passes for text in entry.roofline.remarks)
    return max(times, key=lambda text: times[text])


def _impossible(found: Headroom) -> Iterator[str]:
    names = dict.fromkeys(
        entry.record.case.label for entry in found.passes if entry.roofline.is_impossible
    )
    if names:
        listed = ", ".join(list(names)[:NAMED])
        more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        yield (
            f"Times of {listed}{more} are shorter than the peaks allow, and in no headroom: check "
            "what the calls compute, or measure the peaks again."
        )


def check_headroom(found: Headroom | None, runs: Iterable[Run]) -> None:
    """Raises `UsageError` unless the peaks say something of a time in these runs."""
    if found is not None:
        return
    if any(record.peaks for run in runs for record in run.records):
        raise UsageError(
            "--rank headroom: no measured time has known operations or bytes; rank by time"
        )
    raise UsageError(
        "--rank headroom needs the peaks of the machine that measured, and the files have none: "
        "measure them there by opperf doctor --peaks, then the cases again by opperf run"
    )
