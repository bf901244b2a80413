"""The command `history alias`."""

from __future__ import annotations

from typing import Any

import click

from opperf.commands.command import command
from opperf.commands.history.options import project, store
from opperf.parameters import debug


@command(
    examples={
        "A renamed function's series goes on": (
            "opperf history alias '#12' '#340' --why 'fused_gelu is now gelu'"
        )
    }
)
@click.argument("old")
@click.argument("new")
@click.option("--why", required=True, metavar="TEXT", help="Reason, for those who ask later.")
@store
@project
@debug
@click.pass_context
def alias(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Let the points of the case OLD go on as those of NEW, all of its metrics: after a rename, or
    a change of the case that does not matter. Each is the id of a case, or #NUMBER of stored of its
    series."""
    ctx.exit(_alias(**options))


def _alias(old: str, new: str, why: str, store: str | None, project: str) -> int:
    # Help and completion do without the imports.
    from opperf.history.store.opening import Store, default_store

    with Store(store or default_store(), must_exist=True) as opened:
        from opperf.errors import UsageError, suggest
        from opperf.history.store.aliases import add_alias
        from opperf.history.store.reading import find_project, read_series

        of = find_project(opened, project)
        names = {
            word: stored.key.case
            for stored in read_series(opened, of)
            for word in (stored.key.case, f"#{stored.id}")
        }
        for word in (old, new):
            if word not in names:
                raise UsageError(f"{of.name} has no case {word}{suggest(word, names)}")
        add_alias(opened, of, names[old], names[new], why)
        print(f"{names[old]} goes on as {names[new]}")
    return 0
