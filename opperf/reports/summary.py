"""The summary that is printed after a run: counts, reasons of failures, outliers, slowest cases."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from opperf.errors import one_line
from opperf.instruments.times import FORWARD
from opperf.model import (
    PASSES,
    REMOVED,
    Note,
    NoteCode,
    Record,
    Run,
    Status,
    VerificationCode,
    Waits,
)
from opperf.plurals import pluralize
from opperf.reports.fields import table_of
from opperf.reports.hotspots.ranking_report import short_text
from opperf.reports.model import Section
from opperf.reports.run_page import outlier_section
from opperf.reports.run_tables import case_fields, metric_field, wrap_all
from opperf.reports.text import section_text
from opperf.results import units
from opperf.results.columns import column_of, count_uncertain
from opperf.results.figures import CaseFigures, explain_unranked
from opperf.results.outliers import is_fuzzed
from opperf.results.projection import group
from opperf.results.rates import FigureColumn
from opperf.results.roofline import rooflines_of
from opperf.results.settings import differing_settings, noun_of, settings_text
from opperf.results.sweeps import swept_labels
from opperf.results.text import duration
from opperf.results.units import time_text

SLOWEST = 10

REASONS = 10
"""Most reasons in a list, the most frequent ones; the output file has all."""

EXAMPLES = 3
"""Most operators that are named with a reason."""

WIDTH = 100
"""Width of wrapped lines without a terminal."""


def summarise(run: Run, elapsed_s: float, width: int | None = None) -> str:
    """The summary of a run as plain text; tables are no wider than `width`."""
    lines = width or WIDTH
    texts = (
        _counts(run.records, elapsed_s),
        wrap_all(_doubts(run.records), width),
        section_text(_not_measured(run.records), lines),
        section_text(outlier_section(run), width) if is_fuzzed(run) else "",
        # The tables of a sweep have its times by size.
        _slowest([record for record in run.records if not record.case.point], width),
        short_text(run, width),
        section_text(_excluded(run.header.excluded), lines),
    )
    return "\n\n".join(filter(None, texts))


def verification_sentences(records: Sequence[Record]) -> list[str]:
    """Returns how many results have each code, and those that are wrong; none where nothing was
    verified."""
    found = [record for record in records if record.verification is not None]
    if not found:
        return []
    counts = Counter(record.verification.code for record in found if record.verification)
    listed = ", ".join(f"{counts[code]} {code.value}" for code in VerificationCode if counts[code])
    wrong = [record for record in found if record.is_wrong]
    if not wrong:
        return [f"{pluralize(len(found), 'result')} verified: {listed}"]
    settings = ("mode", *differing_settings(record.case for record in wrong))
    named = [_named(record, dict.fromkeys(settings)) for record in wrong[:EXAMPLES]]
    more = len(wrong) - len(named)
    named += [f"and {pluralize(more, 'other')}"] if more > 0 else []
    verb = "is" if len(wrong) == 1 else "are"
    of_all = f"{len(wrong)} of {pluralize(len(found), 'result')} {verb} wrong"
    return [f"{of_all} ({listed}): {'; '.join(named)}"]


def _named(record: Record, settings: Iterable[str]) -> str:
    found = record.verification
    assert found is not None
    how = settings_text(record.case, settings)
    return one_line(f"{record.case.label} in {how}, {found.failed}: {found.reason}", 2 * WIDTH)


def nothing_measured(records: Sequence[Record]) -> str:
    """Returns why a run has no measurement."""
    counts = Counter(record.status.value for record in records)
    statuses = ", ".join(f"{count} {status}" for status, count in counts.items())
    reason = next((record.reason for record in records if record.reason), "")
    return f"nothing was measured: {statuses}{reason and f'; e.g. {reason}'}"


def _counts(records: Sequence[Record], elapsed_s: float) -> str:
    operators = len(set(swept_labels([record.case for record in records])))
    by_status = Counter(record.status for record in records)
    statuses = ", ".join(
        f"{by_status[status]} {status.value}" for status in Status if by_status[status]
    )
    noun = noun_of(record.case for record in records)
    return (
        f"{pluralize(operators, noun)}, {pluralize(len(records), 'record')}"
        f"{f' ({statuses})' if statuses else ''}, in {duration(elapsed_s)}"
    )


def _doubts(records: Sequence[Record]) -> list[str]:
    sentences = verification_sentences(records)
    uncertain, figures = count_uncertain(records)
    if uncertain:
        are = "is" if uncertain == 1 else "are"
        of_all = pluralize(figures, "figure")
        advice = "opperf doctor says why"
        removed = (record.note(metric, *REMOVED) for record in records for metric in PASSES)
        if sum(note is not None for note in removed) >= uncertain:
            advice = "the notes say why"
        if {record.case.settings.runs for record in records} == {1}:
            advice = "-r 1 takes a single sample, whose uncertainty is unknown; use a larger -r"
        sentences.append(f"{uncertain} of {of_all} {are} uncertain; {advice}")
    sentences += filter(None, [_busy(records)])
    stalled = [record for record in records if any(n.code == NoteCode.STALL for n in record.notes)]
    for record in stalled[:EXAMPLES]:
        notes = (note for note in record.notes if note.code == NoteCode.STALL)
        texts = "; ".join(f"{note.metric}: {note.message}" for note in notes)
        sentences.append(f"{record.case.label}: {texts}")
    more = len(stalled) - EXAMPLES
    if more > 0:
        sentences.append(f"{pluralize(more, 'other case')} stalled too; see the notes")
    sentences += _said(records)
    sentences += filter(None, [impossible_times(records)])
    throttled = [record for record in records if record.note("", NoteCode.THROTTLED)]
    if throttled:
        were = "was" if len(throttled) == 1 else "were"
        reasons = sorted({entry for r in throttled if r.gpu is not None for entry in r.gpu.reasons})
        sentences.append(
            f"{pluralize(len(throttled), 'case')} {were} measured while the GPU lowered its clocks "
            f"({', '.join(reasons)}); see the notes"
        )
    return sentences


SAID = (
    NoteCode.WRITTEN,
    NoteCode.LEFT_CHANGED,
    *REMOVED,
    NoteCode.NOT_PRODUCED,
    NoteCode.NOT_PROFILED,
    NoteCode.LEAST,
    NoteCode.FORMULA,
)
"""Codes of notes on what was measured, which are printed after a run."""


def _text(note: Note) -> str:
    if note.code == NoteCode.NOT_PRODUCED:
        return f"no {note.metric}: {note.message}"
    return f"{note.metric} {note.message}" if note.code == NoteCode.LEAST else note.message


def _said(records: Sequence[Record]) -> list[str]:
    noted = {
        (record.case.label, _text(note)): None
        for record in records
        for note in record.notes
        if note.code in SAID
    }
    sentences = [f"{label}: {message}" for label, message in list(noted)[:EXAMPLES]]
    more = len(noted) - EXAMPLES
    return sentences + ([f"{pluralize(more, 'other note')} in the records"] if more > 0 else [])


def impossible_times(records: Iterable[Record]) -> str:
    """Returns which times are shorter than the machine's peaks allow; empty where none is."""
    found = [
        f"{record.case.label} {metric} ({time_text(own.time.median)}; the minimum is "
        f"{time_text(own.minimum_ns)})"
        for record in records
        for metric, own in rooflines_of(record).items()
        if own.is_impossible
    ]
    if not found:
        return ""
    are = "is" if len(found) == 1 else "are"
    return (
        f"{pluralize(len(found), 'time')} {are} impossible by the peaks of the machine: "
        f"{_examples(found)}; check what the call computes, or measure the peaks again "
        "(opperf doctor --peaks)"
    )


