"""The text after a run: how much was measured, what was not and why, and what was slow."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from tabulate import tabulate

from opperf.errors import one_line
from opperf.model import Record, Run, Status
from opperf.results.metrics import shown, shown_ms
from opperf.results.outliers import (
    COLUMNS,
    EXPLAINED,
    TEXTS,
    WORST,
    again,
    is_fuzzed,
    outliers,
)
from opperf.results.text import counted, duration, inputs_text

SLOWEST = 10

REASONS = 10
"""Groups of reasons that are told; the most frequent come first, the rest are in the file."""

EXAMPLES = 3
"""Operators named beside a reason."""

WIDTH = 100
"""Characters of a line, as wide as most terminals are made."""

INPUTS_WIDTH = 60


def summarise(run: Run, elapsed_s: float) -> str:
    """The summary of a run, as plain text."""
    sections = (
        _counts(run.records, elapsed_s),
        _not_measured(run.records),
        _out_of_line(run),
        _slowest(run.records),
        _excluded(run.header.excluded),
    )
    return "\n\n".join(section for section in sections if section)


def _counts(records: Sequence[Record], elapsed_s: float) -> str:
    operators = len({record.case.label for record in records})
    by_status = Counter(record.status for record in records)
    told = ", ".join(
        f"{by_status[status]} {status.value}" for status in Status if by_status[status]
    )
    return (
        f"{counted(operators, 'operator')}, {counted(len(records), 'record')}"
        f"{f' ({told})' if told else ''}, in {duration(elapsed_s)}"
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
        lines.append(_wrapped(f"{len(labels)} {status}: {reason} ({_examples(labels)})"))
    rest = ordered[REASONS:]
    if rest:
        count = sum(len(labels) for _, labels in rest)
        lines.append(f"  {count} more, for {counted(len(rest), 'other reason')}, in the output")
    return "\n".join(lines)


def _examples(labels: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(labels))
    more = len(distinct) - EXAMPLES
    return ", ".join(distinct[:EXAMPLES]) + (f" and {counted(more, 'other')}" if more > 0 else "")


def _slowest(records: Iterable[Record]) -> str:
    timed = [
        (median, record)
        for record in records
        if (median := shown(record, "forward", "median")) is not None
    ]
    if not timed:
        return ""
    timed.sort(key=lambda pair: -pair[0])
    rows = [
        (
            record.case.label,
            one_line(inputs_text(record.case), INPUTS_WIDTH),
            shown_ms(record, "forward", "median"),
        )
        for _, record in timed[:SLOWEST]
    ]
    table: str = tabulate(
        rows,
        headers=("Slowest", "Inputs", "Forward, median (ms)"),
        tablefmt="simple",
        disable_numparse=True,
        colalign=("left", "left", "right"),
    )
    return table


def _out_of_line(run: Run) -> str:
    """The shapes furthest above the line of their operator, in a run of random shapes."""
    found = outliers(run.records)[:WORST] if is_fuzzed(run) else []
    if not found:
        return ""
    table = tabulate(
        [[one_line(cell(outlier), INPUTS_WIDTH) for _, cell in COLUMNS] for outlier in found],
        headers=[title for title, _ in COLUMNS],
        disable_numparse=True,
        colalign=["left" if i < TEXTS else "right" for i in range(len(COLUMNS))],
    )
    worst = found[0].record
    return (
        f"{table}\n\n{EXPLAINED}\n"
        f"Measure the first again: {again('run', run, worst)}\n"
        f"Its script:              {again('show', run, worst)}"
    )


def _excluded(reasons: dict[str, str]) -> str:
    if not reasons:
        return ""
    groups: dict[str, list[str]] = {}
    for name in sorted(reasons):
        groups.setdefault(one_line(reasons[name], 2 * WIDTH), []).append(name)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    lines = [f"No benchmark for {counted(len(reasons), 'operator')}:"]
    lines += [
        _wrapped(f"{len(names)}: {reason}: {', '.join(names)}")
        for reason, names in ordered[:REASONS]
    ]
    rest = [name for _, names in ordered[REASONS:] for name in names]
    if rest:
        lines.append(_wrapped(f"{len(rest)}: for other reasons: {', '.join(sorted(rest))}"))
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent="  ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
