"""The kept runs as `opperf runs` lists them: a table, and rows of JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from opperf.plurals import pluralize
from opperf.results.kept import KeptRun, kept_runs, local_time, runs_folder
from opperf.results.kept_facts import RunFacts, read_facts
from opperf.results.terminal import Column, table_text
from opperf.results.text import terminal_width, wrap

SHOWN_OPERATORS = 4
"""Most operators of a run that the table names: more take several lines of a terminal."""


class KeptFacts(NamedTuple):
    """A kept run or session, and what is known of it."""

    run: KeptRun
    facts: RunFacts
    place: str
    """`@last`, `@-2`; empty for a run in progress."""

    @property
    def state(self) -> str:
        """Empty for a finished run."""
        if self.run.is_being_written:
            return "running"
        return "" if self.facts.is_finished else "unfinished"


def read_kept() -> list[KeptFacts]:
    """Returns all kept runs, the latest first."""
    place, found = 0, []
    for run in reversed(kept_runs()):
        is_counted = not run.is_being_written
        place += is_counted
        name = ("@last" if place == 1 else f"@-{place}") if is_counted else ""
        found.append(KeptFacts(run, read_facts(run.path), name))
    return found


def print_kept(found: Sequence[KeptFacts]) -> None:
    """Prints a table of runs, their number and size."""
    width = terminal_width()
    if found:
        print(table_text(_columns(found), width))
    size = sum(entry.facts.size for entry in found) / 1e6
    what = pluralize(len(found), "run") if found else "no run"
    closing = f"{what}, {size:.1f} MB, in {runs_folder()}"
    print(("\n" if found else "") + (closing if width is None else wrap(closing, width)))


FIELDS: dict[str, Callable[[KeptFacts], str]] = {
    "Run": lambda found: found.run.name,
    "Place": lambda found: found.place,
    "Kind": lambda found: found.facts.kind,
    "Time": lambda found: local_time(found.run.time),
    "Framework": lambda found: ", ".join(found.facts.frameworks),
    "Operators": lambda found: _operators_text(found.facts.operators),
    "Cases": lambda found: str(found.facts.count),
    "State": lambda found: found.state,
    "Labels": lambda found: ", ".join(f"{key}={one}" for key, one in found.facts.labels.items()),
    "Command": lambda found: found.facts.command,
}
"""Columns of the table; those that are empty for all runs are not shown."""

CUT, WRAPPED = ("Labels", "Command"), "Operators"
"""Columns that a narrow terminal cuts, and that whose texts take several lines."""


def _columns(found: Sequence[KeptFacts]) -> list[Column]:
    return [
        Column(
            title,
            cells,
            is_text=title != "Cases",
            extra=int(title == "Command"),
            is_whole=title not in (*CUT, WRAPPED),
            wraps=title == WRAPPED,
        )
        for title, read in FIELDS.items()
        if any(cells := [read(entry) for entry in found])
    ]


def _operators_text(names: Sequence[str]) -> str:
    more = len(names) - SHOWN_OPERATORS
    return ", ".join(names[:SHOWN_OPERATORS]) + (f" and {more} more" if more > 0 else "")


def row_of(found: KeptFacts) -> dict[str, Any]:
    """Returns what JSON has of a run."""
    facts = found.facts
    return {
        "id": found.run.id,
        "place": found.place,
        "kind": facts.kind,
        "path": str(found.run.path),
        "time": found.run.time.isoformat(timespec="seconds"),
        "started": facts.started,
        "state": found.state or "finished",
        "frameworks": facts.frameworks,
        "operators": facts.operators,
        "cases": facts.count,
        "labels": facts.labels,
        "command": facts.command,
    }
