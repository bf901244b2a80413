"""The commands `history bless` and `history confirm`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opperf.commands.command import command
from opperf.commands.history.options import project, store
from opperf.parameters import choice_option, debug

event = click.argument("event", type=click.IntRange(min=1), metavar="EVENT")


@command(
    examples={
        "A change that was wanted, in the project's file for the next review": (
            "opperf history bless 12 --why 'exact results for long rows'"
        ),
        "The same in the store alone": (
            "opperf history bless 12 --why 'exact results for long rows' --in store"
        ),
    }
)
@event
@click.option("--why", required=True, metavar="TEXT", help="Reason, for those who ask later.")
@choice_option(
    "--in",
    "where",
    choices=("file", "store"),
    help="Where it is written: in the project's opperf.toml (or pyproject.toml), which is "
    "committed and reviewed, and read by every later check; or in the store.",
)
@store
@project
@debug
@click.pass_context
def bless(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Accept a change: it is blessed from the next `opperf history check` on, or at once in the
    store."""
    ctx.exit(_bless(**options))


def _bless(event: int, why: str, where: str, store: str | None, project: str) -> int:
    # Help and completion do without the imports.
    from opperf.errors import UsageError
    from opperf.history.store.opening import Store, StoreError, default_store

    if not why.strip():
        raise UsageError("--why: write a reason")
    with Store(store or default_store(), must_exist=True) as opened:
        from opperf.comparison.project_file import Blessing, find_project_file
        from opperf.history.blessing import add_blessing, default_file
        from opperf.history.events import State
        from opperf.history.reports.values import sha_text
        from opperf.history.store.events import find_event, set_state
        from opperf.history.store.reading import find_project, read_series

        of = find_project(opened, project)
        found = find_event(opened, of, event)
        if where == "store" or found.series is None:
            set_state(opened, found, State.BLESSED, why)
            print(f"event {event} is blessed")
            return 0
        series = {stored.id: stored for stored in read_series(opened, of)}.get(found.series)
        if series is None:
            raise StoreError(f"{of.name}: the store is damaged: event {event} is of no series")
        path = default_file(Path.cwd(), find_project_file(Path.cwd()))
        blessing = Blessing(
            sha_text(found.first_bad),
            why,
            case=series.key.case,
            operator=series.facts.name,
            metric=series.key.metric,
        )
        add_blessing(path, blessing)
        print(f"event {event} is blessed in {path}; commit it")
    return 0


@command(
    examples={
        "What measuring both commits in turn said": (
            "opperf history confirm 12 --noise --why 'ab: same within 1 %'"
        )
    }
)
@event
@click.option(
    "--noise", "is_noise", is_flag=True, help="It was not found again; else it was found."
)
@click.option("--why", required=True, metavar="TEXT", help="What was measured, and found.")
@store
@project
@debug
@click.pass_context
def confirm(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Say of a change that it was measured again, and found, or not. `opperf history bisect` does
    so itself."""
    ctx.exit(_confirm(**options))


def _confirm(event: int, is_noise: bool, why: str, store: str | None, project: str) -> int:
    # Help and completion do without the imports.
    from opperf.history.store.opening import Store, default_store

    with Store(store or default_store(), must_exist=True) as opened:
        from opperf.history.events import State
        from opperf.history.store.events import find_event, set_state
        from opperf.history.store.reading import find_project

        found = find_event(opened, find_project(opened, project), event)
        state = State.NOISE if is_noise else State.CONFIRMED
        set_state(opened, found, state, why)
    print(f"event {event} is {state.value}")
    return 0
