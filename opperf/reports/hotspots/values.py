"""The columns of a ranking and of recorded programs, and values for programs, with every
digit. There times are in milliseconds, memory in kilobytes, shares between 0 and 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from opperf.instruments.memory import MEMORY
from opperf.instruments.times import RECORDED
from opperf.reports.fields import (
    COUNT,
    KILOBYTES,
    MILLISECONDS,
    NAME,
    PERCENT,
    TEXT,
    WORD,
    Field,
    objects_of,
)
from opperf.reports.hotspots.account import Account
from opperf.reports.hotspots.chains import Savings
from opperf.reports.hotspots.data import Hotspot, Hotspots, Timed, Unmeasured, group
from opperf.reports.hotspots.headroom import headroom_fields
from opperf.reports.hotspots.places import Place, has_places, line_text, places_of
from opperf.reports.hotspots.recording_values import (
    amount_fields,
    part_fields,
    saving_fields,
    scaled,
)
from opperf.reports.hotspots.times import CALLS, MEASURED
from opperf.results.projection import CALLED, CASE
from opperf.results.settings import settings_text
from opperf.results.text import Shown, inputs_text


def hotspot_fields(found: Hotspots) -> tuple[Field[Hotspot], ...]:
    """Returns the columns of figures of a ranking."""
    is_timed, by_headroom = found.basis is not CALLS, found.rank == "headroom"
    recorded = RECORDED.title if found.basis is MEASURED else None
    of_headroom = headroom_fields(by_headroom) if found.headroom else ()

    def time(key: str, title: str, read: Callable[[Hotspot], Any]) -> Field[Hotspot]:
        shown = title if is_timed else None
        return Field(key, shown, MILLISECONDS, lambda row: read(row) if is_timed else None)

    return (
        time("time_ms", found.time_title, lambda row: row.time),
        Field("share", "Share", PERCENT, lambda row: row.share),
        *(field.of(lambda row: row.headroom) for field in of_headroom),
        Field("running_sum", None if by_headroom else "Sum", PERCENT, lambda row: row.running),
        Field("calls", "Calls", COUNT, lambda row: row.calls),
        time("median_ms", "Median", lambda row: row.median_ns),
        Field("recorded_ms", recorded, MILLISECONDS, lambda row: row.recorded_ns, is_optional=True),
        Field(
            "memory_kb", MEMORY.title, KILOBYTES, lambda row: row.memory, extra=1, is_optional=True
        ),
        Field("time_half_width_ms", None, MILLISECONDS, lambda row: row.time.half_width),
        Field("uncertain", None, WORD, lambda row: row.time.is_uncertain),
        Field("may_be_stall", None, WORD, lambda row: row.may_be_stall),
    )


def input_fields(found: Hotspots) -> tuple[Field[Hotspot], ...]:
    """Returns the columns of settings and inputs of cases in a ranking."""

    def settings(row: Hotspot) -> str:
        return settings_text(row.timed[0].record.case, found.settings)

    def shown(entry: Timed) -> Shown:
        return entry.record.case.label, inputs_text(entry.record.case)

    among = list(map(shown, found.timed))
    return (
        Field("settings", "Settings", TEXT, settings, is_optional=True),
        Field("inputs", "Inputs", TEXT, lambda row: shown(row.timed[0]), among=among),
    )


def _case_fields(found: Hotspots) -> tuple[Field[Hotspot], ...]:
    id: Field[Hotspot] = Field("id", None, WORD, lambda row: row.timed[0].record.id)
    operator: Field[Hotspot] = Field("operator", None, NAME, lambda row: row.name)
    return (id, operator, *input_fields(found), *hotspot_fields(found))


class CalledAt(NamedTuple):
    """A place where an operator is called."""

    operator: str
    place: Place


def place_fields(found: Hotspots, has_phases: bool = False) -> tuple[Field[CalledAt], ...]:
    """Returns the columns of places; a table has their phases if they are of several."""
    return (
        Field("", "Called at", NAME, lambda row: row.operator),
        Field("module", "Module", NAME, lambda row: row.place.site.module, is_optional=True),
        Field("", "Line", NAME, lambda row: line_text(row.place.site), is_optional=True),
        Field("file", None, NAME, lambda row: row.place.site.file),
        Field("line", None, COUNT, lambda row: row.place.site.line),
        Field("function", None, NAME, lambda row: row.place.site.function),
        Field("program", "Compiled in", NAME, lambda row: row.place.site.program, is_optional=True),
        Field("phase", "Phase" if has_phases else None, WORD, lambda row: row.place.site.phase),
        *amount_fields(found, lambda row: row.place),
    )


def unmeasured_fields(title: str) -> tuple[Field[Unmeasured], ...]:
    """Returns the columns of what has no time, below a title."""
    return (
        Field("operator", title, NAME_OF_UNMEASURED, lambda row: row.operator),
        Field("settings", "Settings", TEXT, lambda row: row.settings, is_optional=True),
        Field("calls", "Calls", COUNT, lambda row: row.calls),
        Field("cases", "Cases", COUNT, lambda row: row.cases),
        Field("status", None, WORD, lambda row: row.status),
        Field("reason", None, TEXT, lambda row: row.reason),
        Field("", "Reason", TEXT, lambda row: f"{row.status}: {row.reason}"),
        Field("ids", None, WORD, lambda row: row.ids),
    )


NAME_OF_UNMEASURED = replace(NAME, is_whole=True)


def values(found: Hotspots, most: int | None = None) -> dict[str, Any]:
    """Returns the ranking as values of JSON, with the cases of its first `most` operators."""
    figures, cases, rows = hotspot_fields(found), _case_fields(found), found.rows[:most]
    return {
        "calls": found.calls,
        "steps": found.steps or None,
        "basis": found.basis.name,
        "time_ms": None if found.basis is CALLS else scaled(found.time.value),
        "time_half_width_ms": scaled(found.time.half_width),
        "time_kinds": [kind.value for kind in found.kinds],
        "launch_bound_share": found.launches,
        "unmeasured_calls": found.unmeasured_calls,
        "repeated_cases": found.repeated,
        "by": ",".join(found.by),
        "hotspots": [
            _names(found, row)
            | made
            | {
                "places": objects_of(place_fields(found), _places(found, row)),
                "cases": objects_of(cases, group(row.timed, found.time.value)),
            }
            for row, made in zip(rows, objects_of(figures, rows), strict=True)
        ],
        "not_measured": objects_of(unmeasured_fields(""), found.unmeasured),
        "excluded": found.excluded,
    }


def _names(found: Hotspots, one: Hotspot) -> dict[str, Any]:
    is_operator = len(found.by) == 1 and found.by[0] in CALLED
    return {"operator": one.name} if is_operator else one.values


def _places(found: Hotspots, one: Hotspot) -> list[CalledAt]:
    places = places_of(one.timed, found) if has_places(found) else []
    return [CalledAt(one.name, place) for place in places]


COLUMNS = (
    *("kind", "operator", "id", "inputs", "settings", "calls", "time_ms", "time_half_width_ms"),
    *("uncertain", "share", "running_sum", "median_ms", "memory_kb", "cases", "status", "reason"),
    *("recorded_ms", "module", "file", "line", "function", "phase", "program", "may_be_stall"),
)
"""Columns of the CSV, the keys of its rows."""


def columns_of(found: Hotspots, savings: Sequence[Savings] = ()) -> tuple[str, ...]:
    """Returns the columns of the CSV, with one for each dimension beside the operator, and those of
    chains if there are any."""
    others = () if CALLED.issuperset(found.by) else found.by
    of_headroom = [field.key for field in headroom_fields(True)] if found.headroom else []
    has_chains = any(own.rows for own in savings)
    of_chains = [field.key for field in saving_fields() if field.key] if has_chains else []
    return tuple(dict.fromkeys((COLUMNS[0], *others, *COLUMNS[1:], *of_headroom, *of_chains)))


def rows_of(
    found: Hotspots,
    most: int | None = None,
    accounts: Sequence[Account] = (),
    savings: Sequence[Savings] = (),
) -> list[list[str]]:
    """Returns the first `most` operators, each before its cases, then what was not measured, and
    the parts of a step of each recorded program and its chains, whose times are of one step."""
    figures, of_cases, of_places = hotspot_fields(found), _case_fields(found), place_fields(found)
    rows: list[dict[str, Any]] = []
    for hotspot in found.rows[:most]:
        names = _names(found, hotspot)
        own = group(hotspot.timed, found.time.value)
        cases = [{"kind": "case"} | made for made in objects_of(of_cases, own)]
        if CASE not in found.by:
            (made,) = objects_of(figures, [hotspot])
            rows.append({"kind": ",".join(found.by), "cases": hotspot.cases} | names | made)
        places = objects_of(of_places, _places(found, hotspot))
        named = [{"kind": "place"} | names | made for made in places]
        rows += [*cases, *named] if CASE in found.by else [*named, *cases]
    for made in objects_of(unmeasured_fields(""), found.unmeasured):
        rows.append({"kind": "not measured", "id": " ".join(made["ids"])} | made)
    for account in accounts:
        for made in objects_of(part_fields(""), account.parts):
            rows.append({"kind": "part of a step", "operator": made["part"]} | made)
    for saved in savings:
        rows += [{"kind": "chain"} | made for made in objects_of(saving_fields(), saved.rows)]
    return [[_cell(row.get(name)) for name in columns_of(found, savings)] for row in rows]


def _cell(value: object) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
