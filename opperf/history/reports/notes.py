"""Notes of a check, and differences that are too young, as lines and as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opperf.formats.figures import number_or_null
from opperf.history.checking import Checked, Noted, Pending
from opperf.history.detection.findings import SeriesNote
from opperf.history.reports.verdicts import percent
from opperf.history.timelines import Timeline
from opperf.repository import sha_text

SHOWN_NOTES = 20
"""Most notes in a report for people."""


def pending_lines(checked: Checked, lines: Mapping[int, Timeline]) -> list[str]:
    """Returns a line for each difference that is too young to tell."""
    return [
        f"#{pending.series} {lines[pending.series].facts.name} {lines[pending.series].key.metric}: "
        f"{percent(pending.change.ratio)} at {sha_text(pending.first)}"
        for pending in checked.pending
    ]


NAMED_SERIES = 3
"""Series that are named of one note; the JSON has all."""


def note_lines(
    notes: Sequence[Noted], lines: Mapping[int, Timeline], machines: Mapping[str, str]
) -> list[str]:
    """Returns the notes with the series that they are on: a note that many have is one."""
    named: dict[tuple[str, str], list[str]] = {}
    for noted in notes:
        line = lines.get(noted.series) if noted.series is not None else None
        name = (
            f"all series of {machines[noted.note.environment]}"
            if line is None
            else f"#{line.id} {line.facts.name} {line.key.metric}"
        )
        named.setdefault((_message(noted.note, machines), noted.commit), []).append(name)
    found = []
    for (message, commit), names_ in named.items():
        more = len(names_) - NAMED_SERIES
        whole = ", ".join([*names_[:NAMED_SERIES], *([f"{more} more"] if more > 0 else [])])
        found.append(f"{whole}: {message}, from {sha_text(commit)} on")
    more = len(found) - SHOWN_NOTES
    return [*found[:SHOWN_NOTES], *([f"and {more} more"] if more > 0 else [])]


def _message(note: SeriesNote, machines: Mapping[str, str]) -> str:
    if not note.replaced:
        return note.message
    names = f"{machines[note.environment]} in place of {machines[note.replaced]}"
    return f"{note.message}: {names}"


def pending_data(pending: Pending) -> dict[str, Any]:
    """Returns a difference that is too young to tell."""
    return {
        "series": pending.series,
        "first": pending.first,
        "ratio": number_or_null(pending.change.ratio),
    }


def note_data(
    noted: Noted, lines: Mapping[int, Timeline], machines: Mapping[str, str]
) -> dict[str, Any]:
    """Returns a note. `machines` are the names of environments."""
    line = lines[noted.series] if noted.series else None
    return {
        "series": noted.series,
        "operator": line.facts.name if line else None,
        "metric": line.key.metric if line else None,
        "environment": noted.note.environment,
        "machine": machines[noted.note.environment],
        "kind": noted.note.kind.value,
        "commit": noted.commit,
        "message": _message(noted.note, machines),
    }
