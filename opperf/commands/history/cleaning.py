"""The command `history gc`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from opperf.commands.command import command
from opperf.commands.history.options import project, store
from opperf.parameters import debug
from opperf.parsing import clicked
from opperf.requests.parsers import parse_moment


@command(
    examples={
        "Runs of trees with uncommitted changes, older than a month": (
            "opperf history gc --dirty --until 30d --dry-run"
        )
    }
)
@click.option("--dirty", is_flag=True, help="Only runs of trees with uncommitted changes.")
@click.option("--branch", default="", metavar="NAME", help="Only runs of this branch.")
@click.option(
    "--until",
    metavar="DATE",
    callback=clicked(parse_moment),
    help="Only runs until then: 2026-01-31, or 30d for days ago.",
)
@click.option(
    "--run", "identities", multiple=True, metavar="ID", help="Only this run; repeat it for several."
)
@click.option("--dry-run", is_flag=True, help="Say what would be deleted.")
@store
@project
@debug
@click.pass_context
def gc(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Delete runs from a history with their figures, and the series and commits that have none
    left."""
    ctx.exit(_gc(**options))


def _gc(
    dirty: bool,
    branch: str,
    until: datetime | None,
    identities: tuple[str, ...],
    dry_run: bool,
    store: str | None,
    project: str,
) -> int:
    # Help and completion do without the imports.
    from opperf.errors import UsageError, unknown
    from opperf.history.store.opening import Store, default_store
    from opperf.plurals import pluralize

    if not (dirty or branch or until or identities):
        raise UsageError("say which runs: --dirty, --branch, --until or --run")
    with Store(store or default_store(), must_exist=True) as opened:
        from opperf.history.store.reading import find_project, read_runs
        from opperf.history.store.removing import remove_runs

        of = find_project(opened, project)
        runs = read_runs(opened, of)
        for identity in identities:
            if identity not in {run.identity for run in runs}:
                raise unknown("run", identity, [run.identity for run in runs], of.name)
        found = [
            run
            for run in runs
            if (run.is_dirty or not dirty)
            and branch in ("", run.branch)
            and (until is None or run.started <= until.timestamp())
            and (not identities or run.identity in identities)
        ]
        if not dry_run:
            remove_runs(opened, of, [run.id for run in found])
    verb = "would be deleted" if dry_run else "deleted"
    print(f"{pluralize(len(found), 'run')} of {of.name} {verb}")
    return 0
