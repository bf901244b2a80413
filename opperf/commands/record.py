"""The commands on what programs do: `record`, `trace` and `explain`."""

from __future__ import annotations

import click

from opperf.commands.options import RequestCommand, command, write
from opperf.requests.parsers import CALLABLE
from opperf.requests.profiles import ExplainRequest, TraceRequest
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


@command(ExplainRequest)
def explain(request: ExplainRequest) -> int:
    """Show which functions made the difference between two counts of instructions, BASE and NEW:
    run files of `opperf run --profiler instructions` and the ID of a case (a prefix of it, or an
    operator that has a single case), or two files of callgrind's. A session of `opperf ab
    --profiler instructions` has both sides: `opperf explain FILE ID`.

    Exclusive counts are of a function's own code, inclusive ones of all that runs while it does;
    both are per call of the operator. Functions are matched by name and by the name of their
    library.
    """
    return write(request.run(tell), request)


@command(TraceRequest)
def trace(request: TraceRequest) -> int:
    """Show what is in traces of a program: execution traces of PyTorch and Chakra, and traces of
    PyTorch's profiler (.json, .json.gz, .tar.gz, or a folder with a file for each rank). An
    execution trace and a profiler's trace of the same process are one: with the times of the
    second. Several ranks are shown side by side. `opperf run FILE` measures the calls."""
    report = request.run(tell)
    return 0 if report is None else write(report, request)
