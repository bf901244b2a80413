"""The functions of two dumps, by the difference of their counts per call of the operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from opperf.comparison.explaining.callgrind import Dump
from opperf.comparison.explaining.functions import (
    PYTHON_FRAMES,
    Counted,
    Function,
    count_functions,
    is_python_frame,
)
from opperf.errors import CallgrindError, UsageError, suggest

UNNAMED = "functions without a symbol"
"""Stands for functions with addresses for names: those of another build are others."""


class Counts(NamedTuple):
    """Counts per call of the operator."""

    own: float
    inclusive: float | None
    """None of several functions together, of which one may call another."""


class ChangedFunction(NamedTuple):
    """A function in both dumps."""

    function: Function
    file: str
    base: Counts | None
    """None if only the other dump has the function."""
    new: Counts | None

    @property
    def own_change(self) -> float:
        return (self.new.own if self.new else 0.0) - (self.base.own if self.base else 0.0)

    @property
    def inclusive_change(self) -> float | None:
        """None for several functions together."""
        found = [counts.inclusive if counts else 0.0 for counts in (self.base, self.new)]
        base, new = found
        return None if base is None or new is None else new - base


def _by_inclusive(row: ChangedFunction) -> float:
    change = row.inclusive_change
    return abs(row.own_change if change is None else change)


ORDERS: dict[str, Callable[[ChangedFunction], float]] = {
    "exclusive": lambda row: abs(row.own_change),
    "inclusive": _by_inclusive,
}
"""Sizes by which functions are ordered, the largest first."""


class DumpTotals(NamedTuple):
    """A dump as a whole."""

    path: str
    calls: int
    totals: dict[str, float]
    overhead: float | None
    """Counts per call of the loop around the calls, by an empty call; they are in the total."""


class DumpDifference(NamedTuple):
    """Two dumps compared."""

    base: DumpTotals
    new: DumpTotals
    event: str
    order: str
    rows: tuple[ChangedFunction, ...]

    @property
    def base_total(self) -> float:
        return self.base.totals[self.event]

    @property
    def new_total(self) -> float:
        return self.new.totals[self.event]


def compare_dumps(
    base: Dump, new: Dump, event: str = "", order: str = "exclusive", python: bool = True
) -> DumpDifference:
    """Returns the functions of two dumps by difference, matched by name and object.

    `event` is what counts are of, by default the first. Without `python` the interpreter's own
    functions are one row. The differences of all rows' exclusive counts add up to that of the
    totals. Raises `CallgrindError` for dumps that count different events, and `UsageError` for an
    event that they do not have.
    """
    if base.events != new.events:
        raise CallgrindError(
            f"{base.path} counts {' '.join(base.events)} and {new.path} "
            f"{' '.join(new.events)}; measure both with the same options"
        )
    event = event or base.events[0]
    if event not in base.events:
        raise UsageError(
            f"--event {event}: the files count {', '.join(base.events)}"
            f"{suggest(event, base.events)}"
        )
    place = base.events.index(event)
    rows = _rows(count_functions(base), count_functions(new), (base, new), place)
    if not python:
        rows = _fold(rows, lambda row: PYTHON_FRAMES if is_python_frame(row.function) else None)
    rows = _fold(rows, _without_symbol)
    size = ORDERS[order]
    rows.sort(key=lambda row: (-size(row), -abs(row.own_change), row.function))
    return DumpDifference(_side(base), _side(new), event, order, tuple(rows))


def _rows(
    base: Mapping[Function, Counted],
    new: Mapping[Function, Counted],
    dumps: tuple[Dump, Dump],
    event: int,
) -> list[ChangedFunction]:
    calls = [dump.calls for dump in dumps]

    def counts(counted: Counted | None, number: int) -> Counts | None:
        if counted is None:
            return None
        return Counts(counted.own[event] / number, counted.inclusive[event] / number)

    return [
        ChangedFunction(
            function,
            (new.get(function) or base[function]).file,
            counts(base.get(function), calls[0]),
            counts(new.get(function), calls[1]),
        )
        for function in {**base, **new}
    ]


def _without_symbol(row: ChangedFunction) -> Function | None:
    """Returns what stands for a function of one dump that has an address for a name."""
    in_both = row.base is not None and row.new is not None
    if in_both or not row.function.name.startswith("0x"):
        return None
    return Function(UNNAMED, row.function.object)


def _fold(
    rows: Iterable[ChangedFunction], standing: Callable[[ChangedFunction], Function | None]
) -> list[ChangedFunction]:
    """Returns the rows, those for which the same function stands as one."""
    kept: list[ChangedFunction] = []
    folded: dict[Function, list[ChangedFunction]] = {}
    for row in rows:
        function = standing(row)
        if function is None:
            kept.append(row)
        else:
            folded.setdefault(function, []).append(row)
    return kept + [
        ChangedFunction(function, "", _sum(row.base for row in own), _sum(row.new for row in own))
        for function, own in folded.items()
    ]


def _sum(counts: Iterable[Counts | None]) -> Counts | None:
    found = [count.own for count in counts if count is not None]
    return Counts(sum(found), None) if found else None


def _side(dump: Dump) -> DumpTotals:
    totals = zip(dump.events, dump.total, strict=True)
    return DumpTotals(
        str(dump.path),
        dump.calls,
        {event: total / dump.calls for event, total in totals},
        None if dump.overhead is None else dump.overhead / dump.calls,
    )


class Rest(NamedTuple):
    """The functions that are not shown."""

    number: int
    base: float
    new: float


def split(
    difference: DumpDifference, most: int | None = None
) -> tuple[Sequence[ChangedFunction], Rest]:
    """Returns the first `most` functions that differ, or all of them, and the sum of the others."""
    size = ORDERS[difference.order]
    shown = [row for row in difference.rows[:most] if size(row)]
    others = difference.rows[len(shown) :]
    return shown, Rest(
        len(others),
        sum(row.base.own for row in others if row.base is not None),
        sum(row.new.own for row in others if row.new is not None),
    )
