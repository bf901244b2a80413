"""A ranking as a report: its sentences and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from opperf.model import PASSES, MetricKind, Run
from opperf.plurals import counted
from opperf.reports.fields import NAME, Field, table_of
from opperf.reports.hotspots.account import Account, accounts_of
from opperf.reports.hotspots.chains import Savings, savings_of
from opperf.reports.hotspots.data import Hotspot, Hotspots, find_hotspots, group
from opperf.reports.hotspots.flame import flame_graph
from opperf.reports.hotspots.headroom import roofline_sentences
from opperf.reports.hotspots.modules import Module, module_tree
from opperf.reports.hotspots.places import has_places
from opperf.reports.hotspots.recording_report import (
    LEAST_SHARE,
    account_section,
    percent,
    places_table,
    savings_sections,
    tree_table,
    what_if_section,
)
from opperf.reports.hotspots.recording_values import recording_values
from opperf.reports.hotspots.roofline_plot import roofline_plot
from opperf.reports.hotspots.times import CALLS, MEASURED
from opperf.reports.hotspots.values import (
    columns_of,
    hotspot_fields,
    input_fields,
    rows_of,
    unmeasured_fields,
    values,
)
from opperf.reports.hotspots.what_if import Forecast, forecasts
from opperf.reports.markdown import code
from opperf.reports.model import Report, Section, Table
from opperf.reports.text import write_text
from opperf.results.projection import CALLED, CASE
from opperf.results.units import choose_unit, format_figure, mark_legend

SHOWN = 20
"""Operators in a report for people: a screen, and most of the time of any recorded program."""

SHOWN_SHORT = 10
"""Most operators in the ranking at the end of a run, like its slowest cases."""

SHOWN_CASES = 3
"""Most cases of an operator in the table of cases: the shapes to improve it at."""

KINDS = {MetricKind.WALL: "by the wall clock", MetricKind.KERNEL: "in kernels"}
"""Texts of the kinds of times."""


BUSY = 0.1
"""Share of the time, measured while the machine was busy, that may change operators' order."""

AGAIN = "Measure again {}when the machine is quiet."

ALONE = "with `opperf run --threads 1`, or "
"""A remedy where several threads wait for each other."""


class Recording(NamedTuple):
    """The content of a report beside the ranking, where runs are of recorded programs."""

    accounts: Sequence[Account] = ()
    forecasts: Sequence[Forecast] = ()
    tree: Module | None = None
    """None if no place of a call is known."""
    savings: Sequence[Savings] = ()
    """Of the same programs as the accounts."""


NO_RECORDING = Recording()


def recording_of(
    found: Hotspots, runs: Iterable[Run], factors: Mapping[str, float] = MappingProxyType({})
) -> Recording:
    """Returns what there is of recorded programs in runs and their ranking. `factors` are those of
    operators' times in a forecast.

    Raises `UsageError` for an operator that has no time.
    """
    listed = list(runs)
    accounts = accounts_of(listed)
    of_programs = (run for run in listed if run.header.program is not None)
    savings = [savings_of(*pair) for pair in zip(of_programs, accounts, strict=True)]
    tree = module_tree(found) if has_places(found) else None
    return Recording(accounts, forecasts(found, accounts, factors), tree, savings)


def summary(found: Hotspots) -> list[str]:
    """Returns what the ranking is of, and what it lacks, a sentence each."""
    cases = counted(len({timed.record.id for timed in found.timed}), "case")
    calls = counted(found.calls, "call")
    if found.steps > 1:
        calls += f" in {found.steps:,} steps"
    if found.basis is CALLS:
        return [
            f"{calls} of {cases}, ranked by their number: they were neither timed nor measured. "
            "`opperf run` measures the cases of this file.",
            *_doubts(found),
        ]
    unit = choose_unit("ns", [found.time])
    figure = format_figure(found.time, unit)
    total = " ".join(filter(None, (figure.value, unit.name, figure.share, figure.mark)))
    clocks = " and ".join(KINDS[kind] for kind in found.kinds if kind in KINDS)
    summaries = [timed.record.summaries for timed in found.timed]
    passes = [name for name in PASSES if any(name in own for own in summaries)]
    where = ", where measured" if len(passes) > 1 else ""
    how = f"each count x the median {' + '.join(passes)} time{where}"
    if found.basis is not MEASURED:
        how = "what the calls took in the recorded program"
    return [
        f"Time of {calls} of {cases}: {', '.join(filter(None, (total, clocks)))}; {how}.",
        *_doubts(found),
    ]