def _busy(records: Sequence[Record]) -> str:
    waited = [
        record for record in records if any(note.code == NoteCode.BUSY for note in record.notes)
    ]
    if not waited:
        return ""
    every = [waits for record in records for waits in record.waits.values()]
    share = _waiting_share(every)
    return (
        f"the machine was busy: some thread waited for a core in {share:.0%} of the time that "
        f"samples took, and the times of {pluralize(len(waited), 'case')} have such waits in them, "
        "or are those of one thread; see the notes, and measure again when less runs beside"
    )


def _waiting_share(every: Iterable[Waits]) -> float:
    """Returns the share of the sampling in which a thread waited, of the machine's or our own."""
    waited_s = wall_s = 0.0
    for waits in every:
        counted = waits.waited_s if waits.pressure_s is None else waits.pressure_s
        waited_s += min(waits.wall_s, counted or 0.0)
        wall_s += waits.wall_s
    return waited_s / wall_s if wall_s else 0.0


def _not_measured(records: Iterable[Record]) -> Section:
    failed = [record for record in records if record.status is not Status.OK]
    groups = group(
        (record.case.label for record in failed),
        ((record.status.value, one_line(record.reason, 2 * WIDTH)) for record in failed),
    )
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    items = [
        f"{len(labels)} {status}: {reason} ({_examples(labels)})"
        for (status, reason), labels in ordered[:REASONS]
    ]
    rest = ordered[REASONS:]
    if rest:
        count = sum(len(labels) for _, labels in rest)
        items.append(f"{count} more, for {pluralize(len(rest), 'other reason')}, in the output")
    return Section("Not measured" if items else "", items=items)


