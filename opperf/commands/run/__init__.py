"""The command `run`: its arguments and options."""

from __future__ import annotations

from typing import Any

import click

from opperf.commands.command import command
from opperf.commands.environments import environment_options
from opperf.commands.run.cluster import cluster_options
from opperf.commands.run.replay import replay_options
from opperf.commands.run.wrapping import wrapping_options
from opperf.parameters import (
    argument_options,
    case_ids,
    changed_options,
    columns,
    compile_ahead,
    cpus,
    debug,
    explicit_options,
    framework,
    int64_tensor,
    labels,
    max_configs,
    no_backward,
    operator_options,
    output_format,
    output_options,
    partition_options,
    random_shape_options,
    resumption,
    setting_options,
    shuffle,
    size,
    sweep,
)
from opperf.reports.formats import RUN
from opperf.suite_files import SUFFIXES


@command(
    examples={
        "A quick look at some operators": "opperf run relu 'broadcast_*' --size small --quick",
        "Every sample, of two dtypes, with one thread": (
            "opperf run add --dtype float32,float64 --threads 1 -o add.jsonl"
        ),
        "A function of your own, with its inputs": (
            "opperf run kernels.py:softmax --inputs kernels.py:inputs"
        ),
    }
)
@operator_options
@changed_options
@setting_options("device", "dtype")
@output_format(
    "--output-format",
    RUN,
    "json; md, a page to read; csv; jsonl, the run file with every sample; param, the lines of "
    "PARAM's benchmarks; instruction-counts, the object of PyTorch's suite of that name; a tool's, "
    "as `opperf export` writes it; or another package's.",
    default="json",
)
@output_options(
    "Output file; - prints the output, and messages go to standard error.  "
    "[default: ./<framework>_operator_benchmarks.<format>]",
    RUN,
)
@columns
@setting_options("profiler", "precision", "max_time_s", "warmup", "runs")
@click.option(
    "--quick",
    is_flag=True,
    help="One configuration and few calls of each operator: a registry of 600 takes 2 minutes on "
    "two cores, and up to 15 without this option. -w, -r, --max-time and --max-configs override "
    "it.",
)
@max_configs
@int64_tensor
@size
@argument_options
@sweep
@setting_options("input_function", "imports", "cache", "mode", "compile_cache", "autocast")
@setting_options("memory_format", "phase", "grad", "threads", "env", "options", "python")
@environment_options
@cpus
@compile_ahead
@click.option(
    "--executor",
    default="local",
    show_default=True,
    metavar="NAME",
    help="What measures the cases: worker processes of this machine; isolated, a process for each; "
    "ray, the nodes of a cluster; or another package's executor.",
)
@cluster_options
@no_backward
@setting_options("callgrind_cache", "memory", "verify")
@wrapping_options
@random_shape_options
@click.option(
    "--scale-batch",
    "batch_factor",
    default=1.0,
    type=click.FloatRange(min=0, min_open=True),
    metavar="FACTOR",
    help="Scale the batch of recorded calls, for example by 0.25 where they need too much memory.",
)
@click.option(
    "--skip-views",
    is_flag=True,
    help="Skip recorded calls that only make a view of a tensor, and compute nothing.",
)
@replay_options
@case_ids
@partition_options
@setting_options("seed")
@click.option(
    "--rounds",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    metavar="K",
    help="Measure all cases K times, each time in another random order, so that a drift of the "
    "machine affects all of them.",
)
@shuffle
@setting_options("timeout_s")
@labels
@click.option(
    "--list",
    "list_only",
    is_flag=True,
    help="Print the cases, with their inputs and the rule that made them, and measure nothing; "
    "with -f jsonl as a run file, which `run` takes.",
)
@click.option(
    "--dry-run", is_flag=True, help="Check all options, print the plan, and measure nothing."
)
@resumption
@debug
@framework
@click.pass_context
def run(ctx: click.Context, /, **options: Any) -> None:
    """Measure operators: all of them, or those selected by name, category and namespace.

    An argument that is an existing run file, or a kept run (@last; `opperf runs` lists them), is
    measured again, with its own settings except those set by options. A file of snippets (FILE.py,
    or FILE.py:PATTERN for some of them) is measured by its own definitions;
    opperf.snippets.standard is the standard set. A suite (FILE.yaml) is run as by `opperf suite
    run`. Several values of --dtype, --ctx, --profiler, --cache, --mode, --compile-cache,
    --autocast, --memory-format, --phase, --threads, --env, --set, --python, --node and --with give
    a case for every combination."""
    set_here = explicit_options(ctx, options)
    if any(name.endswith(SUFFIXES) for name in options["names"]):
        from opperf.commands.suite.running import options_of_run, run_suite

        of_suite = options_of_run(options, set_here)
        if of_suite is not None:
            ctx.exit(run_suite(of_suite, set_here))
    from opperf.commands.changed import add_changed, interpreters_of
    from opperf.commands.run.request import read_request
    from opperf.commands.run.running import run_command

    selected = add_changed(options, interpreters_of(options))
    if selected is None:
        return
    options = selected
    ctx.exit(run_command(read_request(options, set_here)))
