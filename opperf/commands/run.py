"""The commands `run` and `experiment`."""

from __future__ import annotations

from opperf.commands.options import command
from opperf.requests.experiment import ExperimentRequest
from opperf.requests.run import RunRequest
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
    from opperf.commands.running import measure

    return measure(request)


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
    from opperf.commands.running import measure

    return measure(request)
