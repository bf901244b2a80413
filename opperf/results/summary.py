"""The summary that is printed after a run: counts, reasons of failures, outliers, slowest cases."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from opperf.errors import one_line
from opperf.metrics import FORWARD
from opperf.model import Record, Run, Status
from opperf.results.outliers import (
    EXPLANATION,
    MOVED,
    SHOWN_OUTLIERS,
    commands_for,
    is_fuzzed,
    outliers,
)
from opperf.results.table import inputs_column, metric_column, settings_columns
from opperf.results.terminal import Column, figure_column, table_text
from opperf.results.text import duration, pluralize
from opperf.results.units import Figure, figure_of

SLOWEST = 10

REASONS = 10
"""Most reasons in a list, the most frequent ones; the output file has all."""

EXAMPLES = 3
"""Most operators that are named with a reason."""

WIDTH = 100
"""Width of wrapped lines: that of most terminals."""


def summarise(run: Run, elapsed_s: float, width: int | None = None) -> str:
    """The summary of a run as plain text; tables are no wider than `width`."""
    sections = (
        _counts(run.records, elapsed_s),
        _not_measured(run.records),
        _outlier_table(run, width),
        # The tables of a sweep have its times by size.
        _slowest([record for record in run.records if not record.case.point], width),
        _excluded(run.header.excluded),
    )
    return "\n\n".join(section for section in sections if section)


def _counts(records: Sequence[Record], elapsed_s: float) -> str:
    operators = len({record.case.label for record in records})
    by_status = Counter(record.status for record in records)
    statuses = ", ".join(
        f"{by_status[status]} {status.value}" for status in Status if by_status[status]
    )
    return (
        f"{pluralize(operators, 'operator')}, {pluralize(len(records), 'record')}"
        f"{f' ({statuses})' if statuses else ''}, in {duration(elapsed_s)}"
    )


def _not_measured(records: Iterable[Record]) -> str:
    groups: dict[tuple[str, str], list[str]] = {}
    for record in records:
        if record.status is not Status.OK:
            key = (record.status.value, one_line(record.reason, 2 * WIDTH))
            groups.setdefault(key, []).append(record.case.label)
    if not groups:
        return ""
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    lines = ["Not measured:"]
    for (status, reason), labels in ordered[:REASONS]:
        lines.append(_wrap(f"{len(labels)} {status}: {reason} ({_examples(labels)})"))
    rest = ordered[REASONS:]
    if rest:
        count = sum(len(labels) for _, labels in rest)
        lines.append(f"  {count} more, for {pluralize(len(rest), 'other reason')}, in the output")
    return "\n".join(lines)


def _examples(labels: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(labels))
    more = len(distinct) - EXAMPLES
    return ", ".join(distinct[:EXAMPLES]) + (f" and {pluralize(more, 'other')}" if more > 0 else "")


def _slowest(records: Iterable[Record], width: int | None) -> str:
    timed = [record for record in records if FORWARD.name in record.summaries]
    if not timed:
        return ""
    timed.sort(key=lambda record: -record.summaries[FORWARD.name].median)
    slowest = timed[:SLOWEST]
    columns = (
        Column("Slowest", [record.case.label for record in slowest]),
        inputs_column(slowest, timed),
        *settings_columns(slowest),
        metric_column(FORWARD, slowest),
    )
    return table_text(columns, width)


def _outlier_table(run: Run, width: int | None) -> str:
    """A table of the outliers in a run of random shapes, and the commands for the first."""
    found = outliers(run.records)[:SHOWN_OUTLIERS] if is_fuzzed(run) else []
    if not found:
        return ""
    records = [outlier.record for outlier in found]
    columns = (
        Column("Outlier", [record.case.label for record in records]),
        Column("Pass", [outlier.metric for outlier in found]),
        inputs_column(records, run.records),
        Column("Id", [record.id for record in records]),
        figure_column(MOVED, [Figure(record.moved_bytes) for record in records]),
        figure_column(
            FORWARD, [figure_of(one.record.summaries[one.metric]) for one in found], "Median"
        ),
        figure_column(FORWARD, [Figure(one.expected_ns) for one in found], "Line"),
        Column("Ratio", [f"{one.ratio:.2f}" for one in found], is_text=False),
    )
    lines = [table_text(columns, width), "", EXPLANATION]
    commands = commands_for(run, found[0].record)
    lines += [f"{AGAIN[name]:<24} {command}" for name, command in commands.items()]
    return "\n".join(lines)


AGAIN = {"run": "Measure the first again:", "show": "Its script:"}
"""Labels of the commands for the first outlier."""


def _excluded(reasons: dict[str, str]) -> str:
    if not reasons:
        return ""
    groups: dict[str, list[str]] = {}
    for name in sorted(reasons):
        groups.setdefault(one_line(reasons[name], 2 * WIDTH), []).append(name)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    lines = [f"No benchmark for {pluralize(len(reasons), 'operator')}:"]
    lines += [
        _wrap(f"{len(names)}: {reason}: {', '.join(names)}") for reason, names in ordered[:REASONS]
    ]
    rest = [name for _, names in ordered[REASONS:] for name in names]
    if rest:
        lines.append(_wrap(f"{len(rest)}: for other reasons: {', '.join(sorted(rest))}"))
    return "\n".join(lines)


def _wrap(text: str) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent="  ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
