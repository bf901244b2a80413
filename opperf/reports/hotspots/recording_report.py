"""Sections and tables on a recording beside its ranking: the program, its step and what explains
it, the places of calls, the modules, and what faster operators would make of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from opperf.model import MetricKind
from opperf.plurals import counted, pluralize
from opperf.reports.fields import MILLISECONDS, NAME, Field, table_of
from opperf.reports.hotspots.account import NAMES, Account
from opperf.reports.hotspots.chains import Savings
from opperf.reports.hotspots.data import Hotspot, Hotspots
from opperf.reports.hotspots.modules import Module, unite_alike
from opperf.reports.hotspots.places import OTHER, PHASES, in_order, places_of, unite_numbered
from opperf.reports.hotspots.recording_values import (
    amount_fields,
    part_fields,
    saving_fields,
    what_if_fields,
)
from opperf.reports.hotspots.times import CALLS
from opperf.reports.hotspots.values import CalledAt, place_fields
from opperf.reports.hotspots.what_if import Forecast
from opperf.reports.model import Cell, Fact, Section, Table
from opperf.results.units import time_text

LEAST_SHARE = 0.01
"""Share of the time below which tables omit a case, place or module: it could save no more."""

SHOWN_PLACES = 3
"""Most places of an operator in the table of places."""


def percent(share: float) -> str:
    """Returns a share as text."""
    return f"{100 * share:.1f} %"


def account_section(account: Account) -> Section:
    """Returns what a program's step consists of."""
    parts = account.parts
    has_steps = all(part.key != "recorded_program" for part in parts)
    # Of programs and kernels there may be hundreds.
    named = {*NAMES, *PHASES, OTHER}
    picked = tuple(
        i for i, part in enumerate(parts) if part.key in named or part.share >= LEAST_SHARE
    )
    left = len(parts) - len(picked)
    title = "Time of a step" if has_steps else "Time of the program"
    shown = picked if left else None
    table = table_of(part_fields(title), parts, shown=shown, more=_more(left, "step"))
    return Section(
        facts=tuple(_facts(account)), table=table if parts else None, below=tuple(_remarks(account))
    )


def _facts(account: Account) -> Iterator[Fact]:
    program = account.program
    steps = counted(program.steps, "step")
    calls = counted(program.calls or account.calls, "call")
    yield Fact("Program", program.command, f"{program.framework}, {steps}, {calls}")
    if program.machine:
        yield Fact("Recorded by", program.machine)
    if account.machines:
        yield Fact("Measured by", "; ".join(account.machines))


def _remarks(account: Account) -> Iterator[str]:
    program = account.program
    for note in program.notes:
        yield f"Note: {note}"
    if account.step is None:
        yield (
            "The program's own time is unknown, so that nothing says how much of it its operators "
            "explain."
        )
    elif account.is_elsewhere:
        yield (
            "The cases were measured by another machine than the program's: their times are not "
            "compared with its step."
        )
    elif account.machines and not program.machine:
        yield (
            "The program's machine is unknown: if another one measured the cases, what its step "
            "and their times leave of each other says nothing."
        )
    if program.calls > account.calls:
        rest = "; the others are in what is not explained" if account.parts else ""
        yield (
            f"The file has {account.calls:,} of the {counted(program.calls, 'call')} of the "
            f"program{rest}."
        )
    if len(account.parts) > 1 and account.untimed:
        calls = counted(account.untimed, "call")
        yield f"{calls} without a time are in what is not explained."
    yield from _unexplained(account)


def _unexplained(account: Account) -> Iterator[str]:
    """Yields what is known of the time that no operator explains."""
    parts = {part.key: part for part in account.parts}
    own, recorded = account.program.step, account.program.recorded_step
    if own is not None and recorded is not None and own.median and "recorded_step" in parts:
        ratio = recorded.mean / own.median
        yield f"A step took {ratio:.2f} times as long while it was recorded."
    left = parts.get("unexplained")
    if left is not None and left.time.value < 0:
        yield (
            "The operators take longer one by one than the whole step: in the program they "
            "overlap, or find their data in caches."
            if "measured" in parts and parts["measured"].share > 1
            else "What was timed took longer while it was recorded than the step without a "
            "recorder."
        )
    if left is not None and "measured" in parts and account.kinds == (MetricKind.KERNEL,):
        yield (
            "The measured times are those of kernels: dispatch, in the framework and in Python, is "
            "in what is not explained."
        )
    if account.dispatch_ns is not None and "measured" in parts and account.step is not None:
        calls = account.calls / account.program.steps
        total = calls * account.dispatch_ns
        share = total / account.step.value if account.step.value else 0.0
        yield (
            f"A measured call that moves no data takes {time_text(account.dispatch_ns)}: about "
            f"{time_text(total)} ({percent(share)}) of the operators' time is the dispatch of "
            f"{pluralize(round(calls), 'call')}."
        )
    yield from _compiled(account)
    if len(account.parts) > 1:
        yield (
            "Between operators, or not explained, are the program's own Python, compiling, "
            "dispatch before the call of an operator, data, copies and waits: a recording cannot "
            "tell these apart."
        )


