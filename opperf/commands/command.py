"""The class of all commands, which refuses an option of one value that is set several times."""

from __future__ import annotations

import functools
from collections import Counter

import click


class Command(click.Command):
    """A command that refuses options of one value that are set several times: click would use the
    last value and say nothing."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _, _, occurrences = self.make_parser(ctx).parse_args(list(args))
        # Help is shown whatever else is wrong.
        counts = {} if self.get_help_option(ctx) in occurrences else Counter(occurrences)
        for param, number in counts.items():
            if number > 1 and has_one_value(param):
                raise click.UsageError(
                    f"{option_name(param)} takes one value and is set {number} times; set it once",
                    ctx,
                )
        return super().parse_args(ctx, args)


def has_one_value(param: click.Parameter) -> bool:
    """Whether a parameter is an option that takes one value: no flag, and none of several."""
    return isinstance(param, click.Option) and not (param.is_flag or param.multiple or param.count)


def option_name(param: click.Parameter) -> str:
    """Returns the long name of an option, of several the last."""
    return max(reversed(param.opts), key=len)


command = functools.partial(click.command, cls=Command)
"""The decorator of a command."""
