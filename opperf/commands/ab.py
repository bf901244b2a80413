"""The command `ab`."""

from __future__ import annotations

from pathlib import Path

import click

from opperf.commands.compare import end
from opperf.commands.options import command
from opperf.requests.ab.request import AbRequest
from opperf.results.messages import tell

ON_NODE = click.Option(["--on-node"], hidden=True, type=click.Path(path_type=Path))
"""The file of what a node of a cluster measures for its manager."""


@command(
    AbRequest,
    examples={
        "Two releases, installed first, with a gate at 5 %": (
            "opperf ab relu --a env:torch==2.12 --b env:torch==2.13 --threshold 5%"
        ),
        "Two functions of your own on the same inputs": (
            "opperf ab --a ops:k.py:old --b ops:k.py:new --inputs k.py:inputs"
        ),
        "Numbers of threads, for a pull request and for a CI's view of tests": (
            "opperf ab relu --a threads:1 --b threads:2 -o verdict.md -o verdict.xml"
        ),
    },
)
def ab(request: AbRequest) -> int:
    """Measure A against B, or several arms, interleaved in fresh processes, and report which
    operators regressed, improved, stayed the same, or are ambiguous.

    A is measured against itself first; if it differs from itself, the session is invalid (exit code
    3). Then A and B are measured in blocks, each case until it is decided. The exit code is 1 if
    an operator regressed, has different results or runs in A alone, and 3 if nothing could be
    decided.

    With --profiler instructions each arm is counted once, and the counts have the verdicts of
    `opperf compare`. All commands that read run files read FILE too.
    """
    asked: Path | None = click.get_current_context().params["on_node"]
    from opperf.commands.running import command_line
    from opperf.requests.ab.node import measure_for_manager, run
    from opperf.requests.ab.resolving import progress_of

    watch = progress_of(request.quiet)
    if asked is not None:
        return measure_for_manager(asked, tell, watch)
    return end(run(request, tell, watch, command_line()), request)


ab.params.append(ON_NODE)
