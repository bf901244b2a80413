"""The operators of runs by count times time: what to improve first.

The count of a case is how often its source saw the call. A case's time is the sum of the medians of
its passes, and the time of an operator that of all calls of its cases. Recordings that were not
measured have the recorded times of their calls, or the number of these alone.
"""

from __future__ import annotations

import bisect
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from opperf.errors import one_line
from opperf.instruments.memory import MEMORY
from opperf.model import PASSES, WITHOUT_FIGURE, Case, MetricKind, NoteCode, Record, Run
from opperf.reports.hotspots.headroom import Headroom, headroom_of
from opperf.reports.hotspots.times import (
    MEASURED,
    Basis,
    add_figures,
    basis_of,
    may_be_stall,
    recorded_time,
    without_chains,
)
from opperf.results import projection
from opperf.results.figures import CaseFigures
from opperf.results.recordings import is_recorded
from opperf.results.settings import alike_text, differing_settings, dtypes_of, settings_text
from opperf.results.units import Figure

UNFINISHED = "the run was not finished"
"""Reason of a planned case without a record."""

UNTIMED = ("not timed", "the recording has no time of its calls")
"""Status and reason of a case that ranks by no recorded time."""

FUSED = ("not timed", "compiled programs fuse its calls, and the step's account has their time")
"""The same of one that compiled programs call."""


class Timed(NamedTuple):
    """A record, or a pass of one, and the time of one of its calls in nanoseconds; 1 where calls
    are counted."""

    observation: projection.Observation
    time: Figure

    @property
    def record(self) -> Record:
        return self.observation.record

    @property
    def calls(self) -> int:
        return self.record.case.count


class Hotspot(NamedTuple):
    """A group of measured cases, such as an operator's, and its part in the time of all calls."""

    name: str
    values: dict[str, str]
    timed: tuple[Timed, ...]
    time: Figure
    """Of all calls, in nanoseconds; their number where calls are counted."""
    recorded_ns: float | None
    """Time of its calls in the recorded program; None if none were timed."""
    median_ns: float
    """Median over the calls of their time, each call taking its case's."""
    memory: Figure | None
    """The largest peak of a case, in bytes; None if none was measured."""
    headroom: Headroom | None
    """None if the peaks say nothing of its times."""
    share: float
    running: float
    may_be_stall: bool
    """Whether most of the time is of calls that may have waited for a core all along."""

    @property
    def calls(self) -> int:
        return _calls(self.timed)

    @property
    def cases(self) -> int:
        return len({entry.record.id for entry in self.timed})


class Unmeasured(NamedTuple):
    """Cases of one operator that have no time, for one reason."""

    operator: str
    status: str
    reason: str
    settings: str
    """Those in which it differs from other cases of the runs."""
    calls: int
    cases: int
    ids: tuple[str, ...]
    """Of the cases."""


class Hotspots(NamedTuple):
    """The ranking of one or several runs, which are added up."""

    by: tuple[str, ...]
    rank: str
    basis: Basis
    rows: tuple[Hotspot, ...]
    timed: tuple[Timed, ...]
    time: Figure
    """Of all calls, in nanoseconds; their number where calls are counted."""
    headroom: Headroom | None
    """Of all calls; None if the peaks say nothing of their times."""
    unmeasured: tuple[Unmeasured, ...]
    """Those that stand for the most calls first."""
    excluded: dict[str, str]
    steps: int
    """Number of steps of the recorded programs; 0 if some calls are of none."""
    kinds: tuple[MetricKind, ...]
    launches: float
    """Share of the time that is hardly longer than the launches of empty kernels."""
    busy: float
    """Share of the time that has waits for a busy core in it, or is that of one thread instead."""
    repeated: int
    settings: tuple[str, ...]
    grouped: str
    """A warning about such cases that differ and are in one group; empty without any."""

    @property
    def calls(self) -> int:
        return _calls(self.timed)

    @property
    def time_title(self) -> str:
        """Title of the times of all calls, beside those of a step."""
        return f"Time of {self.steps:,} steps" if self.steps > 1 else "Time"

    @property
    def unmeasured_calls(self) -> int:
        return sum(entry.calls for entry in self.unmeasured)


def _calls(timed: Iterable[Timed]) -> int:
    """Returns the number of calls; the passes of a record are of the same."""
    by_pass: Counter[str] = Counter()
    for entry in timed:
        by_pass[entry.observation.metric] += entry.calls
    return max(by_pass.values(), default=0)


def _headroom_ns(entry: Hotspot) -> float:
    time = entry.headroom and entry.headroom.time
    return 0.0 if time is None else time.value


