"""The command `experiment`."""

from __future__ import annotations

import shlex
import sys

from opperf.commands.options import command
from opperf.requests.experiment import ExperimentRequest
from opperf.results.messages import tell


@command(
    ExperimentRequest,
    examples={
        "A suite in two modes, for inference and training": (
            "opperf experiment opperf --mode eager,compile --phase predict,train -o results.jsonl"
        ),
        "A function of your own that returns a model and its inputs": (
            "opperf experiment nets.py:make --mode eager,compile:aot_eager --batch-size 1,16"
        ),
        "The words of PyTorch/XLA's runner": (
            "opperf experiment --suite-name dummy --accelerator cpu --dynamo None "
            "--dynamo inductor --test eval --repeat 10"
        ),
    },
)
def experiment(request: ExperimentRequest) -> int:
    """Measure models under every combination of settings, each in a process of its own.

    A MODEL is a suite (opperf), SUITE:PATTERN for some of its models, or a function or class of
    yours that returns a model and its inputs: FILE.py:NAME, MODULE:NAME, FILE.py:NAME(width=64).
    Operators' names, recordings, configurations and run files are taken as by `opperf run`.
    Combinations that cannot be are removed by rules, which are listed."""
    from opperf.commands.running import nothing, run_command

    quiet = request.resumption.quiet
    resolved = request.resolve(nothing if quiet else tell, shlex.join(["opperf", *sys.argv[1:]]))
    return run_command(resolved)
