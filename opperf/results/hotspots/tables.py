"""The sentences and tables of a ranking, which every format for people has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opperf.instruments.memory import MEMORY
from opperf.model import PASSES, Case, Metric, MetricKind
from opperf.results.hotspots.data import Hotspot, Hotspots, Unmeasured, group
from opperf.results.settings import settings_text
from opperf.results.table import inputs_texts, mark_legend
from opperf.results.terminal import Column, figure_column
from opperf.results.text import Shown, count_text, inputs_text
from opperf.results.units import Figure, choose_unit, format_figure

SHOWN = 20
"""Most operators in a report for people, unless it is asked for more: a screen. They have most of
the time of any recorded program."""

SHOWN_SHORT = 10
"""Most operators in the ranking at the end of a run, as of its slowest cases."""

SHOWN_CASES = 3
"""Most cases of an operator in the table of cases: the shapes to improve it at."""

LEAST_SHARE = 0.01
"""Share of the time below which the table of cases omits one: it could save no more than that."""

TIME = Metric("time", "ns", MetricKind.DERIVED, title="Time", description="count x time of a call")

MEDIAN = Metric(
    "median", "ns", MetricKind.DERIVED, title="Median", description="median time of a call"
)

KINDS = {
    MetricKind.WALL: "by the wall clock",
    MetricKind.KERNEL: "in kernels",
}
"""Texts of the kinds of times."""


class Table(NamedTuple):
    """A table, and what is said below it."""

    columns: tuple[Column, ...]
    more: str = ""
    """A line on the rows that are not in it."""


def percent(share: float) -> str:
    """Returns a share as text."""
    return f"{100 * share:.1f} %"


def summary(found: Hotspots) -> list[str]:
    """Returns what the ranking is of, and what it lacks, a sentence each."""
    unit = choose_unit(TIME.unit, [found.time])
    figure = format_figure(found.time, unit)
    total = " ".join(filter(None, (figure.value, unit.name, figure.share, figure.mark)))
    clocks = " and ".join(KINDS[kind] for kind in found.kinds if kind in KINDS)
    cases = len({one.record.id for one in found.timed})
    timed = [one.record.summaries for one in found.timed]
    passes = [name for name in PASSES if any(name in summaries for summaries in timed)]
    where = ", where measured" if len(passes) > 1 else ""
    return [
        f"Time of {count_text(found.calls, 'call')} of {count_text(cases, 'case')}: "
        f"{', '.join(filter(None, (total, clocks)))}; "
        f"each count x the median {' + '.join(passes)} time{where}.",
        *_doubts(found),
    ]


def _doubts(found: Hotspots) -> Iterable[str]:
    """Yields what a reader must know besides."""
    if found.unmeasured:
        calls = found.calls + found.unmeasured_calls
        cases = sum(one.cases for one in found.unmeasured)
        yield (
            f"Not measured, and in no share: {found.unmeasured_calls:,} of "
            f"{count_text(calls, 'call')} ({percent(found.unmeasured_calls / calls)}), those of "
            f"{count_text(cases, 'case')}."
        )
    if found.excluded:
        yield f"{count_text(len(found.excluded), 'operator')} had no case; json has the reasons."
    if len(found.kinds) > 1:
        yield "Times of two kinds are added, though they are not the same quantity."
    if found.launches:
        yield (
            f"{percent(found.launches)} of the time is of calls that take hardly longer than the "
            "launch of an empty kernel."
        )
    if found.busy:
        yield (
            f"{percent(found.busy)} of the time was measured on a busy machine: it has waits for a "
            "core in it, or is that of one thread."
        )
    if found.repeated:
        repeated = count_text(found.repeated, "case")
        yield f"{repeated} of one file measured in another, too; added up."
    if found.settings:
        yield (
            f"Cases of the same inputs differ in {', '.join(found.settings)}; the calls of each "
            "count."
        )


def ranking_table(found: Hotspots, most: int | None, width: int | None) -> Table:
    """Returns the table of the first `most` groups, or of all."""
    shown = found.rows[:most]
    left = found.rows[len(shown) :]
    columns = [Column("Operator", [one.name for one in shown]), *_figures(shown)]
    if found.by == "case":
        columns += _inputs(found, shown, columns, width)
    share = sum(one.share for one in left)
    more = f"and {len(left):,} more, of {percent(share)} of the time" if left else ""
    return Table(tuple(columns), more)


def _figures(rows: Sequence[Hotspot]) -> list[Column]:
    """Returns the columns of figures of groups."""
    has_memory = any(one.memory is not None for one in rows)
    return [
        figure_column(TIME, [one.time for one in rows]),
        Column("Share", [percent(one.share) for one in rows], is_text=False),
        Column("Sum", [percent(one.running) for one in rows], is_text=False),
        Column("Calls", [f"{one.calls:,}" for one in rows], is_text=False),
        figure_column(MEDIAN, [Figure(one.median_ns) for one in rows]),
        *(
            [figure_column(MEMORY, [one.memory for one in rows], is_extra=True)]
            if has_memory
            else []
        ),
    ]


def cases_table(
    found: Hotspots, rows: Sequence[Hotspot], width: int | None, most: int | None = SHOWN_CASES
) -> Table:
    """Returns the table of the cases of these groups that take most of their time: at most `most`
    of each, or all, and none that hardly matters."""
    shown = [
        (row.name, one)
        for row in rows
        for one in group(row.timed, found.time.value)[:most]
        if one.share >= LEAST_SHARE
    ]
    cases = [one for _, one in shown]
    figures = [one for one in _figures(cases) if one.title != "Sum"]
    columns = [Column("Slowest cases", [name for name, _ in shown]), *figures]
    return Table((*columns, *_inputs(found, cases, columns, width)))


def _inputs(
    found: Hotspots, cases: Sequence[Hotspot], others: Sequence[Column], width: int | None
) -> list[Column]:
    """Returns the columns of the inputs of cases, and of the settings in which they differ."""
    settings = [settings_text(one.timed[0].record.case, found.settings) for one in cases]
    columns = [Column("Settings", settings, wraps=True)] if any(settings) else []
    run = [_shown(one.record.case) for one in found.timed]
    shown = [_shown(one.timed[0].record.case) for one in cases]
    return [*columns, inputs_texts(shown, run, [*others, *columns], width)]


def _shown(case: Case) -> Shown:
    return case.label, inputs_text(case)


def unmeasured_table(unmeasured: Sequence[Unmeasured], most: int | None) -> Table:
    """Returns the table of what was not measured and why, of the first `most` or of all."""
    shown = unmeasured[:most]
    left = unmeasured[len(shown) :]
    columns = (
        Column("Not measured", [one.operator for one in shown], is_whole=True),
        Column("Calls", [f"{one.calls:,}" for one in shown], is_text=False),
        Column("Cases", [f"{one.cases:,}" for one in shown], is_text=False),
        Column("Reason", [f"{one.status}: {one.reason}" for one in shown], wraps=True),
    )
    calls = count_text(sum(one.calls for one in left), "call")
    return Table(columns, f"and {len(left):,} more, of {calls}" if left else "")


def marks(found: Hotspots, most: int | None) -> list[str]:
    """Returns the sentence on the mark of uncertain figures, if a time has it."""
    return mark_legend([found.time, *(one.time for one in found.rows[:most])])
