"""Options that commands on a history share."""

from __future__ import annotations

from pathlib import Path

import click

store = click.option(
    "--store",
    metavar="STORE",
    help="Path of a file of SQLite, or URL of PostgreSQL.  [default: the environment variable "
    "OPPERF_HISTORY, else history.sqlite in opperf's data folder]",
)

project = click.option(
    "--project", default="", metavar="NAME", help="Project.  [default: the only one]"
)

branch = click.option(
    "--branch", default="", metavar="NAME", help="Only runs of this branch.  [default: all]"
)

repository = click.option(
    "--repository",
    default=".",
    show_default="the current folder",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Git repository that the commits are of.",
)
