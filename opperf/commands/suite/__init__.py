"""The group `suite`: commands on files that say which benches are run."""

from __future__ import annotations

import importlib
from typing import cast

import click

from opperf.commands.command import Context

SUITE_COMMANDS: dict[str, tuple[str, str]] = {
    "check": ("files:check", "Check suite files: whether they resolve, and what they lack."),
    "list": ("files:list_benches", "List the benches of suite files."),
    "show": ("files:show", "Show what a bench runs, and where its values are from."),
    "install": ("environments:install", "Install the environments of benches."),
    "prepare": ("environments:prepare", "Fetch the data of benches by their prepare.py."),
    "shell": ("environments:shell", "Start a shell in the environment of a bench."),
    "slurm": ("slurm:slurm", "Write the script of a Slurm array job that runs suite files."),
    "cluster": ("cluster:cluster", "Write Ray's configuration of a system's nodes."),
    "run": ("run:run", "Run the benches of suite files."),
    "validate": ("results:validate", "Validate stored runs: what failed, which figures to doubt."),
    "report": ("results:report", "Report a run: a row for each bench, and the total."),
    "compare": ("results:compare", "Compare two runs bench by bench."),
}
"""Each command's function, as `module:name`, and its line in the help, in that order."""


class SuiteGroup(click.Group):
    """The group, whose commands are imported when they are named."""

    context_class = Context

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUITE_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUITE_COMMANDS:
            return None
        module, _, function = SUITE_COMMANDS[cmd_name][0].partition(":")
        found = getattr(importlib.import_module(f"opperf.commands.suite.{module}"), function)
        return cast(click.Command, found)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in SUITE_COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in SUITE_COMMANDS and not args[0].startswith("-"):
            # Imported for an error only.
            from opperf.errors import unknown

            raise unknown("command", args[0], SUITE_COMMANDS, "opperf suite")
        return super().resolve_command(ctx, args)


@click.group(cls=SuiteGroup, invoke_without_command=True)
@click.pass_context
def suite(ctx: click.Context) -> None:
    """Run suites of benchmarks, and report, validate and compare their results. A suite is a YAML
    file that says what is run, how, and what counts as failure; milabench's files are read as they
    are."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
