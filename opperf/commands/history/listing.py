"""The command `history list`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opperf.commands.command import command
from opperf.commands.history.choosing import choose, chosen_series
from opperf.commands.history.options import branch, project, store
from opperf.parameters import choice_option, debug, report_output


@command(
    "list",
    examples={
        "Every series with its latest figure": "opperf history list",
        "Those of an operator": "opperf history list 'conv*' --metric forward",
        "The verdicts of sessions of opperf ab": "opperf history list --what verdicts",
        "The runs of a branch": "opperf history list --what runs --branch main",
    },
)
@chosen_series
@choice_option("--what", choices=("series", "runs", "verdicts", "projects"), help="What to list.")
@store
@project
@branch
@report_output("history list")
@debug
@click.pass_context
def list_history(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """List what a history holds: series, each with its latest figure and verdict, runs, verdicts of
    sessions on two commits, or projects. Series of
    several environments are never joined. The number of a series, #12, names it elsewhere."""
    ctx.exit(_list(**options))


def _list(
    names: tuple[str, ...],
    metrics: tuple[str, ...],
    environment: str,
    what: str,
    store: str | None,
    project: str,
    branch: str,
    output_file: Path,
    output_format: str,
    overwrite: bool,
) -> int:
    # Help and completion do without the imports.
    from opperf.history.store.opening import Store, default_store
    from opperf.reports.writing import write_reports
    from opperf.results.output import Output, check_output

    output = Output(output_file, output_format)
    check_output(output.path, overwrite)
    with Store(store or default_store(), must_exist=True) as opened:
        from opperf.history.reports import listing
        from opperf.history.reports.verdicts import verdicts_report
        from opperf.history.store import reading
        from opperf.history.store.events import read_events
        from opperf.history.store.verdicts import read_evidence, read_verdicts
        from opperf.history.timelines import read_history
        from opperf.history.verdicts import latest_first

        if what == "projects":
            report = listing.projects_report(reading.read_projects(opened))
        else:
            of = reading.find_project(opened, project)
            if what == "verdicts":
                chosen = {
                    (stored.key.case, stored.key.metric)
                    for stored in choose(reading.read_series(opened, of), names, metrics)
                }
                verdicts = [
                    verdict
                    for verdict in latest_first(read_verdicts(opened, of))
                    if (not (names or metrics) or (verdict.key.case, verdict.key.metric) in chosen)
                    and verdict.key.environment.startswith(environment)
                ]
                report = verdicts_report(verdicts, of)
            elif what == "runs":
                runs = [run for run in reading.read_runs(opened, of) if branch in ("", run.branch)]
                report = listing.runs_report(
                    runs, of, reading.count_figures(opened, [run.id for run in runs])
                )
            else:
                series = choose(reading.read_series(opened, of), names, metrics, environment)
                history = read_history(opened, of, {chosen.id for chosen in series}, branch)
                report = listing.series_report(
                    history,
                    of,
                    reading.read_environments(opened),
                    read_evidence(opened, of),
                    read_events(opened, of, branch),
                )
    write_reports(report, [output])
    return 0
