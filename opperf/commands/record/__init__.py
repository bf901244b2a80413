"""The command `record`: its arguments and options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opperf.commands.command import Command
from opperf.errors import UsageError
from opperf.parameters import (
    argument_options,
    count_option,
    debug,
    explicit_options,
    framework,
    no_backward,
    setting_option,
)
from opperf.requests.parsers import CALLABLE


def parse_steps(ctx: click.Context, param: click.Parameter, text: str | None) -> Any:
    """Parses a range of steps, `A:B`."""
    # Help and completion do without the import.
    from opperf.recording.steps import read_steps

    if text is None:
        return None
    try:
        return read_steps(text)
    except UsageError as error:
        raise click.BadParameter(str(error), ctx, param) from error


class RecordCommand(Command):
    """A command whose options after a program's name are the program's; a function has none, and
    its inputs are options of the command, before its name or after it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.allow_interspersed_args = False
        found, _, _ = self.make_parser(ctx).parse_args(list(args))
        words = found.get("names")
        # Without a word click has a value of its own there.
        first = words[0] if isinstance(words, (list, tuple)) and words else ""
        ctx.allow_interspersed_args = CALLABLE.fullmatch(first) is not None
        return super().parse_args(ctx, args)


@click.command(
    cls=RecordCommand,
    examples={
        "Ten steps of a training script": (
            "opperf record --steps 10:20 -o train.jsonl train.py --epochs 1"
        ),
        "A model's forward and backward pass": (
            "opperf record model.py:GPT --shape tokens=8x128 --timed"
        ),
        "What they call, measured by itself": "opperf run train.jsonl",
    },
)
@click.argument("names", metavar="PROGRAM [ARGS]...", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "-m",
    "is_module",
    is_flag=True,
    help="PROGRAM is a module, as that of `python -m`.",
)
@click.option(
    "-o",
    "--output-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The recording, a run file.  [default: ./PROGRAM.jsonl]",
)
@click.option("--overwrite", is_flag=True, help="Replace the recording if it exists.")
@click.option(
    "--timed",
    is_flag=True,
    help="Keep the time of each call, for which a GPU is waited for.",
)
@click.option(
    "--steps",
    callback=parse_steps,
    metavar="A:B",
    help="Record the steps A to B-1, counted from 0; the others are timed without a recorder. A "
    "step ends with the step of the program's first optimizer, or where it calls opperf.step(). "
    " [default: the whole program]",
)
@click.option(
    "--et",
    "trace",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write PyTorch's execution trace of what is recorded as well.",
)
@argument_options
@setting_option("input_function")
@setting_option("imports")
@setting_option("device")
@setting_option("dtype")
@setting_option("seed")
@no_backward
@count_option(
    "-r",
    "--runs",
    default=3,
    show_default=True,
    help="Calls of a function or model that are recorded, after as many that are only timed.",
)
@framework
@debug
@click.pass_context
def record(ctx: click.Context, /, **options: Any) -> None:
    """Record the calls of operators that a program makes: which, with what shapes, strides and
    values, how often, and from which module and line. PROGRAM is a script, a module with -m, or a
    function, layer or model, as model.py:GPT, whose inputs are made as those of `opperf run`.

    The recording is a run file of cases: `opperf run` measures them, `opperf report` ranks them. It
    has no data of the program's: the contents of tensors suit the operator. It is written, too, if
    the program fails or is interrupted, and its exit code is the program's."""
    from opperf.commands.record.request import read_request
    from opperf.commands.record.running import record_command

    ctx.exit(record_command(read_request(options, explicit_options(ctx, options))))