RANKINGS: dict[str, Callable[[Hotspot], float]] = {
    # Those leave the others' order; among themselves they are by their time.
    "time": lambda entry: -1.0 if entry.may_be_stall else entry.time.value,
    "recorded": lambda entry: -1.0 if entry.recorded_ns is None else entry.recorded_ns,
    "calls": lambda entry: entry.calls,
    "memory": lambda entry: -1.0 if entry.memory is None else entry.memory.value,
    "headroom": lambda entry: -1.0 if entry.may_be_stall else _headroom_ns(entry),
}
"""Figures that hotspots are ranked by, the largest first."""


def find_hotspots(
    runs: Sequence[Run],
    rank: str = "time",
    by: Sequence[str] = (projection.OVERLOAD,),
    files: Sequence[str] = (),
) -> Hotspots:
    """Returns the ranking of the runs, added up. `rank` is a key of `RANKINGS`, `by` are
    dimensions, `files` the names of the runs' files.

    Raises `UsageError` for an unknown dimension.
    """
    runs = list(map(without_chains, runs))
    names = files or [""] * len(runs)
    basis = basis_of(runs) or MEASURED
    found = projection.observations(
        projection.Source(name, tuple(basis.records(run)), run.header.labels)
        for name, run in zip(names, runs, strict=True)
    )
    projection.check_dimensions(by, found)
    timed = tuple(_timed_of(found, basis, projection.METRIC in by))
    ids = [
        {entry.id for entry in basis.records(run) if basis.figure(entry, basis.metrics) is not None}
        for run in runs
    ]
    total = _add(timed)
    records = [
        entry.record for entry in found if basis.figure(entry.record, basis.metrics) is not None
    ]

    def share_with(code: NoteCode) -> float:
        part = sum(
            record.case.count * time.median
            for record in records
            for metric in PASSES
            if (time := CaseFigures(record).of(metric)) is not None and time.note(code)
        )
        return _share(part, total.value)

    return Hotspots(
        by=tuple(by),
        rank=rank,
        basis=basis,
        rows=tuple(group(timed, total.value, by, RANKINGS[rank])),
        timed=timed,
        time=total,
        headroom=_headroom(timed),
        unmeasured=tuple(_unmeasured(runs, basis)),
        steps=_steps(runs),
        excluded={name: why for run in runs for name, why in run.header.excluded.items()},
        kinds=tuple(
            dict.fromkeys(entry.time_kind for entry in records if entry.time_kind is not None)
        ),
        launches=share_with(NoteCode.LAUNCH_BOUND),
        busy=share_with(NoteCode.BUSY),
        repeated=sum(map(len, ids)) - len(set().union(*ids)),
        settings=differing_settings({record.id: record.case for record in records}.values()),
        grouped=_grouped(timed, by),
    )


def _steps(runs: Sequence[Run]) -> int:
    programs = [run.header.program for run in runs]
    return 0 if None in programs else sum(program.steps for program in programs if program)


def _grouped(timed: Sequence[Timed], by: Sequence[str]) -> str:
    found = [entry.observation for entry in timed]
    dtypes = dtypes_of(entry.case for entry in found)
    keys = [
        (*own.values(), alike_text(entry.case, dtypes))
        for own, entry in zip(
            projection.project((projection.FRAMEWORK, projection.OVERLOAD, *by), found),
            found,
            strict=True,
        )
    ]
    return projection.grouped_away(found, keys, projection.context_dimensions(found))


def _timed_of(
    found: Iterable[projection.Observation], basis: Basis = MEASURED, each_pass: bool = False
) -> Iterator[Timed]:
    """Yields the records that have a figure, or each of their passes."""
    for entry in found:
        for metrics in zip(basis.metrics) if each_pass else [basis.metrics]:
            time = basis.figure(entry.record, metrics)
            if time is not None:
                yield Timed(entry._replace(metric=metrics[0]) if each_pass else entry, time)


def _add(timed: Iterable[Timed]) -> Figure:
    return add_figures((entry.calls, entry.time) for entry in timed)


def _share(part: float, total: float) -> float:
    """Returns a part as a share; 0 of nothing, as a coarse clock may show it."""
    return part / total if total else 0.0


