"""The time of a program if operators took less, by Amdahl's law."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from opperf.errors import UsageError, suggest
from opperf.reports.hotspots.account import Account
from opperf.reports.hotspots.data import Hotspots
from opperf.reports.hotspots.times import CALLS, totals
from opperf.results.projection import operator_of

ALL = "all of these"
"""Name of several operators together."""


class WhatIf(NamedTuple):
    """The time of a program with other times of an operator. Times are in nanoseconds."""

    operator: str
    factor: float | None
    """Of the operator's time; None of several operators together."""
    time_ns: float
    """Of the operator, in what the program's time is of."""
    program_ns: float
    then_ns: float
    """The program's time with the operator's changed one."""

    @property
    def share(self) -> float:
        return self.time_ns / self.program_ns if self.program_ns else 0.0


class Forecast(NamedTuple):
    """The times of one program with changes of operators."""

    rows: tuple[WhatIf, ...]
    is_step: bool
    """Whether the time is that of a step of the program; else it is that of the ranked calls."""
    is_scaled: bool
    """Whether the operators' shares of their sum are taken for shares of the program's time."""


def forecasts(
    found: Hotspots, accounts: Sequence[Account], factors: Mapping[str, float]
) -> list[Forecast]:
    """Returns what the factors of operators' times make of each program, or of the ranked calls if
    there is none.

    Raises `UsageError` for an operator that is not among them, and where there are no times.
    """
    if not factors:
        return []
    if found.basis is CALLS:
        raise UsageError(
            "--what-if needs times, and the file has none; measure its calls with `opperf run`"
        )
    if not accounts:
        times = totals(
            (
                (entry.record.case.label, operator_of(entry.record.case)),
                entry.calls * entry.time.value,
            )
            for entry in found.timed
        )
        return [_forecast(times, None, factors, is_comparable=True)]
    return [
        _forecast(
            account.operators,
            None if account.step is None else account.step.value,
            factors,
            account.is_comparable,
        )
        for account in accounts
    ]


def _forecast(
    times: Mapping[tuple[str, str], float],
    step: float | None,
    factors: Mapping[str, float],
    is_comparable: bool,
) -> Forecast:
    total = math.fsum(times.values())
    program = total if step is None else step
    # Operators cannot take more of a step than all of it.
    is_scaled = not is_comparable or total > program
    scale = program / total if is_scaled and total else 1.0
    rows = []
    for name, factor in factors.items():
        time = scale * math.fsum(own for names, own in times.items() if name in names)
        if not any(name in names for names in times):
            known = dict.fromkeys(word for names in times for word in names)
            raise UsageError(
                f"--what-if: no operator {name!r} has a time{suggest(name, known)}; the ranking "
                "has their names"
            )
        rows.append(WhatIf(name, factor, time, program, program - (1 - factor) * time))
    if len(rows) > 1:
        # An operator may be named with and without its overload.
        changes = {
            names: next(factors[name] for name in names if name in factors)
            for names in times
            if factors.keys() & set(names)
        }
        time = scale * math.fsum(times[names] for names in changes)
        saved = scale * math.fsum((1 - factor) * times[names] for names, factor in changes.items())
        rows.append(WhatIf(ALL, None, time, program, program - saved))
    return Forecast(tuple(rows), step is not None, is_scaled)
