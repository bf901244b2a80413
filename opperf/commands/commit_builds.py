"""The options and words by which commits of a repository are built, of the commands that measure
them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from opperf.commands.command import Command
from opperf.parameters import combine

if TYPE_CHECKING:
    from opperf.history.builds import Recipe

commit_options = combine(
    click.option(
        "--all-parents",
        is_flag=True,
        help="Try the commits of merged branches too, and not those of first parents alone.",
    ),
    click.option(
        "--commit-env",
        multiple=True,
        metavar="NAME=VALUE",
        help="Environment variable of the processes that measure a commit, by which they find what "
        "was built; {worktree} stands for the commit's folder. Repeat it for several.  "
        "[default: PYTHONPATH={worktree}, unless a wheel is installed]",
    ),
    click.option(
        "--wheel",
        metavar="GLOB",
        help="The wheel that a build leaves, in the commit's folder: it is installed in an "
        "environment of its own, whose interpreter measures.  [default: dist/*.whl, if there is "
        "one]",
    ),
    click.option(
        "--with",
        "requirements",
        multiple=True,
        metavar="REQUIREMENTS",
        help="Requirements that are installed beside the wheel, e.g. 'numpy<2'.",
    ),
)


def read_recipe(given: Mapping[str, Any]) -> Recipe:
    """Returns how commits are built, by the values of `commit_options` and the words of `build`.
    Raises `UsageError`."""
    # Help and completion do without the imports.
    import msgspec

    from opperf.history.builds import WHEELS, Recipe, variables_of

    recipe = Recipe(
        command=tuple(given["build"]),
        wheel=given["wheel"] or WHEELS,
        requirements=tuple(given["requirements"]),
    )
    variables = variables_of(given["commit_env"])
    return msgspec.structs.replace(recipe, variables=variables) if variables else recipe


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
