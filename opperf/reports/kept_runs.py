"""The report of `opperf runs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opperf.plurals import pluralize
from opperf.reports.fields import LABEL, NUMBER, TEXT, WORD, Field, objects_of, rows_of, table_of
from opperf.reports.model import Report, Section
from opperf.results.kept import KeptRun, kept_runs, local_time, runs_folder
from opperf.results.kept_facts import RunFacts, read_facts

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


def _operators_text(found: KeptFacts) -> str:
    names = found.facts.operators
    more = len(names) - SHOWN_OPERATORS
    return ", ".join(names[:SHOWN_OPERATORS]) + (f" and {more} more" if more > 0 else "")


def _labels_text(found: KeptFacts) -> str:
    return ", ".join(f"{key}={one}" for key, one in found.facts.labels.items())


FIELDS: tuple[Field[KeptFacts], ...] = (
    Field("id", "Run", LABEL, lambda found: found.run.id, lambda found: found.run.name),
    Field("place", "Place", LABEL, lambda found: found.place, is_optional=True),
    Field("kind", "Kind", LABEL, lambda found: found.facts.kind),
    Field("path", None, TEXT, lambda found: str(found.run.path)),
    Field(
        "time",
        "Time",
        LABEL,
        lambda found: found.run.time.isoformat(timespec="seconds"),
        lambda found: local_time(found.run.time),
    ),
    Field("started", None, TEXT, lambda found: found.facts.started),
    Field("frameworks", "Framework", LABEL, lambda found: found.facts.frameworks, is_optional=True),
    Field(
        "operators",
        "Operators",
        TEXT,
        lambda found: found.facts.operators,
        _operators_text,
        is_optional=True,
    ),
    Field("cases", "Cases", NUMBER, lambda found: found.facts.count),
    Field(
        "state",
        "State",
        LABEL,
        lambda found: found.state or "finished",
        lambda found: found.state,
        is_optional=True,
    ),
    Field(
        "labels", "Labels", WORD, lambda found: found.facts.labels, _labels_text, is_optional=True
    ),
    Field("command", "Command", WORD, lambda found: found.facts.command, extra=1, is_optional=True),
)


def report_of(found: Sequence[KeptFacts]) -> Report:
    """Returns the runs, with their number and size."""
    size = sum(entry.facts.size for entry in found) / 1e6
    what = pluralize(len(found), "run") if found else "no run"
    closing = f"{what}, {size:.1f} MB, in {runs_folder()}"
    return Report(
        "runs",
        "",
        (Section(table=table_of(FIELDS, found)), Section(prose=[closing])),
        objects_of(FIELDS, found),
        *rows_of(FIELDS, found),
    )
