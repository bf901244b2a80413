"""The command `runs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import click
import msgspec

from opperf.commands.command import command
from opperf.errors import UsageError
from opperf.parameters import as_json, debug
from opperf.parsing import clicked
from opperf.plurals import pluralize
from opperf.requests.parsers import parse_labels, parse_moment, split_commas
from opperf.results.kept import (
    KeptRun,
    is_name,
    kept_runs,
    local_time,
    remove,
    resolve,
    runs_folder,
)
from opperf.results.kept_facts import RunFacts, read_facts
from opperf.results.messages import tell
from opperf.results.terminal import Column, table_text
from opperf.results.text import terminal_width, wrap
from opperf.sources.selecting import as_operator, find_matching

KINDS = ("run", "ab")


@command()
@click.argument("names", nargs=-1, metavar="[OPERATOR|@RUN]...", callback=clicked(split_commas))
@click.option(
    "--kind",
    type=click.Choice(KINDS, case_sensitive=False),
    help="Only runs, or only sessions of `opperf ab`.",
)
@click.option(
    "--framework", metavar="NAME", help="Only runs with cases of this framework; a name or glob."
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="KEY=VALUE",
    callback=clicked(parse_labels),
    help="Only runs with this label, as `opperf run --label` set it; the value may be a glob.",
)
@click.option(
    "--since",
    metavar="DATE",
    callback=clicked(parse_moment),
    help="Only runs since then: 2026-01-31, 2026-01-31T12:30, or 3d, 12h, 30m for days, hours and "
    "minutes ago.",
)
@click.option(
    "--until",
    metavar="DATE",
    callback=clicked(parse_moment),
    help="Only runs until then, likewise.",
)
@click.option("--unfinished", is_flag=True, help="Only runs that were not finished.")
@click.option(
    "--delete", is_flag=True, help="Delete the runs that are found, with --all every one."
)
@click.option("--all", "everything", is_flag=True, help="With --delete alone: all kept runs.")
@as_json
@debug
@click.pass_context
def runs(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """List the run files that opperf keeps, the latest first: every run leaves one, whatever its
    output, and so does every session of `opperf ab`; 200 are kept, in the folder that the
    environment variable OPPERF_DATA names. Restrict the list by operators (names, globs or regexes)
    or ids.

    Commands that take a run file take @ID, or @last, @-2 and so on for the latest one, the one
    before it: `opperf report @last`, `opperf compare @-2 @last`, `opperf run --resume @ID`;
    of a session `opperf compare --from-ab @last` and `opperf ab --resume @ID`."""

    ctx.exit(runs_command(Request(**options)))


@dataclass(frozen=True)
class Request:
    """The request of `runs`: its parameters."""

    names: tuple[str, ...]
    kind: str | None
    framework: str | None
    labels: Mapping[str, str]
    since: datetime | None
    until: datetime | None
    unfinished: bool
    delete: bool
    everything: bool
    json: bool

    @property
    def chooses(self) -> bool:
        """Whether it is about some of the runs."""
        restrictions = (self.kind, self.framework, self.labels, self.since, self.until)
        return any((*restrictions, self.names, self.unfinished))


SHOWN_OPERATORS = 4


class Found(NamedTuple):
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


def runs_command(request: Request) -> int:
    """Prints the kept runs that are chosen, or deletes them; the exit code. Raises `UsageError` for
    a run that is not there, and for a deletion of no chosen run."""
    if request.everything and (request.chooses or not request.delete):
        raise UsageError("--all is for --delete without a choice of runs")
    if request.delete and not (request.chooses or request.everything):
        raise UsageError("--delete needs a choice of runs, e.g. @ID or --until 30d, or --all")
    found = [entry for entry in _everything() if _is_chosen(entry, request)]
    if request.delete:
        return _delete(found)
    if request.json:
        rows = [_row(entry) for entry in found]
        print(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode())
        return 0
    width = terminal_width()
    if found:
        print(table_text(_columns(found), width))
    size = sum(entry.facts.size for entry in found) / 1e6
    what = pluralize(len(found), "run") if found else "no run"
    closing = f"{what}, {size:.1f} MB, in {runs_folder()}"
    print(("\n" if found else "") + (closing if width is None else wrap(closing, width)))
    return 0


def _everything() -> list[Found]:
    place, found = 0, []
    for run in reversed(kept_runs()):
        is_counted = not run.is_being_written
        place += is_counted
        name = ("@last" if place == 1 else f"@-{place}") if is_counted else ""
        found.append(Found(run, read_facts(run.path), name))
    return found


def _is_chosen(found: Found, request: Request) -> bool:
    facts = found.facts
    return (
        _has_names(found, request.names)
        and request.kind in (None, facts.kind.split()[0])
        and _matches(request.framework, facts.frameworks)
        and all(
            fnmatchcase(facts.labels.get(key, ""), value) and key in facts.labels
            for key, value in request.labels.items()
        )
        and (request.since is None or request.since <= found.run.time)
        and (request.until is None or found.run.time <= request.until)
        and not (request.unfinished and facts.is_finished)
    )


def _has_names(found: Found, names: Sequence[str]) -> bool:
    if not names:
        return True
    runs = [resolve(name) for name in names if is_name(name)]
    operators = [as_operator(case) for case in found.facts.cases]
    return found.run.path in runs or any(
        find_matching(name, operators) for name in names if not is_name(name)
    )


def _matches(pattern: str | None, words: Sequence[str]) -> bool:
    return pattern is None or any(fnmatchcase(word, pattern.lower()) for word in words)


def _delete(found: Sequence[Found]) -> int:
    deleted = [entry for entry in found if not entry.run.is_being_written]
    for entry in deleted:
        remove(entry.run.path)
    left = len(found) - len(deleted)
    print(f"deleted {pluralize(len(deleted), 'run')}")
    if left:
        tell(f"{pluralize(left, 'run')} in progress stay")
    return 0


FIELDS: dict[str, Callable[[Found], str]] = {
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


def _columns(found: Sequence[Found]) -> list[Column]:
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


def _row(found: Found) -> dict[str, Any]:
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
