"""The command `experiment`: its arguments and options."""

from __future__ import annotations

import click

from opperf.commands.command import command
from opperf.commands.environments import environment_options
from opperf.commands.experiment.options import (
    axes_of_models,
    dump_options,
    frameworks,
    model_words,
    plan_options,
    runner_options,
    selection_of_models,
)
from opperf.commands.options import group_options
from opperf.parameters import (
    case_ids,
    columns,
    cpus,
    debug,
    explicit_options,
    output_format,
    output_options,
    setting_options,
)
from opperf.reports.formats import RUN
from opperf.requests.operators import Partition


@command(
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
    }
)
@model_words
@selection_of_models
@axes_of_models
@setting_options("mode", "device", "dtype", "autocast", "phase", "threads", "env", "options")
@setting_options("python", "memory_format", "compile_cache", "cache", "profiler")
@environment_options
@setting_options("precision", "max_time_s", "warmup", "runs", "iterations", "fresh_contents")
@setting_options("memory", "verify", "verify_iterations", "imports", "seed", "timeout_s")
@runner_options
@output_format(
    "--output-format",
    RUN,
    "jsonl, the run file with every sample; json; md, a page to read; csv; or another package's.",
    default="jsonl",
)
@output_options(
    "Output file; - prints the output, and messages go to standard error.  "
    "[default: ./experiments.<format>]",
    RUN,
)
@columns
@cpus
@dump_options
@plan_options
@case_ids
@group_options(Partition)
@debug
@frameworks
@click.pass_context
def experiment(ctx: click.Context, /, **options: object) -> None:
    """Measure models under every combination of settings, each in a process of its own.

    A MODEL is a suite (opperf), SUITE:PATTERN for some of its models, or a function or class of
    yours that returns a model and its inputs: FILE.py:NAME, MODULE:NAME, FILE.py:NAME(width=64).
    Operators' names, recordings, configurations and run files are taken as by `opperf run`.
    Combinations that cannot be are removed by rules, which are listed."""
    from opperf.commands.experiment.request import read_request
    from opperf.commands.running import run_command

    ctx.exit(run_command(read_request(options, explicit_options(ctx, options))))
