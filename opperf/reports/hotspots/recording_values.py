"""Recorded programs, their modules and forecasts as values of JSON. Times are in milliseconds,
shares between 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opperf.model import Summary
from opperf.reports.hotspots.account import Account
from opperf.reports.hotspots.data import Hotspots
from opperf.reports.hotspots.modules import Amount, Module
from opperf.reports.hotspots.times import CALLS
from opperf.reports.hotspots.what_if import Forecast
from opperf.results.units import unit_of

MS = unit_of("ns").size


def recording_values(
    found: Hotspots,
    accounts: Sequence[Account],
    forecasts: Sequence[Forecast],
    tree: Module | None,
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
        "parts": [
            {
                "part": part.key,
                "depth": part.depth,
                "time_ms": part.time.value / MS,
                "time_half_width_ms": _scaled(part.time.half_width),
                "share": part.share,
            }
            for part in account.parts
        ],
        "call_without_data_ms": _scaled(account.dispatch_ns),
        "notes": list(program.notes),
    }


def _times(summary: Summary | None) -> dict[str, Any] | None:
    """Returns the times of a program's steps."""
    if summary is None:
        return None
    return {
        "steps": summary.n,
        "median_ms": summary.median / MS,
        "half_width_ms": _scaled(summary.half_width),
        "mean_ms": summary.mean / MS,
    }


def _scaled(time_ns: float | None) -> float | None:
    return None if time_ns is None else time_ns / MS


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
    """Returns a module with its operators and all modules in it, each by itself."""
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
