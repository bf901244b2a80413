"""The command `history show`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opperf.commands.command import command
from opperf.commands.history.choosing import NUMBER, choose, chosen_series
from opperf.commands.history.options import branch, project, store
from opperf.parameters import debug, report_output


@command(
    examples={
        "The times of an operator, commit by commit": (
            "opperf history show softmax --metric forward --branch main"
        ),
        "One series as a file": "opperf history show '#12' -o softmax.csv",
        "A change: its states, its series, and the verdicts on it": (
            "opperf history show --event 7"
        ),
    }
)
@chosen_series
@click.option(
    "--dirty", "with_dirty", is_flag=True, help="Also runs of trees with uncommitted changes."
)
@click.option(
    "--event",
    type=click.IntRange(min=1),
    metavar="EVENT",
    help="Show the series of this event, its states, and the verdicts on it.",
)
@store
@project
@branch
@report_output("history show")
@debug
@click.pass_context
def show(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Show series run by run, in the order of their commits: median, interval, change, the verdicts
    of sessions, and the command that measures the case again."""
    ctx.exit(_show(**options))


def _show(
    names: tuple[str, ...],
    metrics: tuple[str, ...],
    environment: str,
    with_dirty: bool,
    event: int | None,
    store: str | None,
    project: str,
    branch: str,
    output_file: Path,
    output_format: str,
    overwrite: bool,
) -> int:
    # Help and completion do without the imports.
    from opperf.errors import UsageError
    from opperf.history.store.opening import Store, default_store
    from opperf.reports.writing import write_reports
    from opperf.results.output import Output, check_output

    if event is not None and names:
        raise UsageError("--event shows the series of the event; name no other")
    if event is None and not names:
        raise UsageError("name an operator or a series, e.g. opperf history show '#12'")
    output = Output(output_file, output_format)
    check_output(output.path, overwrite)
    with Store(store or default_store(), must_exist=True) as opened:
        from opperf.history.reports.showing import ShownEvent, show_report
        from opperf.history.store import reading
        from opperf.history.store.events import find_event, read_states
        from opperf.history.store.verdicts import read_evidence
        from opperf.history.timelines import read_history

        of = reading.find_project(opened, project)
        series = reading.read_series(opened, of)
        shown = None
        if event is not None:
            found = find_event(opened, of, event)
            if found.series is None:
                raise UsageError(
                    f"event {event} is of a machine, and of no series; opperf history list "
                    f"--environment {found.environment} lists those"
                )
            shown = ShownEvent(found, read_states(opened, found))
            names, branch = (f"{NUMBER}{found.series}",), branch or found.branch
        ids = {stored.id for stored in choose(series, names, metrics, environment)}
        history = read_history(opened, of, ids, branch, with_dirty)
        cases = {stored.key.case for stored in series if stored.id in ids}
        failed = {
            stored.id for stored in series if stored.key.case in cases and not stored.key.metric
        } | ids
        failures = [
            stored for stored in reading.read_failures(opened, of) if stored.series in failed
        ]
        environments = reading.read_environments(opened)
        evidence = read_evidence(opened, of)
        report = show_report(history, of, environments, failures, evidence, shown)
    write_reports(report, [output])
    return 0
