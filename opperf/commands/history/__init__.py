"""The group `history`: commands on a store of results."""

from __future__ import annotations

import click

from opperf.commands.group import Group

HISTORY_COMMANDS: dict[str, tuple[str, str]] = {
    "add": ("adding:add", "Add runs, each as the figures of a commit."),
    "run": ("measuring:run", "Measure commits, and add their runs."),
    "import": ("adding:import_results", "Add results of other tools."),
    "export": ("viewing:export_history", "Write a history in another tool's form."),
    "list": ("viewing:list_history", "List series, runs or projects."),
    "show": ("viewing:show", "Show a series run by run, and what reproduces it."),
    "plot": ("viewing:plot", "Draw series over the commits."),
    "publish": ("viewing:publish", "Write the dashboard as files for any web server."),
    "check": ("changes:check", "Look for changes, and say which are open."),
    "bisect": ("measuring:bisect", "Find the commit behind a change."),
    "bless": ("changes:bless", "Accept a change."),
    "confirm": ("changes:confirm", "Say that a change was measured again."),
    "alias": ("changes:alias", "Let the series of a renamed case go on."),
    "gc": ("changes:gc", "Delete runs that are not wanted any more."),
}
"""Each command's function, as `module:name`, and its line in the help, in that order."""


@click.group(cls=Group, table=HISTORY_COMMANDS)
def history() -> None:
    """Keep results of many commits in a store, SQLite or PostgreSQL, and say what changed since
    when."""
