"""The command `history publish`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opperf.commands.command import command
from opperf.commands.history.options import store
from opperf.parameters import debug


@command(
    examples={
        "A page that any web server has": "opperf history publish public",
        "Of one project, for a browser without a server": (
            "opperf history publish kernels --project kernels && xdg-open kernels/index.html"
        ),
    }
)
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@store
@click.option(
    "--project",
    "projects",
    multiple=True,
    metavar="NAME",
    help="Only this project; repeat it for several.  [default: all]",
)
@debug
@click.pass_context
def publish(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Write the dashboard of `opperf serve` as files, with the data that the store has now: for a
    web server that has files alone, or for a browser that opens FOLDER/index.html. FOLDER is new,
    empty, or an earlier publication, in whose place this one is."""
    ctx.exit(_publish(**options))


def _publish(folder: Path, store: str | None, projects: tuple[str, ...]) -> int:
    # Help and completion do without the imports.
    from opperf.history.store.opening import Store, default_store
    from opperf.plurals import pluralize
    from opperf.results.messages import tell

    with Store(store or default_store(), must_exist=True) as opened:
        from opperf.history.store.reading import find_project, read_projects
        from opperf.serving.publishing import check_target, publish

        check_target(folder)
        chosen = [find_project(opened, name) for name in dict.fromkeys(projects)]
        found = chosen or read_projects(opened) or [find_project(opened)]
        publish(opened, found, folder)
    tell(f"{pluralize(len(found), 'project')} written to {folder}: open {folder / 'index.html'}")
    return 0
