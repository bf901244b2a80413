"""The group `suite`: commands on files that say which benches are run."""

from __future__ import annotations

import click

from opperf.commands.group import Group

SUITE_COMMANDS: dict[str, tuple[str, str]] = {
    "check": ("files:check", "Check suite files: whether they resolve, and what they lack."),
    "list": ("files:list_benches", "List the benches of suite files."),
    "show": ("files:show", "Show what a bench runs, and where its values are from."),
    "install": ("files:install", "Install the environments of benches."),
    "prepare": ("files:prepare", "Fetch the data of benches by their prepare.py."),
    "shell": ("files:shell", "Start a shell in the environment of a bench."),
    "slurm": ("files:slurm", "Write the script of a Slurm array job that runs suite files."),
    "cluster": ("files:cluster", "Write Ray's configuration of a system's nodes."),
    "run": ("run:run", "Run the benches of suite files."),
    "multirun": ("run:multirun", "Run suite files once for each matrix of a system."),
    "validate": ("results:validate", "Validate stored runs: what failed, which figures to doubt."),
    "report": ("results:report", "Report a run: a row for each bench, and the total."),
    "compare": ("results:compare", "Compare two runs bench by bench."),
}
"""Each command's function, as `module:name`, and its line in the help, in that order."""


@click.group(cls=Group, table=SUITE_COMMANDS)
def suite() -> None:
    """Run suites of benchmarks, and report, validate and compare their results. A suite is a YAML
    file that says what is run, how, and what counts as failure; milabench's files are read as they
    are."""
