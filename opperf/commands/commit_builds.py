"""The options and words by which commits of a repository are built, of the commands that measure
them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from opperf.commands.command import Command
from opperf.commands.options import group_options, take
from opperf.requests.commit_builds import CommitBuilds

if TYPE_CHECKING:
    from opperf.history.builds import Recipe

commit_options = group_options(CommitBuilds)


def read_recipe(given: Mapping[str, Any]) -> Recipe:
    """Returns how commits are built, by the values of `commit_options` and the words of `build`.
    Raises `UsageError`."""
    return take(CommitBuilds, given).recipe(tuple(given["build"]))


BUILD = f"{__name__}.build"
"""Key of the words behind `--` in the context's `meta`."""

SEPARATOR = "--"

TAKES_OTHERS = {"ignore_unknown_options": True, "allow_extra_args": True}
"""Settings of the context of a command that takes the options of another one besides its own."""


class WithBuild(Command):
    """Keeps the words behind `--`, which build a commit."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index(SEPARATOR) if SEPARATOR in args else len(args)
        ctx.meta[BUILD] = tuple(args[end + 1 :])
        return super().parse_args(ctx, args[:end])