def group(
    timed: Sequence[Timed],
    total_ns: float,
    by: Sequence[str] = (projection.CASE,),
    rank: Callable[[Hotspot], float] = RANKINGS["time"],
) -> list[Hotspot]:
    """Returns the groups of records that have the same values of these dimensions and the same
    framework, with their shares of `total_ns`, the largest by `rank` first."""
    values = projection.project((projection.FRAMEWORK, *by), [entry.observation for entry in timed])
    groups = projection.group(
        zip(timed, values, strict=True), (tuple(own.values()) for own in values)
    )
    several = (
        len({own[projection.FRAMEWORK] for own in values}) > 1 and projection.FRAMEWORK not in by
    )
    found = [
        _hotspot({name: own[0][1][name] for name in by}, [entry for entry, _ in own], several)
        for own in groups.values()
    ]
    ranked, running = [], 0.0
    for spot in sorted(found, key=lambda entry: (-rank(entry), -entry.time.value, entry.name)):
        share = _share(spot.time.value, total_ns)
        running += share
        ranked.append(spot._replace(share=share, running=running))
    return ranked


def _hotspot(values: dict[str, str], timed: Sequence[Timed], has_framework: bool) -> Hotspot:
    """Returns a group that has no share yet. A case has the name of its operator."""
    case = timed[0].record.case
    words = (
        case.label if name == projection.CASE else projection.named(name, text)
        for name, text in values.items()
    )
    name = ", ".join(filter(None, words)) or "none"
    separator = ":" if projection.CALLED.issuperset(values) else ", "
    peaks = [CaseFigures(entry.record).figure(MEMORY.name) for entry in timed]
    return Hotspot(
        name=f"{case.target.framework}{separator}{name}" if has_framework else name,
        values=values,
        timed=tuple(timed),
        time=_add(timed),
        recorded_ns=_recorded(timed),
        median_ns=_median_call(timed),
        memory=max(filter(None, peaks), key=lambda peak: peak.value, default=None),
        headroom=_headroom(timed),
        share=0.0,
        running=0.0,
        may_be_stall=_may_be_stall(timed),
    )


def _headroom(timed: Iterable[Timed]) -> Headroom | None:
    return headroom_of((entry.record, entry.calls, entry.observation.metric) for entry in timed)


def _may_be_stall(timed: Sequence[Timed]) -> bool:
    waited = _add(entry for entry in timed if may_be_stall(entry.record))
    return waited.value > _add(timed).value / 2


def _recorded(timed: Iterable[Timed]) -> float | None:
    # The passes of a record are of the same calls.
    cases = {id(entry.record): entry.record.case for entry in timed}.values()
    times = [(case.count, recorded_time(case)) for case in cases]
    known = [count * time for count, time in times if time is not None]
    return sum(known) if known else None


def _median_call(timed: Iterable[Timed]) -> float:
    """Returns the median call's time, in nanoseconds; of two middle ones the smaller."""
    times = sorted((entry.time.value, entry.calls) for entry in timed)
    passed = list(itertools.accumulate(calls for _, calls in times))
    return times[bisect.bisect_left(passed, passed[-1] / 2)][0]


def _unmeasured(runs: Sequence[Run], basis: Basis) -> list[Unmeasured]:
    """Returns the cases without a time, those alike in all that is shown together."""
    found: list[tuple[Case, str, str]] = []
    every = {record.id: record.case for run in runs for record in run.records}
    every |= {case.id: case for run in runs for case in run.cases}
    settings = differing_settings(every.values())
    for run in runs:
        known = set()
        for record in run.records:
            known.add(record.id)
            if basis.figure(record, basis.metrics) is None:
                found.append((record.case, record.ended, _reason(record)))
        for record in basis.records(run):
            if record.id not in known and basis.figure(record, basis.metrics) is None:
                is_fused = any(site.program for site in record.case.sites)
                found.append((record.case, *(FUSED if is_fused else UNTIMED)))
            known.add(record.id)
        found += [(case, "not run", UNFINISHED) for case in run.cases if case.id not in known]
    groups: dict[tuple[str, str, str, str], list[Case]] = {}
    for case, status, reason in found:
        key = (case.label, status, reason, settings_text(case, settings))
        groups.setdefault(key, []).append(case)
    rows = [
        Unmeasured(
            *key,
            sum(case.count for case in cases),
            len(cases),
            tuple(dict.fromkeys(case.id for case in cases)),
        )
        for key, cases in groups.items()
    ]
    return sorted(rows, key=lambda row: (-row.calls, row.operator, row.settings, row.reason))


def _reason(record: Record) -> str:
    if record.reason:
        return one_line(record.reason)
    if record.verification is not None and record.is_wrong:
        return one_line(f"{record.verification.failed}: {record.verification.reason}")
    if is_recorded(record):
        return "it was recorded, and not measured"
    notes = [record.note(metric, *WITHOUT_FIGURE) for metric in record.case.passes]
    return next((note.message for note in notes if note is not None), "it has no finite time")