def _doubts(found: Hotspots) -> Iterable[str]:
    if found.unmeasured:
        calls = found.calls + found.unmeasured_calls
        cases = sum(row.cases for row in found.unmeasured)
        yield (
            f"{_lacking(found)}, and in no share: {found.unmeasured_calls:,} of "
            f"{counted(calls, 'call')} ({percent(found.unmeasured_calls / calls)}), those of "
            f"{counted(cases, 'case')}."
        )
    if found.excluded:
        yield f"{counted(len(found.excluded), 'operator')} had no case; json has the reasons."
    if len(found.kinds) > 1:
        yield "Times of two kinds are added, though they are not the same quantity."
    if found.launches:
        yield (
            f"{percent(found.launches)} of the time is of calls that take hardly longer than the "
            "launch of an empty kernel."
        )
    if found.busy:
        yield (
            f"{percent(found.busy)} of the time was measured while the machine was busy: it has "
            "waits for a core in it, or is that of one thread."
        )
    stalled = [row.name for row in found.rows if row.may_be_stall]
    if stalled:
        more = f" and {len(stalled) - SHOWN_CASES:,} more" if len(stalled) > SHOWN_CASES else ""
        yield (
            f"Calls may have waited for a core for most of their time, and rank last: "
            f"{', '.join(stalled[:SHOWN_CASES])}{more}."
        )
    yield from _remedy(found)
    if found.repeated:
        repeated = counted(found.repeated, "case")
        yield f"{repeated} of one file measured in another, too; added up."
    if found.grouped:
        yield f"{found.grouped}; the calls of each count."
    if found.headroom is not None:
        yield from roofline_sentences(found.headroom, found.time.value, found.steps)


def _remedy(found: Hotspots) -> Iterator[str]:
    """Yields what to do where waits for cores may have changed the order of operators."""
    if found.busy > BUSY or any(row.may_be_stall for row in found.rows):
        threads = {timed.record.case.settings.threads for timed in found.timed}
        yield AGAIN.format("" if threads == {1} else ALONE)


def _ranking_table(found: Hotspots, most: int | None) -> Table:
    shown = found.rows[:most]
    left = found.rows[len(shown) :]
    title = ", ".join("operator" if name in CALLED else name for name in found.by).capitalize()
    name: Field[Hotspot] = Field("", title, NAME, lambda row: row.name)
    fields = (name, *hotspot_fields(found), *(input_fields(found) if CASE in found.by else ()))
    share = sum(row.share for row in left)
    more = f"and {len(left):,} more, of {percent(share)} of the time" if left else ""
    return table_of(fields, shown, more=more)


def _cases_table(found: Hotspots, rows: Sequence[Hotspot], most: int | None = SHOWN_CASES) -> Table:
    """Returns the table of the cases that take most of these groups' time, `most` of each."""
    is_named = bool(CALLED & set(found.by))
    cases = [
        case._replace(name=row.name if is_named else f"{row.name}: {case.name}")
        for row in rows
        for case in group(row.timed, found.time.value)[:most]
        if case.share >= LEAST_SHARE
    ]
    title = "Most frequent cases" if found.basis is CALLS else "Slowest cases"
    name: Field[Hotspot] = Field("", title, NAME, lambda case: case.name)
    figures = (field for field in hotspot_fields(found) if field.key != "running_sum")
    return table_of((name, *figures, *input_fields(found)), cases)


