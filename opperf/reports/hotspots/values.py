"""A ranking, recorded programs, modules and forecasts as values for programs, with every digit.
Times are in milliseconds, memory in kilobytes, shares between 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opperf.model import Summary
from opperf.reports.hotspots.account import Account, Part
from opperf.reports.hotspots.data import Hotspot, Hotspots, group
from opperf.reports.hotspots.modules import Amount, Module
from opperf.reports.hotspots.places import Place, has_places, places_of
from opperf.reports.hotspots.times import CALLS
from opperf.reports.hotspots.what_if import Forecast
from opperf.results.projection import CALLED, CASE
from opperf.results.settings import settings_text
from opperf.results.text import inputs_text
from opperf.results.units import unit_of

MS = unit_of("ns").size
KB = unit_of("B").size


def values(found: Hotspots, most: int | None = None) -> dict[str, Any]:
    """Returns the ranking as values of JSON, with the cases of its first `most` operators."""
    return {
        "calls": found.calls,
        "steps": found.steps or None,
        "basis": found.basis.name,
        "time_ms": _milliseconds(found, found.time.value),
        "time_half_width_ms": _scaled(found.time.half_width),
        "time_kinds": [kind.value for kind in found.kinds],
        "launch_bound_share": found.launches,
        "unmeasured_calls": found.unmeasured_calls,
        "repeated_cases": found.repeated,
        "by": ",".join(found.by),
        "hotspots": [
            _names(found, row)
            | _figures(found, row)
            | {
                "places": [_place(found, place) for place in _places(found, row)],
                "cases": [_case(found, case) for case in group(row.timed, found.time.value)],
            }
            for row in found.rows[:most]
        ],
        "not_measured": [row._asdict() for row in found.unmeasured],
        "excluded": found.excluded,
    }


def _scaled(time_ns: float | None) -> float | None:
    return None if time_ns is None else time_ns / MS


def _names(found: Hotspots, one: Hotspot) -> dict[str, Any]:
    is_operator = len(found.by) == 1 and found.by[0] in CALLED
    return {"operator": one.name} if is_operator else one.values


def _milliseconds(found: Hotspots, time_ns: float) -> float | None:
    """Returns a time in milliseconds; None where calls are counted."""
    return None if found.basis is CALLS else time_ns / MS


def _figures(found: Hotspots, one: Hotspot) -> dict[str, Any]:
    return {
        "calls": one.calls,
        "time_ms": _milliseconds(found, one.time.value),
        "time_half_width_ms": _scaled(one.time.half_width),
        "uncertain": one.time.is_uncertain,
        "may_be_stall": one.may_be_stall,
        "recorded_ms": _scaled(one.recorded_ns),
        "share": one.share,
        "running_sum": one.running,
        "median_ms": _milliseconds(found, one.median_ns),
        "memory_kb": None if one.memory is None else one.memory.value / KB,
    }


def _places(found: Hotspots, one: Hotspot) -> list[Place]:
    return places_of(one.timed, found) if has_places(found) else []


def _place(found: Hotspots, place: Place) -> dict[str, Any]:
    return {
        "module": place.site.module,
        "file": place.site.file,
        "line": place.site.line,
        "function": place.site.function,
        "phase": place.site.phase,
        "program": place.site.program,
        "calls": place.calls,
        "time_ms": _milliseconds(found, place.time),
        "share": place.share,
    }


def _case(found: Hotspots, one: Hotspot) -> dict[str, Any]:
    record = one.timed[0].record
    return {
        "id": record.id,
        "inputs": inputs_text(record.case),
        "settings": settings_text(record.case, found.settings),
        "operator": one.name,
    } | _figures(found, one)


COLUMNS = (
    "kind",
    "operator",
    "id",
    "inputs",
    "settings",
    "calls",
    "time_ms",
    "time_half_width_ms",
    "uncertain",
    "share",
    "running_sum",
    "median_ms",
    "memory_kb",
    "cases",
    "status",
    "reason",
    "recorded_ms",
    "module",
    "file",
    "line",
    "function",
    "phase",
    "program",
    "may_be_stall",
)
"""Columns of the CSV, the keys of its rows."""


def columns_of(found: Hotspots) -> tuple[str, ...]:
    """Returns the columns of the CSV, with one for each dimension beside the operator."""
    others = () if CALLED.issuperset(found.by) else found.by
    return tuple(dict.fromkeys((COLUMNS[0], *others, *COLUMNS[1:])))


def rows_of(
    found: Hotspots, most: int | None = None, accounts: Sequence[Account] = ()
) -> list[list[str]]:
    """Returns the first `most` operators, each before its cases, then what was not measured, and
    the parts of a step of each recorded program, whose times are of one step."""
    rows: list[dict[str, Any]] = []
    for hotspot in found.rows[:most]:
        cases = [
            {"kind": "case"} | _case(found, case) for case in group(hotspot.timed, found.time.value)
        ]
        whole = {"kind": ",".join(found.by), "cases": hotspot.cases}
        whole |= _names(found, hotspot) | _figures(found, hotspot)
        places = [
            {"kind": "place"} | _names(found, hotspot) | _place(found, place)
            for place in _places(found, hotspot)
        ]
        rows += [*cases, *places] if CASE in found.by else [whole, *places, *cases]
    rows += [
        {"kind": "not measured", "id": " ".join(row.ids)} | row._asdict()
        for row in found.unmeasured
    ]
    rows += [
        {"kind": "part of a step", "operator": part.key} | _part(part)
        for account in accounts
        for part in account.parts
    ]
    return [[_cell(row.get(name)) for name in columns_of(found)] for row in rows]


def _cell(value: object) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def recording_values(
    found: Hotspots, accounts: Sequence[Account], forecasts: Sequence[Forecast], tree: Module | None
) -> dict[str, Any]:
    """Returns the programs, the forecasts and the tree of modules as values of JSON."""
    return {
        "programs": list(map(_program, accounts)),
        "what_if": list(map(_forecast, forecasts)),
        "modules": None if tree is None else _module(found, tree),
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
        "recorded_ms": _scaled(program.recorded_ns),
        "parts": [{"part": part.key, "depth": part.depth} | _part(part) for part in account.parts],
        "compiled_programs": [
            {
                "program": made.name,
                "runs": made.runs,
                "time_ms": _scaled(made.time_ns),
                "kernels_ms": {name: time / MS for name, time in made.kernels.items()},
            }
            for made in program.compiled
        ],
        "call_without_data_ms": _scaled(account.dispatch_ns),
        "notes": list(program.notes),
    }


def _part(part: Part) -> dict[str, Any]:
    return {
        "time_ms": part.time.value / MS,
        "time_half_width_ms": _scaled(part.time.half_width),
        "share": part.share,
    }


def _times(summary: Summary | None) -> dict[str, Any] | None:
    if summary is None:
        return None
    return {
        "steps": summary.n,
        "median_ms": summary.median / MS,
        "half_width_ms": _scaled(summary.half_width),
        "mean_ms": summary.mean / MS,
    }


def _forecast(forecast: Forecast) -> dict[str, Any]:
    return {
        "is_step": forecast.is_step,
        "by_shares_of_the_sum": forecast.is_scaled,
        "changes": [
            {
                "operator": row.operator,
                "factor": row.factor,
                "time_ms": row.time_ns / MS,
                "share": row.share,
                "program_ms": row.program_ns / MS,
                "then_ms": row.then_ns / MS,
            }
            for row in forecast.rows
        ],
    }


def _module(found: Hotspots, module: Module) -> dict[str, Any]:
    return {
        "name": module.name,
        "module": module.path,
        **_amount(found, module.total),
        "operators": [
            {"operator": operator.name, "phase": operator.phase, **_amount(found, own)}
            for operator, own in module.operators.items()
        ],
        "modules": [_module(found, inner) for inner in module.modules.values()],
    }


def _amount(found: Hotspots, own: Amount) -> dict[str, Any]:
    total = found.time.value
    return {
        "calls": own.calls,
        "time_ms": None if found.basis is CALLS else own.time / MS,
        "share": own.time / total if total else 0.0,
    }
