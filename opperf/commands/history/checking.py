"""The command `history check`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opperf.commands.command import command
from opperf.commands.history.options import project, store
from opperf.errors import FOUND
from opperf.parameters import choice_option, debug, report_outputs
from opperf.parsing import clicked
from opperf.processes.commands import run_command
from opperf.shares import read_share

if TYPE_CHECKING:
    from opperf.history.events import Event, Update
    from opperf.history.store.opening import Store
    from opperf.history.store.rows import Project
    from opperf.reports.model import Report


@command(
    examples={
        "What changed on a branch, with 1 if somebody has to look": (
            "opperf history check --branch main"
        ),
        "Alerts as a team reads them: at most two a week": (
            "opperf history check --branch main --alerts-per-week 2 -o changes.md"
        ),
        "Only what this check found first ends with 1": (
            "opperf history check --branch main --fail-on new"
        ),
    }
)
@store
@project
@click.option(
    "--branch",
    default="",
    metavar="NAME",
    help="Branch whose runs are one line.  [default: the only one, else main or master]",
)
@choice_option(
    "--method",
    choices=("likelihood", "asv"),
    help="Likelihood ratios at one rate of false alarms over all series, or asv's fit of pieces, "
    "which has none.",
)
@click.option(
    "--false-alarms",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    show_default=True,
    metavar="NUMBER",
    help="False losses in a year, of all series together, that are accepted.",
)
@click.option(
    "--alerts-per-week",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="Most alerts in a week, the clearest; in place of --false-alarms.",
)
@click.option(
    "--smallest",
    default="2%",
    show_default=True,
    metavar="SHARE",
    callback=clicked(read_share),
    help="Smallest change of interest.",
)
@choice_option(
    "--fail-on",
    choices=("open", "new", "nothing"),
    help="End with 1 on losses that are open, on those that this check found, or never.",
)
@click.option(
    "--notify",
    metavar="COMMAND",
    help="Command of the shell that is run once if there are new events, with them as JSON on its "
    "standard input; not with --dry-run. If it fails, that is said, and the exit code stays.",
)
@click.option("--dry-run", is_flag=True, help="Store nothing.")
@report_outputs("history check")
@click.option("--overwrite", is_flag=True, help="Replace the output files if they exist.")
@debug
@click.pass_context
def check(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Look for changes in the series of a branch, against all of its runs and not the last one, and
    keep them as events. An event is open until it is measured again and not found (noise: `opperf
    history add` of a session), until the series is back (fixed), or until somebody accepts it
    (blessed): in the store by `opperf history bless`, or in the project's file, which is reviewed
    as code is."""
    ctx.exit(_check(Request(**options)))


@dataclass(frozen=True)
class Request:
    """The request of `history check`: its parameters."""

    store: str | None
    project: str
    branch: str
    method: str
    false_alarms: float
    alerts_per_week: int | None
    smallest: float
    fail_on: str
    notify: str | None
    dry_run: bool
    output_files: tuple[Path, ...]
    output_formats: tuple[str, ...]
    overwrite: bool


def _check(request: Request) -> int:
    # Help and completion do without the imports.
    from opperf.history.store.opening import Store, default_store
    from opperf.reports.writing import write_reports
    from opperf.results.output import Output, check_output

    outputs = tuple(map(Output, request.output_files, request.output_formats))
    for output in outputs:
        check_output(output.path, request.overwrite)
    with Store(request.store or default_store(), must_exist=True) as store:
        from opperf.comparison.project_file import find_project_file
        from opperf.history.checking import bless_events, check_history
        from opperf.history.detection import Rate
        from opperf.history.events import State
        from opperf.history.reports.checked import check_report, open_losses, rows_of
        from opperf.history.store.events import read_events, update_events
        from opperf.history.store.reading import find_project, machine_names, read_environments
        from opperf.history.store.verdicts import decide_by_verdicts, read_evidence
        from opperf.history.timelines import read_history, read_outcomes
        from opperf.history.verdicts import decide_events

        file = find_project_file(Path.cwd())
        of = find_project(store, request.project)
        branch = _choose_branch(store, of, request.branch)
        history = read_history(store, of, branch=branch)
        budget = request.alerts_per_week
        rate = Rate(request.false_alarms) if budget is None else Rate.budget(budget)
        known = read_events(store, of, branch)
        outcomes = read_outcomes(store, of, history)
        checked = check_history(
            history, branch, rate, request.method, request.smallest, known, outcomes
        )
        lines = {line.id: line for line in history.timelines}

        def bless(events: list[Event]) -> list[Update]:
            return bless_events(events, lines, checked.order, file)

        evidence = read_evidence(store, of)
        if request.dry_run:
            events = _after(known, checked.updates(known))
            events = _after(events, bless(events))
            events = _after(events, decide_events(events, evidence))
        else:
            known = update_events(store, of, branch, checked.updates)
            update_events(store, of, branch, bless)
            decide_by_verdicts(store, of, branch)
            events = read_events(store, of, branch)
        before = {event.id: event.state for event in known}
        # Of those that were noise, the ones that were found again.
        new = [
            event.id
            for event in events
            if event.id not in before
            or (event.state is State.NEW and before[event.id] is not State.NEW)
        ]
        reasons = {(event.series, event.first_bad): why for event, why in checked.found if why}
        machines = machine_names(read_environments(store))
        rows = rows_of(events, lines, new, evidence, machines, reasons)
    report = check_report(rows, checked, history, of, branch, machines)
    write_reports(report, outputs)
    if request.notify and new and not request.dry_run:
        _notify(request.notify, report)
    losses = open_losses(rows)
    failing = {"open": losses, "new": [row for row in losses if row.is_new], "nothing": []}
    return FOUND if failing[request.fail_on] else 0


NOTIFYING_S = 60
"""Seconds that a command has to pass a message on."""


def _notify(command: str, report: Report) -> None:
    """Gives a command the new events of a report."""
    from opperf.results.messages import tell

    events = [event for event in report.data["events"] if event["is_new"]]
    message = json.dumps({**report.data, "headline": report.headline, "events": events})
    done = run_command(command, given=message, output=None, timeout_s=NOTIFYING_S)
    if done.problem:
        tell(f"warning: --notify: {command!r} {done.problem}")


def _after(events: list[Event], updates: list[Update]) -> list[Event]:
    """Returns the events with those that changed in place of themselves, and new ones behind."""
    changed = [update.event for update in updates]
    by_id = {event.id: event for event in changed if event.id}
    new = [event for event in changed if not event.id]
    return [*(by_id.get(event.id, event) for event in events), *new]


USUAL = ("main", "master")


def _choose_branch(store: Store, project: Project, named: str) -> str:
    """Returns the branch that is named, else that of all runs, else the usual one. Raises
    `UsageError` for one that has no runs, and if there are several others."""
    from opperf.errors import UsageError, unknown
    from opperf.history.store.reading import read_branches

    found = read_branches(store, project)
    if named in found:
        return named
    if named:
        raise unknown("branch", named, found, project.name)
    chosen = found if len(found) == 1 else [name for name in USUAL if name in found]
    if not chosen:
        raise UsageError(
            f"name a branch with --branch: {', '.join(found)}"
            if found
            else f"{project.name} has no runs any more; add some: opperf history add RUNFILE"
        )
    return chosen[0]
