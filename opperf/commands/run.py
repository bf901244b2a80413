"""The command `run`."""

from __future__ import annotations

import shlex
import sys

from opperf.commands.options import command
from opperf.requests.run import RunRequest
from opperf.results.messages import tell
from opperf.suites import SUFFIXES


@command(
    RunRequest,
    examples={
        "A quick look at some operators": "opperf run relu 'broadcast_*' --size small --quick",
        "Every sample, of two dtypes, with one thread": (
            "opperf run add --dtype float32,float64 --threads 1 -o add.jsonl"
        ),
        "A function of your own, with its inputs": (
            "opperf run kernels.py:softmax --inputs kernels.py:inputs"
        ),
    },
)
def run(request: RunRequest) -> int:
    """Measure operators: all of them, or those selected by name, category and namespace.

    An argument that is an existing run file, or a kept run (@last; `opperf runs` lists them), is
    measured again, with its own settings except those set by options. A file of snippets (FILE.py,
    or FILE.py:PATTERN for some of them) is measured by its own definitions;
    opperf.snippets.standard is the standard set. A suite (FILE.yaml) is run as by `opperf suite
    run`. Several values of --dtype, --ctx, --profiler, --cache, --mode, --compile-cache,
    --autocast, --memory-format, --phase, --threads, --env, --set, --python, --node and --with give
    a case for every combination."""
    if any(name.endswith(SUFFIXES) for name in request.operators.names):
        from opperf.commands.suite.run import run_suite
        from opperf.requests.suites.running import suite_run_of

        of_suite = suite_run_of(request)
        if of_suite is not None:
            return run_suite(of_suite)
    from opperf.commands.running import run_command

    say = (lambda text: None) if request.resumption.quiet else tell
    resolved = request.resolve(say, shlex.join(["opperf", *sys.argv[1:]]))
    return 0 if resolved is None else run_command(resolved)
