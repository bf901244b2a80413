"""The command `record`."""

from __future__ import annotations

import click

from opperf.commands.options import RequestCommand
from opperf.requests.parsers import CALLABLE
from opperf.requests.record import RecordRequest
from opperf.results.messages import tell


class RecordCommand(RequestCommand[RecordRequest]):
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


def _record(request: RecordRequest) -> int:
    """Record the calls of operators that a program makes: which, with what shapes, strides and
    values, how often, and from which module and line. PROGRAM is a script, a module with -m, or a
    function, layer or model, as model.py:GPT, whose inputs are made as those of `opperf run`.

    The recording is a run file of cases: `opperf run` measures them, `opperf report` ranks them. It
    has no data of the program's: the contents of tensors suit the operator. It is written, too, if
    the program fails or is interrupted, and its exit code is the program's."""
    return request.run(tell)


record = RecordCommand(
    RecordRequest,
    _record,
    name="record",
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