def _lacking(found: Hotspots) -> str:
    """Returns a title of the cases without a time."""
    return "Not measured" if found.basis is MEASURED else "Not timed"


def _unmeasured_table(found: Hotspots, most: int | None) -> Table:
    shown = found.unmeasured[:most]
    left = found.unmeasured[len(shown) :]
    calls = counted(sum(row.calls for row in left), "call")
    more = f"and {len(left):,} more, of {calls}" if left else ""
    return table_of(unmeasured_fields(_lacking(found)), shown, more=more)


def _marks(found: Hotspots, most: int | None, accounts: Sequence[Account] = ()) -> list[str]:
    parts = (part.time for account in accounts for part in account.parts)
    return mark_legend([found.time, *(row.time for row in found.rows[:most]), *parts])


def report_of(
    found: Hotspots,
    most: int | None = None,
    recording: Recording = NO_RECORDING,
    has_tree: bool = False,
) -> Report:
    """Returns the report; `most` are its operators, by default all, or a screen for people."""
    shown = most or SHOWN
    tree = recording.tree
    return Report(
        command="report",
        title="",
        sections=[
            *(account_section(account) for account in recording.accounts),
            Section(items=summary(found)),
            *(what_if_section(forecast) for forecast in recording.forecasts),
            *(section for own in recording.savings for section in savings_sections(own)),
            *_drawings(found, tree, recording),
            *([Section(table=tree_table(found, tree), is_extra=not has_tree)] if tree else []),
            *(
                Section(table=table, is_extra=has_tree)
                for table in _tables(found, shown, tree is not None)
                if table.height
            ),
            *(Section(prose=[line]) for line in _marks(found, shown, recording.accounts)),
        ],
        data=values(found, most) | recording_values(found, *recording),
        header=columns_of(found, recording.savings),
        rows=rows_of(found, most, recording.accounts, recording.savings),
        headline="Operators by calls" if found.basis is CALLS else "Operators by time",
        answer=answer(found),
    )


def _drawings(found: Hotspots, tree: Module | None, recording: Recording) -> list[Section]:
    """Returns the flame graph and the roofline plot. The first is an image alone: by headroom the
    roofline's."""
    flame = flame_graph(found, tree or module_tree(found), recording.accounts)
    made = [Section(drawing=roofline_plot(found)), Section(flame=flame)]
    return made if found.rank == "headroom" else made[::-1]


ANSWERED = 3
"""Operators that the first sentence of a page names."""


def answer(found: Hotspots) -> list[str]:
    """Returns what to know first: the operators with the largest shares."""
    rows = [row for row in found.rows[:ANSWERED] if row.share >= LEAST_SHARE]
    if not rows:
        return []
    of = "calls" if found.basis is CALLS else "time of all calls"
    first, *others = (f"{code(row.name)} {percent(row.share)}" for row in rows)
    shares = " and ".join(filter(None, (", ".join([first, *others[:-1]]), *others[-1:])))
    doubts = (f"**What to do:** {remedy}" for remedy in _remedy(found))
    return [f"Largest shares of the {of}: {shares}.", *doubts]


def _tables(found: Hotspots, most: int, has_places: bool) -> Iterator[Table]:
    rows = found.rows[:most]
    yield _ranking_table(found, most)
    if has_places:
        yield places_table(found, rows)
    if CASE not in found.by:
        yield _cases_table(found, rows)
    yield _unmeasured_table(found, most)


def short_text(run: Run, width: int | None = None) -> str:
    """Returns a run's first operators; empty where no case was seen more than once."""
    if not any(record.case.count > 1 for record in run.records):
        return ""
    # The summary of the run lists the operators without a case, and has no roofline.
    found = find_hotspots([run])._replace(excluded={}, headroom=None)
    if not found.rows or found.basis is not MEASURED:
        return ""
    table = _ranking_table(found, SHOWN_SHORT)
    sections = (
        Section(items=summary(found)),
        Section(table=table, below=_marks(found, SHOWN_SHORT)),
    )
    return write_text(Report("run", "", sections, None), width).rstrip("\n")
