"""The columns of recorded programs, their forecasts and chains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opperf.instruments.memory import MEMORY
from opperf.reports.fields import COUNT, LONG_NAME, NAME, PERCENT, WORD, Field, figure
from opperf.reports.hotspots.account import NAMES, Part
from opperf.reports.hotspots.chains import Saving
from opperf.reports.hotspots.places import line_text
from opperf.reports.hotspots.what_if import WhatIf
from opperf.reports.model import Cell
from opperf.results.units import unit_of

MILLISECONDS = figure("ns", unit_of("ns").size)

KILOBYTES = figure(MEMORY.unit, unit_of(MEMORY.unit).size)


def part_fields(title: str) -> tuple[Field[Part], ...]:
    """Returns the columns of the parts of a step, below a title."""
    return (
        Field(
            "part",
            title,
            WORD,
            lambda part: part.key,
            lambda part: Cell(NAMES.get(part.key, part.key), depth=part.depth),
        ),
        Field("depth", None, COUNT, lambda part: part.depth),
        Field("time_ms", "Time", MILLISECONDS, lambda part: part.time),
        Field("time_half_width_ms", None, MILLISECONDS, lambda part: part.time.half_width),
        Field("share", "Share", PERCENT, lambda part: part.share),
    )


def _if_text(row: WhatIf) -> str:
    return row.operator if row.factor is None else f"{row.operator} x {row.factor:g}"


def what_if_fields(is_step: bool) -> tuple[Field[WhatIf], ...]:
    """Returns the columns of a forecast, of a step or of all calls."""
    title, whole = ("Its time in a step", "Step") if is_step else ("Its time", "All calls")
    return (
        Field("operator", "If", NAME, lambda row: row.operator, _if_text),
        Field("factor", None, COUNT, lambda row: row.factor),
        Field("time_ms", title, MILLISECONDS, lambda row: row.time_ns),
        Field("share", "Share", PERCENT, lambda row: row.share),
        Field("program_ms", whole, MILLISECONDS, lambda row: row.program_ns),
        Field("then_ms", "Then", MILLISECONDS, lambda row: row.then_ns),
        Field(
            "",
            "Saved",
            PERCENT,
            lambda row: 1 - row.then_ns / row.program_ns if row.program_ns else None,
        ),
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
