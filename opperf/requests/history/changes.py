"""Looks for changes in a history, and decides on them; aliases cases, and deletes runs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

from opperf.errors import UsageError, suggest, unknown
from opperf.history.store.opening import StoreError
from opperf.model.declaring import number_between
from opperf.processes.commands import run_command
from opperf.repository import sha_text
from opperf.requests.declaring import Option, Request, Say, argument
from opperf.requests.history.fields import NUMBER, Event, Stored, Why
from opperf.requests.outputs import ReportedRequest
from opperf.requests.parsers import parse_moment
from opperf.shares import read_share

if TYPE_CHECKING:
    from opperf.history.events import Event as Change
    from opperf.history.events import State, Update
    from opperf.history.model import Project, StoredRun
    from opperf.history.reports.showing import CheckedEvent
    from opperf.history.store.opening import Store
    from opperf.reports.model import Report

USUAL = ("main", "master")
"""Branches of which one is checked where none is named."""

NOTIFYING_S = 60
"""Seconds that a command has to pass a message on."""


class Checked(NamedTuple):
    """The changes of a branch."""

    report: Report
    new: list[int]
    """Numbers of the changes that this check found."""
    losses: list[CheckedEvent]
    """Those that are open."""


class CheckRequest(ReportedRequest, frozen=True, kw_only=True):
    """Looks for changes in the series of a branch, and keeps them as events."""

    section: ClassVar[str] = "History"

    of: Stored = Stored()
    branch: Annotated[
        str,
        Option(
            "Branch whose runs are one line.  [default: the only one, else main or master]",
            metavar="NAME",
        ),
    ] = ""
    method: Annotated[
        Literal["likelihood", "asv"],
        Option(
            "Likelihood ratios at one rate of false alarms over all series, or asv's fit of "
            "pieces, which has none."
        ),
    ] = "likelihood"
    false_alarms: Annotated[
        float,
        Option(
            "False losses in a year, of all series together, that are accepted.",
            number_between(0),
            metavar="NUMBER",
        ),
    ] = 1.0
    alerts_per_week: Annotated[
        int | None,
        Option(
            "Most alerts in a week, the clearest; in place of --false-alarms.",
            low=1,
            metavar="NUMBER",
        ),
    ] = None
    smallest: Annotated[
        float, Option("Smallest change of interest.  [default: 2%]", read_share, metavar="SHARE")
    ] = 0.02
    fail_on: Annotated[
        Literal["open", "new", "nothing"],
        Option(
            "End with 1 on losses that are open, on those that this check found, or never.",
            section="Plan, resumption and exit code",
        ),
    ] = "open"
    notify: Annotated[
        str,
        Option(
            "Command of the shell that is run once if there are new events, with them as JSON on "
            "its standard input; not with --dry-run. If it fails, that is said, and the exit code "
            "stays.",
            metavar="COMMAND",
            section="Other options",
        ),
    ] = ""
    dry_run: Annotated[bool, Option("Store nothing.", section="Plan, resumption and exit code")] = (
        False
    )

    def run(self, say: Say) -> Checked:
        """Returns what changed, and keeps it unless `dry_run`."""
        self.check_outputs()
        with self.of.opened() as (store, project):
            from opperf.comparison.project_file import find_project_file
            from opperf.history.checking import bless_events, check_history
            from opperf.history.detection.findings import Rate
            from opperf.history.events import State
            from opperf.history.reports.checked import check_report, open_losses, rows_of
            from opperf.history.store.events import (
                decide_by_verdicts,
                read_events,
                read_evidence,
                update_events,
            )
            from opperf.history.store.reading import machine_names, read_environments
            from opperf.history.timelines import read_history, read_outcomes
            from opperf.history.verdicts import decide_events

            file = find_project_file(Path.cwd())
            branch = self._branch(store, project)
            history = read_history(store, project, branch=branch)
            budget = self.alerts_per_week
            rate = Rate(self.false_alarms) if budget is None else Rate.budget(budget)
            known = read_events(store, project, branch)
            outcomes = read_outcomes(store, project, history)
            checked = check_history(
                history, branch, rate, self.method, self.smallest, known, outcomes
            )
            lines = {line.id: line for line in history.timelines}

            def bless(events: list[Change]) -> list[Update]:
                return bless_events(events, lines, checked.order, file)

            evidence = read_evidence(store, project)
            if self.dry_run:
                events = _after(known, checked.updates(known))
                events = _after(events, bless(events))
                events = _after(events, decide_events(events, evidence))
            else:
                known = update_events(store, project, branch, checked.updates)
                update_events(store, project, branch, bless)
                decide_by_verdicts(store, project, branch)
                events = read_events(store, project, branch)
            before = {event.id: event.state for event in known}
            # Of those that were noise, the ones that were found again.
            new = [
                event.id
                for event in events
                if event.id not in before
                or (event.state is State.NEW and before[event.id] is not State.NEW)
            ]
            reasons = {
                (event.series, event.first_bad): why for event, why, _ in checked.found if why
            }
            machines = machine_names(read_environments(store))
            rows = rows_of(events, lines, new, evidence, machines, reasons)
        report = check_report(rows, checked, history, project, branch, machines)
        return Checked(report, new, open_losses(rows))

    def fails(self, found: Checked) -> bool:
        """Whether what was found is what the exit code says."""
        losses = found.losses if self.fail_on != "nothing" else ()
        return any(self.fail_on == "open" or row.is_new for row in losses)

    def notify_of(self, found: Checked, say: Say) -> None:
        """Gives the command, if there is one, the new events."""
        if not self.notify or not found.new or self.dry_run:
            return
        report = found.report
        events = [event for event in report.data["events"] if event["is_new"]]
        message = json.dumps({**report.data, "headline": report.headline, "events": events})
        done = run_command(self.notify, given=message, output=None, timeout_s=NOTIFYING_S)
        if done.problem:
            say(f"warning: --notify: {self.notify!r} {done.problem}")

    def _branch(self, store: Store, project: Project) -> str:
        from opperf.history.store.reading import read_branches

        found = read_branches(store, project)
        if self.branch in found:
            return self.branch
        if self.branch:
            raise unknown("branch", self.branch, found, project.name)
        chosen = found if len(found) == 1 else [name for name in USUAL if name in found]
        if not chosen:
            raise UsageError(
                f"name a branch with --branch: {', '.join(found)}"
                if found
                else f"{project.name} has no runs any more; add some: opperf history add RUNFILE"
            )
        return chosen[0]


def _after(events: list[Change], updates: Iterable[Update]) -> list[Change]:
    changed = [update.event for update in updates]
    by_id = {event.id: event for event in changed if event.id}
    new = [event for event in changed if not event.id]
    return [*(by_id.get(event.id, event) for event in events), *new]


class BlessRequest(Request, frozen=True, kw_only=True):
    """Accepts a change."""

    event: Event
    why: Why
    where: Annotated[
        Literal["file", "store"],
        Option(
            "Where it is written: in the project's opperf.toml (or pyproject.toml), which is "
            "committed and reviewed, and read by every later check; or in the store.",
            section="History",
            spellings="--in",
        ),
    ] = "file"
    of: Stored = Stored()

    def run(self, say: Say) -> Path | None:
        """Returns the file that has it then; None for the store."""
        if not self.why.strip():
            raise UsageError("--why: write a reason")
        with self.of.opened() as (store, project):
            from opperf.comparison.project_file import Blessing, find_project_file
            from opperf.history.checking import add_blessing, default_file
            from opperf.history.events import State
            from opperf.history.store.events import find_event, set_state
            from opperf.history.store.reading import read_series

            found = find_event(store, project, self.event)
            if self.where == "store" or found.series is None:
                set_state(store, project, found, State.BLESSED, self.why)
                return None
            series = {stored.id: stored for stored in read_series(store, project)}
            if found.series not in series:
                raise StoreError(
                    f"{project.name}: the store is damaged: event {self.event} is of no series"
                )
            key, facts = series[found.series].key, series[found.series].facts
        path = default_file(Path.cwd(), find_project_file(Path.cwd()))
        commit = sha_text(found.first_bad)
        add_blessing(path, Blessing(commit, self.why, key.case, facts.name, key.metric))
        return path


class ConfirmRequest(Request, frozen=True, kw_only=True):
    """Says of a change that it was measured again, and found, or not."""

    event: Event
    is_noise: Annotated[
        bool,
        Option(
            "It was not found again; else it was found.", section="History", spellings="--noise"
        ),
    ] = False
    why: Annotated[str, Option("What was measured, and found.", metavar="TEXT", section="History")]
    of: Stored = Stored()

    def run(self, say: Say) -> State:
        with self.of.opened() as (store, project):
            from opperf.history.events import State
            from opperf.history.store.events import find_event, set_state

            state = State.NOISE if self.is_noise else State.CONFIRMED
            set_state(store, project, find_event(store, project, self.event), state, self.why)
            return state


class AliasRequest(Request, frozen=True, kw_only=True):
    """Lets the points of a case go on as those of another."""

    old: Annotated[str, argument("OLD")]
    new: Annotated[str, argument("NEW")]
    why: Why
    of: Stored = Stored()

    def run(self, say: Say) -> tuple[str, str]:
        with self.of.opened() as (store, project):
            from opperf.history.store.events import add_alias
            from opperf.history.store.reading import read_series

            names = {
                word: stored.key.case
                for stored in read_series(store, project)
                for word in (stored.key.case, f"{NUMBER}{stored.id}")
            }
            for word in (self.old, self.new):
                if word not in names:
                    raise UsageError(f"{project.name} has no case {word}{suggest(word, names)}")
            old, new = names[self.old], names[self.new]
            add_alias(store, project, old, new, self.why)
            return old, new


class CleanRequest(Request, frozen=True, kw_only=True):
    """Deletes runs of a history."""

    section: ClassVar[str] = "History"

    dirty: Annotated[bool, Option("Only runs of trees with uncommitted changes.")] = False
    branch: Annotated[str, Option("Only runs of this branch.", metavar="NAME")] = ""
    until: Annotated[
        datetime | None,
        Option(
            "Only runs until then: 2026-01-31, or 30d for days ago.", parse_moment, metavar="DATE"
        ),
    ] = None
    identities: Annotated[
        tuple[str, ...],
        Option("Only this run; repeat it for several.", metavar="ID", spellings="--run"),
    ] = ()
    dry_run: Annotated[
        bool, Option("Say what would be deleted.", section="Plan, resumption and exit code")
    ] = False
    of: Stored = Stored()

    def run(self, say: Say) -> tuple[Project, list[StoredRun]]:
        """Returns the project, and the runs of it that are deleted or would be."""
        if not (self.dirty or self.branch or self.until or self.identities):
            raise UsageError("say which runs: --dirty, --branch, --until or --run")
        with self.of.opened() as (store, project):
            from opperf.history.store.adding import remove_runs
            from opperf.history.store.reading import read_runs

            runs = read_runs(store, project)
            known = [run.identity for run in runs]
            for identity in self.identities:
                if identity not in known:
                    raise unknown("run", identity, known, project.name)
            found = [
                run
                for run in runs
                if (run.is_dirty or not self.dirty)
                and self.branch in ("", run.branch)
                and (self.until is None or run.started <= self.until.timestamp())
                and (not self.identities or run.identity in self.identities)
            ]
            if not self.dry_run:
                remove_runs(store, project, [run.id for run in found])
        return project, found
