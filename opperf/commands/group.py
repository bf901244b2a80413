"""The context of all commands, how their help is written, and the class of groups of commands,
which are imported when they are named."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import Any, cast

import click

HYPHEN, UNBROKEN = "-", "\N{NON-BREAKING HYPHEN}"
"""Click ends lines at the first and not at the second."""


class Formatter(click.HelpFormatter):
    """Writes help whose lines end between words, and not within `--max-configs`."""

    def write_text(self, text: str) -> None:
        super().write_text(text.replace(HYPHEN, UNBROKEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], *args: Any, **more: Any) -> None:
        unbroken = [(first, second.replace(HYPHEN, UNBROKEN)) for first, second in rows]
        super().write_dl(unbroken, *args, **more)

    def getvalue(self) -> str:
        return super().getvalue().replace(UNBROKEN, HYPHEN)


class Context(click.Context):
    """A command's context, with the formatter of its help."""

    formatter_class = Formatter


class Group(click.Group):
    """A group of commands; `table` has each one's function, as `module:name` of the group's own
    package, and its line in the help, in that order."""

    context_class = Context

    def __init__(self, *args: Any, table: Mapping[str, tuple[str, str]], **more: Any) -> None:
        more["invoke_without_command"] = True
        super().__init__(*args, **more)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        module, _, function = self.table[cmd_name][0].partition(":")
        package = f"opperf.commands.{self.name}"
        found = getattr(importlib.import_module(f"{package}.{module}"), function)
        return cast(click.Command, found)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.table.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.table and not args[0].startswith("-"):
            # Imported for an error only.
            from opperf.errors import unknown

            raise unknown("command", args[0], self.table, f"opperf {self.name}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        found = super().invoke(ctx)
        if ctx.invoked_subcommand is None:
            click.echo(ctx.get_help())
        return found
