"""The columns of recorded programs, their forecasts, modules and chains, and their values for JSON,
with every digit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opperf.model import Summary
from opperf.reports.fields import (
    COUNT,
    KILOBYTES,
    LONG_NAME,
    MILLISECONDS,
    NAME,
    PERCENT,
    WORD,
    Field,
    Item,
    objects_of,
)
from opperf.reports.hotspots.account import NAMES, Account, Part
from opperf.reports.hotspots.chains import Saving, Savings
from opperf.reports.hotspots.data import Hotspots
from opperf.reports.hotspots.modules import Amount, Module
from opperf.reports.hotspots.places import Place, line_text
from opperf.reports.hotspots.times import CALLS
from opperf.reports.hotspots.what_if import Forecast, WhatIf
from opperf.reports.model import Cell


def amount_fields(
    found: Hotspots, read: Callable[[Item], Amount | Place]
) -> tuple[Field[Item], Field[Item], Field[Item]]:
    """Returns the columns of a part of the time of a ranking, and of its calls."""
    is_timed, total = found.basis is not CALLS, found.time.value
    title = found.time_title if is_timed else None
    return (
        Field("time_ms", title, MILLISECONDS, lambda row: read(row).time if is_timed else None),
        Field("share", "Share", PERCENT, lambda row: read(row).time / total if total else 0.0),
        Field("calls", "Calls", COUNT, lambda row: read(row).calls),
    )


def part_fields(title: str) -> tuple[Field[Part], ...]:
    """Returns the columns of the parts of a step, below a title."""

    def shown(part: Part) -> Cell:
        return Cell(NAMES.get(part.key, part.key), depth=part.depth)

    return (
        Field("part", title, WORD, lambda part: part.key, shown),
        Field("depth", None, COUNT, lambda part: part.depth),
        Field("time_ms", "Time", MILLISECONDS, lambda part: part.time),
        Field("time_half_width_ms", None, MILLISECONDS, lambda part: part.time.half_width),
        Field("share", "Share", PERCENT, lambda part: part.share),
    )


def what_if_fields(is_step: bool) -> tuple[Field[WhatIf], ...]:
    """Returns the columns of a forecast, of a step or of all calls."""
    title, whole = ("Its time in a step", "Step") if is_step else ("Its time", "All calls")

    def shown(row: WhatIf) -> str:
        return row.operator if row.factor is None else f"{row.operator} x {row.factor:g}"

    def saved(row: WhatIf) -> float | None:
        return 1 - row.then_ns / row.program_ns if row.program_ns else None

    return (
        Field("operator", "If", NAME, lambda row: row.operator, shown),
        Field("factor", None, COUNT, lambda row: row.factor),
        Field("time_ms", title, MILLISECONDS, lambda row: row.time_ns),
        Field("share", "Share", PERCENT, lambda row: row.share),
        Field("program_ms", whole, MILLISECONDS, lambda row: row.program_ns),
        Field("then_ms", "Then", MILLISECONDS, lambda row: row.then_ns),
        Field("", "Saved", PERCENT, saved),
    )


def saving_fields() -> tuple[Field[Saving], ...]:
    """Returns the columns of chains, and of what one kernel for each would save in a step."""

    def time(key: str, title: str, read: Callable[[Saving], Any], extra: int = 0) -> Field[Saving]:
        return Field(key, title, MILLISECONDS, read, extra=extra, is_optional=True)

    return (
        Field("operator", "Chain", LONG_NAME, lambda row: row.chain.name),
        Field("id", None, WORD, lambda row: row.chain.id),
        Field("module", "Module", NAME, lambda row: row.chain.first.module, is_optional=True),
        Field("", "Line", NAME, lambda row: line_text(row.chain.first), is_optional=True),
        Field("file", None, NAME, lambda row: row.chain.first.file),
        Field("line", None, COUNT, lambda row: row.chain.first.line),
        Field("function", None, NAME, lambda row: row.chain.first.function),
        Field("phase", None, WORD, lambda row: row.chain.last.phase),
        Field("last_module", None, NAME, lambda row: row.chain.last.module),
        Field("last_file", None, NAME, lambda row: row.chain.last.file),
        Field("last_line", None, COUNT, lambda row: row.chain.last.line),
        Field("places", "Places", COUNT, lambda row: row.chain.places, extra=4),
        Field("calls_in_chain", "Calls", COUNT, lambda row: len(row.chain.calls), extra=3),
        Field("calls", "Count", COUNT, lambda row: row.chain.count),
        Field("between_kb", "Between", KILOBYTES, lambda row: row.between_bytes),
        time("by_bytes_ms", "By bytes", lambda row: row.bytes_ns, extra=2),
        time("by_dispatch_ms", "By dispatch", lambda row: row.dispatch_ns, extra=2),
        time("saved_ms", "Saved", lambda row: row.saved_ns),
        Field("share", "Share", PERCENT, lambda row: row.share, is_optional=True),
        time("eager_ms", "Eager", lambda row: row.eager, extra=1),
        time("compiled_ms", "Compiled", lambda row: row.compiled, extra=1),
        Field("compiled_mode", None, WORD, lambda row: row.compiled_mode),
        time("measured_ms", "Measured saving", lambda row: row.measured),
    )


def recording_values(
    found: Hotspots,
    accounts: Sequence[Account],
    forecasts: Sequence[Forecast],
    tree: Module | None,
    savings: Sequence[Savings],
) -> dict[str, Any]:
    """Returns the programs, the forecasts, the tree of modules and the chains as values of JSON."""
    return {
        "programs": list(map(_program, accounts)),
        "what_if": list(map(_forecast, forecasts)),
        "modules": None if tree is None else _module(found, tree),
        "chains": [made for own in savings for made in objects_of(saving_fields(), own.rows)],
    }


def _program(account: Account) -> dict[str, Any]:
    program = account.program
    return {
        "command": program.command,
        "framework": program.framework,
        "steps": program.steps,
        "calls": program.calls or account.calls,
        "calls_of_the_file": account.calls,
        "calls_without_a_time": account.untimed,
        "recorded_on": program.machine,
        "measured_on": list(account.machines),
        "step": _times(program.step),
        "recorded_step": _times(program.recorded_step),
        "recorded_ms": scaled(program.recorded_ns),
        "parts": objects_of(part_fields(""), account.parts),
        "compiled_programs": [
            {
                "program": made.name,
                "runs": made.runs,
                "time_ms": scaled(made.time_ns),
                "kernels_ms": {name: scaled(time) for name, time in made.kernels.items()},
            }
            for made in program.compiled
        ],
        "call_without_data_ms": scaled(account.dispatch_ns),
        "notes": list(program.notes),
    }


def scaled(time_ns: float | None) -> float | None:
    """Returns a time in milliseconds."""
    return None if time_ns is None else time_ns / MILLISECONDS.file_size


def _times(summary: Summary | None) -> dict[str, Any] | None:
    if summary is None:
        return None
    return {
        "steps": summary.n,
        "median_ms": scaled(summary.median),
        "half_width_ms": scaled(summary.half_width),
        "mean_ms": scaled(summary.mean),
    }


def _forecast(forecast: Forecast) -> dict[str, Any]:
    return {
        "is_step": forecast.is_step,
        "by_shares_of_the_sum": forecast.is_scaled,
        "changes": objects_of(what_if_fields(forecast.is_step), forecast.rows),
    }


def _module(found: Hotspots, module: Module) -> dict[str, Any]:
    def values(amount: Amount) -> dict[str, Any]:
        return objects_of(amount_fields(found, lambda own: own), [amount])[0]

    return {
        "name": module.name,
        "module": module.path,
        **values(module.total),
        "operators": [
            {"operator": operator.name, "phase": operator.phase, **values(own)}
            for operator, own in module.operators.items()
        ],
        "modules": [_module(found, inner) for inner in module.modules.values()],
    }
