"""The group `history`: commands on a store of results."""

from __future__ import annotations

import click

from opperf.commands.group import Group

HISTORY_COMMANDS: dict[str, tuple[str, str]] = {
    "add": ("adding:add", "Add runs, each as the figures of a commit."),
    "run": ("measuring:run", "Measure commits, and add their runs."),
    "import": ("importing:import_results", "Add results of other tools."),
    "export": ("exporting:export_history", "Write a history in another tool's form."),
    "list": ("listing:list_history", "List series, runs or projects."),
    "show": ("showing:show", "Show a series run by run, and what reproduces it."),
    "plot": ("plotting:plot", "Draw series over the commits."),
    "publish": ("publishing:publish", "Write the dashboard as files for any web server."),
    "check": ("checking:check", "Look for changes, and say which are open."),
    "bisect": ("bisecting:bisect", "Find the commit behind a change."),
    "bless": ("deciding:bless", "Accept a change."),
    "confirm": ("deciding:confirm", "Say that a change was measured again."),
    "alias": ("aliases:alias", "Let the series of a renamed case go on."),
    "gc": ("cleaning:gc", "Delete runs that are not wanted any more."),
}
"""Each command's function, as `module:name`, and its line in the help, in that order."""


@click.group(cls=Group, table=HISTORY_COMMANDS)
def history() -> None:
    """Keep results of many commits in a store, SQLite or PostgreSQL, and say what changed since
    when."""
