"""Measures times of which waits for a core are a part again, with one thread.

Beside a busy process, all threads of a call wait for the one whose core the process has, in each
call for as long. A single thread, on a core with little other load, waits less, and mostly takes
longer than several that do not wait: where it takes less, the first time was one of waits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

import msgspec

from opperf.execution.stalls import with_times_of
from opperf.instruments.profilers.waits import NOTABLE
from opperf.model import PASSES, Case, Note, NoteCode, Pass, Record, Status, Waits
from opperf.results.units import time_text
from opperf.sources.varying import group_by_process

MOST = 20
"""Most cases that are measured again with one thread: twice as many as a ranking shows, those that
stand for the most time. Each takes no longer than before."""

SHORTER = 0.7
"""Largest ratio of the time with one thread to that with all for the first to take its place. A
small operator is up to a fifth faster with one thread on a quiet machine too."""


class Contended(NamedTuple):
    """A case that is measured with one thread, and the ids of the records that it decides about."""

    case: Case
    ids: list[str]


def find_contended(records: Iterable[Record], unsettled: Collection[str] = ()) -> list[Contended]:
    """Returns the cases to measure with one thread, those of one process together. `unsettled` are
    ids of records whose second measurement was as long an outlier as the first."""
    found = [record for record in records if _is_contended(record, record.id in unsettled)]
    found.sort(key=_all_calls_ns, reverse=True)
    cases: dict[str, Contended] = {}
    for record in found[:MOST]:
        case = _with_one_thread(record.case)
        cases.setdefault(case.id, Contended(case, [])).ids.append(record.id)
    return [
        cases[case.id] for case in group_by_process(contended.case for contended in cases.values())
    ]


def _is_contended(record: Record, is_absurd: bool) -> bool:
    if record.status is not Status.OK or record.rounds > 1 or record.case.settings.threads == 1:
        return False
    if any(_is_busy(record, metric) for metric in PASSES):
        return True
    return is_absurd and any(map(_may_have_waited, record.waits.values()))


def _is_busy(record: Record, metric: Pass) -> bool:
    """Returns whether the samples of a pass waited for cores. A single one is shown to be uncertain
    anyway."""
    samples = record.samples.get(metric, ())
    return len(samples) > 1 and bool(record.note(metric, NoteCode.BUSY))


def _may_have_waited(waits: Waits) -> bool:
    """Returns whether threads waited for a core for a notable part of the time, as far as is
    known."""
    return waits.waited_s is None or waits.waited_s > NOTABLE * waits.wall_s


def _all_calls_ns(record: Record) -> float:
    times = (record.summaries[metric].median for metric in PASSES if metric in record.summaries)
    return record.case.count * sum(times)


def _with_one_thread(case: Case) -> Case:
    settings = msgspec.structs.replace(case.settings, threads=1)
    return without_memory(msgspec.structs.replace(case, settings=settings))


def without_memory(case: Case) -> Case:
    """Returns the case without a measurement of its memory, which is the same each time."""
    settings = msgspec.structs.replace(case.settings, memory=False)
    return msgspec.structs.replace(case, settings=settings)


def settle_contended(first: Record, alone: Record) -> Record:
    """Returns the record of a case that was measured again with one thread: the first, but with the
    times of one thread where they are much shorter, which a note says."""
    if alone.status is not Status.OK:
        return first
    noted = [metric for metric in PASSES if first.note(metric, NoteCode.BUSY)]
    # An outlier may have waits that its samples do not show.
    waited = [metric for metric in noted or PASSES if _is_longer(metric, first, alone)]
    if not waited:
        return first
    marks = [Note(metric, NoteCode.BUSY, _text(metric, first, alone)) for metric in waited]
    # Waits of the one thread say nothing of the times that it replaces.
    others = tuple(note for note in alone.notes if note.code != NoteCode.BUSY.value)
    return with_times_of(first, msgspec.structs.replace(alone, notes=others), waited, marks)


def _is_longer(metric: Pass, first: Record, alone: Record) -> bool:
    if metric not in first.summaries or metric not in alone.summaries:
        return False
    return alone.summaries[metric].median < SHORTER * first.summaries[metric].median


def _text(metric: Pass, first: Record, alone: Record) -> str:
    before, after = (time_text(record.summaries[metric].median) for record in (first, alone))
    return (
        f"the machine was busy: with all threads, which waited for cores, it took {before}; shown "
        f"is the time with one thread, {after}"
    )
