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

project_of_commits = click.option(
    "--project",
    default="",
    metavar="NAME",
    help="Project that the commits are of.  [default: the name of the repository]",
)

branch = click.option(
    "--branch", default="", metavar="NAME", help="Only runs of this branch.  [default: all]"
)

commits_of_option = click.option(
    "--commits-of",
    type=click.Choice(("code", "framework"), case_sensitive=False),
    help="What the project's commits are of: your own code, for which another version of a "
    "framework is another environment, or the framework that is measured.  [default: code; of a "
    "project that is there, as it was made]",
)

repository = click.option(
    "--repository",
    default=".",
    show_default="the current folder",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Git repository that the commits are of.",
)
