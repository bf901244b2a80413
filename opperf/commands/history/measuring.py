"""The commands that measure commits of a repository, which are built by the words behind `--`."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from opperf.commands.options import Asked, RequestCommand, write
from opperf.errors import INTERRUPTED, UsageError, one_line
from opperf.requests.bisecting.request import BisectRequest
from opperf.requests.declaring import unsaid
from opperf.requests.history.bisecting import ChangeBisectRequest
from opperf.requests.history.measuring import CommitsRequest
from opperf.results.messages import tell

BUILD = f"{__name__}.build"
"""Key of the words behind `--` in the context's `meta`."""

SEPARATOR = "--"


class BuildingCommand(RequestCommand[Asked]):
    """The command of a request that has the words of another command, too, and of a build."""

    def __init__(self, *args: Any, **more: Any) -> None:
        others = {"ignore_unknown_options": True, "allow_extra_args": True}
        super().__init__(*args, context_settings=others, **more)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index(SEPARATOR) if SEPARATOR in args else len(args)
        ctx.meta[BUILD] = tuple(args[end + 1 :])
        return super().parse_args(ctx, args[:end])

    def request_of(self, ctx: click.Context) -> Asked:
        request = super().request_of(ctx)
        return msgspec.structs.replace(request, words=tuple(ctx.args), build=ctx.meta[BUILD])


def _run(request: CommitsRequest) -> int:
    """Measure commits of a git repository, each in its own build, and add their runs to a history.
    RANGE is `A..B`, the commits that lead to B and not to A, one commit, or ALL. What is measured
    follows, as `opperf run` takes it, with its options; BUILD, the command that builds a commit,
    follows `--`.

    The newest commit is first, then the oldest, then the middle of the largest gap: wherever it is
    interrupted, the measured ones span the range. The same command goes on then. Commits whose
    cases the history has, of this machine and environment, are omitted.

    The exit code is 3 if the history has a figure of no commit then; with --strict 1 if a commit or
    a case failed."""
    from opperf.commands.run import run as command
    from opperf.commands.running import watch_of

    try:
        asked = command.request_of(command.make_context("opperf run", list(request.words)))
    except click.UsageError as error:
        raise UsageError(f"{one_line(error.format_message())} (of opperf run)") from error
    say = unsaid if asked.resumption.quiet else tell
    found = request.run(say, asked, watch_of)
    write(found.report, request)
    say(f"store: {found.store}")
    if found.is_interrupted:
        tell("interrupted; what was measured is in the history, and the same command goes on")
        return INTERRUPTED
    return 0 if request.dry_run else found.exit_code(asked.resumption.strict)


run: BuildingCommand[CommitsRequest] = BuildingCommand(
    CommitsRequest,
    _run,
    name="run",
    examples={
        "The commits since a version, of a package that needs no build": (
            "opperf history run v1.0..main numerics.sums:total --inputs inputs.py:inputs"
        ),
        "Twenty of all, of an extension that is built in place": (
            "opperf history run ALL fastops:total --inputs inputs.py:inputs --steps 20 "
            "-- python setup.py build_ext --inplace"
        ),
        "One commit, as a wheel that is installed with NumPy 1": (
            "opperf history run v1.4.0 fastops:total --inputs inputs.py:inputs --with 'numpy<2' "
            "-- python -m build --wheel"
        ),
    },
)


def _bisect(request: ChangeBisectRequest) -> int:
    """Find the commit behind a change, by `opperf bisect` of its last good and its first bad commit
    on the case that changed. A change that is found again is confirmed, one that is not is noise,
    and the verdicts are kept beside those of `opperf history add`.
    Options of `opperf bisect` may follow EVENT, and the command that builds a commit follows
    `--`."""
    from opperf.commands.bisect import bisect as command
    from opperf.commands.bisect import bisected, exit_code

    def read(words: list[str]) -> BisectRequest:
        return command.request_of(command.make_context("opperf bisect", words))

    found = request.run(tell, read, bisected)
    if found.state is not None:
        print(f"event {request.event} is {found.state.value}: {found.why}")
    return exit_code(found.bisection)


bisect: BuildingCommand[ChangeBisectRequest] = BuildingCommand(
    ChangeBisectRequest,
    _bisect,
    name="bisect",
    examples={
        "The commit behind a change": "opperf history bisect 12 -- make",
        "With options of opperf bisect, whose wheels need NumPy 1": (
            "opperf history bisect 12 --with 'numpy<2' -- python -m build --wheel"
        ),
    },
)