def _examples(labels: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(labels))
    more = len(distinct) - EXAMPLES
    return ", ".join(distinct[:EXAMPLES]) + (f" and {pluralize(more, 'other')}" if more > 0 else "")


def _slowest(records: Iterable[Record], width: int | None) -> str:
    timed = [
        (record, time)
        for record in records
        if (time := CaseFigures(record).compared.get(FORWARD.name)) is not None
    ]
    # The table of so few results has them all.
    if len(timed) <= SLOWEST:
        return ""
    every = [record for record, _ in timed]
    unranked = explain_unranked(every, [FORWARD.name])
    ranked = sorted((pair for pair in timed if pair[1].is_ranked), key=lambda pair: -pair[1].median)
    explained = [unranked] if unranked else []
    if not ranked:
        return wrap_all(explained, width)
    forward = column_of(FORWARD)
    slowest = _in_shown_order([record for record, _ in ranked[:SLOWEST]], forward)
    settings = differing_settings(record.case for record in slowest)
    fields = (*case_fields(slowest, every, settings, "Slowest"), metric_field(forward))
    table = table_of(fields, slowest, is_split=True)
    legend = units.mark_legend(map(forward.read, slowest))
    return section_text(Section(table=table, below=[*legend, *explained]), width)


def _in_shown_order(records: Sequence[Record], column: FigureColumn) -> list[Record]:
    """Returns the records as the table shows them: 11 would otherwise stand above 11.4."""
    figures = [column.read(record) for record in records]
    unit = units.choose_unit(column.metric.unit, figures)
    values = [units.format_figure(figure, unit).value for figure in figures]
    shown = [-math.inf if value == units.NOT_APPLICABLE else float(value) for value in values]
    order = sorted(range(len(records)), key=lambda place: -shown[place])
    return [records[place] for place in order]


def _excluded(reasons: Mapping[str, str]) -> Section:
    listed = sorted(reasons)
    groups = group(listed, (one_line(reasons[name], 2 * WIDTH) for name in listed))
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    items = [f"{len(names)}: {reason}: {', '.join(names)}" for reason, names in ordered[:REASONS]]
    rest = [name for _, names in ordered[REASONS:] for name in names]
    if rest:
        items.append(f"{len(rest)}: for other reasons: {', '.join(sorted(rest))}")
    title = f"No benchmark for {pluralize(len(reasons), 'operator')}" if items else ""
    return Section(title, items=items)
