"""Recorded programs, their forecasts, modules and chains as values of JSON, with every digit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opperf.model import Summary
from opperf.reports.fields import Field, objects_of
from opperf.reports.hotspots.account import Account
from opperf.reports.hotspots.chains import Savings
from opperf.reports.hotspots.data import Hotspots
from opperf.reports.hotspots.modules import Amount, Module
from opperf.reports.hotspots.recording_fields import part_fields, saving_fields, what_if_fields
from opperf.reports.hotspots.values import amount_fields, scaled
from opperf.reports.hotspots.what_if import Forecast


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
    def amounts(*found_amounts: Amount) -> list[dict[str, Any]]:
        return objects_of(fields, found_amounts)

    fields: tuple[Field[Amount], ...] = amount_fields(found, lambda amount: amount)
    (total,) = amounts(module.total)
    return {
        "name": module.name,
        "module": module.path,
        **total,
        "operators": [
            {"operator": operator.name, "phase": operator.phase, **made}
            for operator, made in zip(
                module.operators, amounts(*module.operators.values()), strict=True
            )
        ],
        "modules": [_module(found, inner) for inner in module.modules.values()],
    }