def _compiled(account: Account) -> Iterator[str]:
    """Yields what is known of compiled programs, and what is not."""
    steps = account.program.steps
    alone = sum(own.alone_ns for own in account.compiled)
    if alone:
        fused = sum(own.time_ns for own in account.compiled if own.alone_ns)
        yield (
            f"The operators in compiled programs take {time_text(alone / steps)} of a step one by "
            f"one, and {time_text(fused / steps)} fused there."
        )
    lacking = [made for made in account.program.compiled if made.time_ns is None]
    if lacking:
        runs = sum(made.runs for made in lacking)
        yield (
            f"{counted(len(lacking), 'compiled program')}, such as {lacking[0].name}, ran "
            f"{pluralize(runs, 'time')}: they were not timed, as `opperf record --timed` does, so "
            "that their operators one by one stand for them."
        )


def places_table(found: Hotspots, rows: Iterable[Hotspot]) -> Table:
    """Returns the table of the places where these operators were called, those of each that take
    most of its time. Modules that differ in their numbers are one."""
    shown = [
        CalledAt(row.name, place)
        for row in rows
        for place in unite_numbered(places_of(row.timed, found))[:SHOWN_PLACES]
        if place.share >= LEAST_SHARE
    ]
    has_phases = len({row.place.site.phase for row in shown}) > 1
    return table_of(place_fields(found, has_phases), shown)


class _ModuleRow(NamedTuple):
    depth: int
    module: Module


def _phase_field(phase: str) -> Field[_ModuleRow]:
    return Field(
        "", phase.capitalize(), MILLISECONDS, lambda row: row.module.phases.get(phase), extra=1
    )


def tree_table(found: Hotspots, tree: Module) -> Table:
    """Returns the tree of modules, those of a list that are alike in one row."""
    rows = [_ModuleRow(*row) for row in unite_alike(tree).walk()]
    total = found.time.value
    phases = in_order(phase for row in rows for phase in row.module.phases)
    by_phase = len(phases) > 1 and found.basis is not CALLS
    title = "Most frequent operator" if found.basis is CALLS else "Slowest operator"
    fields: tuple[Field[_ModuleRow], ...] = (
        Field("", "Module", NAME, lambda row: Cell(row.module.name, depth=row.depth)),
        *amount_fields(found, lambda row: row.module.total),
        *(map(_phase_field, phases) if by_phase else ()),
        Field("", title, NAME, lambda row: row.module.slowest()),
    )
    picked = tuple(
        i for i, row in enumerate(rows) if total and row.module.total.time / total >= LEAST_SHARE
    )
    left = len(rows) - len(picked)
    shown = picked if left else None
    return table_of(fields, rows, shown=shown, more=_more(left, "time"))


def _more(left: int, of: str) -> str:
    """Returns how many rows a table omits; empty if it has all."""
    return (
        f"and {left:,} more, each of less than {percent(LEAST_SHARE)} of the {of}" if left else ""
    )


def what_if_section(forecast: Forecast) -> Section:
    """Returns what changes of operators make of a program's time, and on which assumption."""
    table = table_of(what_if_fields(forecast.is_step), forecast.rows)
    return Section(table=table, below=tuple(_assumptions(forecast)))


def _assumptions(forecast: Forecast) -> Iterator[str]:
    yield (
        "Assumes that the program saves what the operator saves (Amdahl's law): all else takes as "
        "long as now, and nothing overlaps."
    )
    if forecast.is_scaled:
        yield (
            "The operators' shares of their sum stand for their shares of the step: their times "
            "add up to more than it, or are of another machine."
        )
    if not forecast.is_step:
        yield "The time of the program itself is unknown: these are of its operators alone."


SHOWN_CHAINS = 10
"""Most chains in the table: those that follow save little."""


def savings_sections(found: Savings) -> Iterator[Section]:
    """Yields what fusing the chains of a program would save, and on which assumption."""
    if found.rows:
        table = table_of(saving_fields(), found.rows, SHOWN_CHAINS)
        yield Section(
            title="What fusing would save", table=table, below=tuple(_saving_remarks(found))
        )


def _saving_remarks(found: Savings) -> Iterator[str]:
    yield (
        "A chain is of calls that one kernel could compute: nothing else reads what is between "
        "them. Count and times are those of one step; Between is what is written and read between "
        "the calls."
    )
    if not any(row.bytes_ns is not None for row in found.rows):
        yield "The calls were not measured: `opperf run` measures those of this file."
        return
    yield (
        "By bytes: at the measured bandwidth of the memory that holds what the call moves, of an "
        "elementwise call at most their share of its time."
        if found.has_peaks
        else "By bytes: the share of the time of elementwise calls that is of these bytes, as no "
        "bandwidth is known; `opperf doctor --peaks` measures it."
    )
    if found.call_ns is not None:
        yield (
            f"By dispatch: {time_text(found.call_ns)} for each call but one, which the time of a "
            "call that moves no data is."
        )
    if not any(row.eager is not None for row in found.rows):
        yield "`opperf run RECORDING --chains 5` measures the largest, eager and compiled."
