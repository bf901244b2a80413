"""The command `param`: the options of PARAM's compute benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

import opperf
from opperf.commands.command import command
from opperf.commands.options import group_options, take
from opperf.parameters import debug
from opperf.requests.declaring import declared
from opperf.requests.profiling import ProfilingPrograms

Decorated = Callable[..., object]


def switch(
    name: str, default: str, choices: tuple[str, ...], help: str
) -> Callable[[Decorated], Decorated]:
    """Returns an option of one of several words, which has its default without a word too."""
    return click.option(
        name,
        is_flag=False,
        flag_value=default,
        default=default,
        show_default=True,
        type=click.Choice(choices),
        help=help,
    )


WITHOUT_EFFECT = ("cupti-profiler-metrics",)
"""Options with a value that have no effect here."""

SWITCHES_WITHOUT_EFFECT = {
    "cupti-profiler": (),
    "cupti-profiler-measure-per-kernel": (),
    "verbose": ("-v",),
}
"""Options without a value that have no effect here, with their short forms."""


def without_effect(function: Decorated) -> Decorated:
    """Adds the options of PARAM that have no effect here, which scripts may have."""
    for name in WITHOUT_EFFECT:
        function = click.option(f"--{name}", hidden=True)(function)
    for name, short in SWITCHES_WITHOUT_EFFECT.items():
        function = click.option(*short, f"--{name}", is_flag=True, hidden=True)(function)
    return function


@command()
@click.option(
    "-c", "--config", type=click.Path(path_type=Path), metavar="FILE", help="The configuration."
)
@click.option(
    "-w",
    "--warmup",
    default=1,
    show_default=True,
    type=click.IntRange(min=0),
    metavar="N",
    help="Calls before timing.",
)
@click.option(
    "-i",
    "--iteration",
    default=1,
    show_default=True,
    type=click.IntRange(min=0),
    metavar="N",
    help="Timed calls. With -w 0 -i 0, the cases are expanded and written, and not measured.",
)
@click.option("-b", "--backward", is_flag=True, help="Measure the backward pass too.")
@click.option(
    "-d", "--device", default="cpu", show_default=True, metavar="DEVICE", help="cpu, cuda, cuda:1."
)
@click.option(
    "-o",
    "--output-prefix",
    default="benchmark_result",
    show_default=True,
    metavar="PREFIX",
    help="Write to PREFIX_<pid>_<time>.json, or to this very file if it ends in .json.",
)
@click.option(
    "-r",
    "--resume-id",
    metavar="ID",
    help="Begin at this case: config|build|input, with or without `operator|` in front.",
)
@click.option("-s", "--stop_id", "--stop-id", "stop_id", metavar="ID", help="End before this case.")
@click.option("-a", "--append", is_flag=True, help="Append to the output file.")
@switch(
    "--exec-mode",
    default="discrete",
    choices=("discrete", "continuous", "continuous_events"),
    help="discrete and continuous time calls by the clock; continuous_events on a GPU by its "
    "events, many calls queued.",
)
@switch(
    "--cuda-l2-cache",
    default="on",
    choices=("on", "off"),
    help="off: a GPU's caches are flushed before each call.",
)
@click.option("--cuda-graph", is_flag=True, help="Capture the call in a CUDA graph, and time that.")
@click.option("--pt2-model", is_flag=True, help="Compile the operator with torch.compile.")
@click.option("-p", "--profile", is_flag=True, help="Write a Chrome trace beside the results.")
@click.option("--et", is_flag=True, help="Write an execution trace beside the results.")
@group_options(ProfilingPrograms)
@click.option("--ncu-batch", type=click.IntRange(min=1), hidden=True)
@click.option(
    "-l",
    "--log-level",
    default="INFO",
    show_default=True,
    type=click.Choice(("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"), case_sensitive=False),
    help="WARNING and above: print only errors.",
)
@without_effect
@click.option("--version", is_flag=True, help="Print the version and end.")
@debug
@click.pass_context
def param(ctx: click.Context, /, **options: object) -> None:
    """Measure a configuration of PARAM's compute benchmarks with the options that its users have in
    scripts, and write its lines of JSON. `opperf run FILE` measures it with opperf's own."""
    from opperf.commands.param.running import param_command, read_request

    if options["version"]:
        print(f"opperf {opperf.__version__}")
        ctx.exit()

    # The name of earlier versions of PARAM.
    older = options.pop("ncu_batch")
    if options["batch_size"] is None:
        options["batch_size"] = older
    names = [*WITHOUT_EFFECT, *SWITCHES_WITHOUT_EFFECT]
    given = [f"--{name}" for name in names if options.pop(name.replace("-", "_"))]
    # Scripts may have them for runs with a program and without.
    for name, _ in take(ProfilingPrograms, options).without_effect():
        field = declared(ProfilingPrograms)[name]
        given.append(field.shown)
        options[name] = field.default
    if given:
        click.echo(f"opperf: no effect here: {', '.join(given)}", err=True)

    ctx.exit(param_command(read_request(options)))
