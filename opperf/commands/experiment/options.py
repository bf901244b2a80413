"""The options of `experiment` beside settings: of models, of the plan, and those of PyTorch/XLA's
runner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opperf.commands.experiment.axes_file import read_axes
from opperf.commands.options import group_options
from opperf.errors import UsageError
from opperf.experiments.xla_words import CHOICES, NONE, read_values
from opperf.models.base import SIZES
from opperf.parameters import (
    choice_option,
    combine,
    count_option,
    labels,
    names_option,
    resolve_framework,
    setting_options,
    shuffle,
)
from opperf.parsing import clicked
from opperf.requests.parsers import split_commas, words_among
from opperf.requests.places import Cluster
from opperf.requests.resuming import Resumption

Words = tuple[str, ...]


def split_words(ctx: click.Context, param: click.Parameter, values: Words) -> Words:
    """Splits words at commas, but not within parentheses: `a.py:f(1, 2),opperf`."""
    words: list[str] = []
    for value in values:
        depth, word = 0, ""
        for sign in value:
            depth += (sign == "(") - (sign == ")")
            if sign == "," and depth <= 0 and not Path(value).is_file():
                words.append(word)
                word = ""
            else:
                word += sign
        words.append(word)
    return tuple(word.strip() for word in words if word.strip())


model_words = click.argument("names", nargs=-1, metavar="[MODEL]...", callback=split_words)


def _frameworks(ctx: click.Context, param: click.Parameter, values: Words) -> Words:
    named = clicked(split_commas)(ctx, param, values)
    if named:
        return tuple(dict.fromkeys(named))
    if any(ctx.params.get(name) for name in (*RUNNERS_AXES, "experiment_config")):
        return ("torch",)
    return (resolve_framework(ctx, param, None),)


frameworks = click.option(
    "--framework",
    "frameworks",
    multiple=True,
    metavar="NAMES",
    callback=_frameworks,
    help="Frameworks whose models are measured, one after the other.  [default: that which your "
    "files import; torch with the words of PyTorch/XLA; or else the first installed]",
)


def _regexes(*declarations: str, help: str) -> Any:
    return click.option(*declarations, multiple=True, metavar="REGEX", help=help)


selection_of_models = combine(
    _regexes(
        "-k",
        "--filter",
        help="Only models whose names have a match, whatever the case. Repeat it for several.",
    ),
    _regexes("-x", "--exclude", help="No models whose names have a match. Repeat it for several."),
    click.option(
        "--filter-by-tier",
        multiple=True,
        type=int,
        metavar="TIER",
        help="Only models of this tier, 1 to 3, besides those of --filter.",
    ),
    click.option(
        "--exclude-by-tier", multiple=True, type=int, metavar="TIER", help="No models of this tier."
    ),
    click.option(
        "--suite-name",
        "suites",
        multiple=True,
        metavar="SUITE",
        help="A suite, as a MODEL names it.",
    ),
    click.option(
        "--torchbench",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="The suite of TorchBench in this checkout.",
    ),
)


def _sizes(ctx: click.Context, param: click.Parameter, values: Words) -> Words:
    return clicked(words_among(lambda: SIZES))(ctx, param, values) or ("default",)


def _batch_sizes(
    ctx: click.Context, param: click.Parameter, values: Words
) -> tuple[int | None, ...]:
    found: dict[int, None] = {}
    for word in clicked(split_commas)(ctx, param, values):
        if not word.isdecimal() or int(word) < 1:
            raise click.BadParameter(f"{word!r} is not a number of examples of at least 1")
        found[int(word)] = None
    return tuple(found) or (None,)


axes_of_models = combine(
    click.option(
        "--axes",
        "axes_file",
        type=click.Path(path_type=Path),
        # What it sets are defaults of the others.
        is_eager=True,
        callback=read_axes,
        metavar="FILE",
        help="Axes and models in a file, TOML or YAML: `mode: [eager, compile]` is --mode "
        "eager,compile, which overrides it.",
    ),
    click.option(
        "--batch-size",
        "batch_sizes",
        multiple=True,
        metavar="N,...",
        callback=_batch_sizes,
        help="Examples of a batch.  [default: the model's own]",
    ),
    names_option(
        "--size",
        "sizes",
        metavar="SIZES",
        help="Sizes of the models: small, default, large.  [default: default]",
    ),
)


RUNNERS_AXES = ("accelerator", "xla", "dynamo", "test", "xla_flags", "torch_xla2")


def _words_of(axis: str) -> Any:
    def parse(ctx: click.Context, param: click.Parameter, values: Words) -> Any:
        split = values if axis == "xla_flags" else clicked(split_commas)(ctx, param, values)
        try:
            return read_values(axis, split)
        except UsageError as error:
            raise click.BadParameter(str(error).partition(": ")[2]) from error

    return parse


def _runners_axis(axis: str, help: str) -> Any:
    known = "|".join(NONE if word is None else word for word in CHOICES[axis])
    return click.option(
        f"--{axis.replace('_', '-')}",
        axis,
        multiple=True,
        metavar="FLAGS" if axis == "xla_flags" else known,
        callback=_words_of(axis),
        help=help,
    )


TEXT = "text"

ERRORS = ("error", "critical")

MESSAGES = ("debug", "info", "warning")

ACCEPTED = {
    "collect-full-output": "--save-output and --verify have the gradients in any case",
    "collect-dynamo-counters": "records have graph breaks and recompilations in any case",
}
"""Flags of PyTorch/XLA's runner that change nothing, with the reason."""


runner_options = combine(
    _runners_axis("accelerator", "PyTorch/XLA's word for --ctx; cuda is gpu."),
    _runners_axis("xla", "PyTorch/XLA: whether XLA computes, and by which runtime."),
    _runners_axis("dynamo", "PyTorch/XLA: dynamo's back end."),
    _runners_axis("test", "PyTorch/XLA's word for --phase."),
    _runners_axis("xla_flags", "PyTorch/XLA: XLA_FLAGS of the processes."),
    _runners_axis("torch_xla2", "PyTorch/XLA: None alone; use --framework jax for the others."),
    click.option(
        "--enable-functionalization",
        is_flag=True,
        help="PyTorch/XLA: keep functionalization on; it is off without it.",
    ),
    count_option("--repeat", help="As --runs."),
    click.option(
        "--subprocess-timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="As --timeout.",
    ),
    click.option(
        "--output-dirname",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Folder of --output-basename.  [default: ./output]",
    ),
    click.option(
        "--output-basename", metavar="NAME", help="Output file in it.  [default: results.jsonl]"
    ),
    click.option(
        "--no-resume",
        is_flag=True,
        help="Refused where there are records, which are never deleted; see --overwrite.",
    ),
    click.option(
        "--no-skip", is_flag=True, help="Measure what rules would remove; it fails as it does."
    ),
    click.option(
        "--timestamp", metavar="SECONDS", help="A time for the records, as a label of the run."
    ),
    click.option(
        "--disable-tf32",
        is_flag=True,
        help="Multiply and convolve in full precision on GPUs; as --set of PyTorch's options.",
    ),
    choice_option(
        "--matmul-precision",
        choices=("default", "high", "highest"),
        help="Precision of float32 products; as --set torch.set_float32_matmul_precision.",
    ),
    click.option(
        "--filter-by-single-graph",
        is_flag=True,
        help="Refuse models that torch.compile takes in several graphs; as --set "
        "torch.compile.fullgraph=true.",
    ),
    click.option(
        "--pure-wall-time", is_flag=True, help="Time between events on a GPU; as --profiler events."
    ),
    click.option(
        "--print-subprocess", is_flag=True, help="Print what the processes of the cases write."
    ),
    *(
        click.option(
            f"--{what}-config",
            metavar="JSON",
            help=f"One {what} as the runner writes it, JSON or a file of it.",
        )
        for what in ("experiment", "model")
    ),
    choice_option(
        "--log-level",
        choices=(*MESSAGES, *ERRORS),
        default="info",
        help="What is printed: error and critical are --quiet.",
    ),
    click.option(
        "--progress-bar", is_flag=True, help="A bar of progress, where there is no terminal too."
    ),
    *(
        click.option(f"--{name}", is_flag=True, help=f"Accepted; {why}.")
        for name, why in ACCEPTED.items()
    ),
)
"""Options of PyTorch/XLA's `experiment_runner.py`."""


dump_options = combine(
    click.option(
        "--profile",
        "insides",
        is_flag=True,
        help="Write a trace of each case, and the graphs, code and HLO that compilers make of it, "
        "in a folder beside the output, by another call in a process of its own.",
    ),
    click.option("--dump-pytorch-profiles", is_flag=True, help="Write the traces alone."),
    *(
        click.option(f"--{name}", is_flag=True, help="As --dump-pytorch-profiles.")
        for name in ("profile-xla", "profile-cuda-cpu", "profile-cuda-cpu-individual-ops")
    ),
    click.option(
        "--profile-xla-duration-ms",
        type=click.FloatRange(min=0, min_open=True),
        metavar="MS",
        help="Repeat the calls of a trace for this long.  [default: one call]",
    ),
    click.option(
        "--dump-dynamo-counters",
        is_flag=True,
        help="Write torch.compile's counters alone, as JSON.",
    ),
    click.option(
        "--dump-pytorch-xla-metrics",
        is_flag=True,
        help="Write PyTorch/XLA's metrics alone; needs torch_xla.",
    ),
    click.option(
        "--save-output",
        is_flag=True,
        help="Write the arrays that each case computes, of training its loss, gradients and "
        "updated parameters, too, as .npy files in a folder beside the output; of more than 128 "
        "MiB every second, third ... element.",
    ),
    click.option("--dump-hlo", is_flag=True, help="Write the HLO alone."),
    click.option(
        "--save-ir-format",
        type=click.Choice((TEXT, "hlo", "stablehlo")),
        help="Write the graphs alone, as text; of what XLA compiles (JAX, PyTorch/XLA) as its HLO, "
        "or as StableHLO.",
    ),
)


plan_options = combine(
    click.option(
        "--executor",
        default="isolated",
        show_default=True,
        metavar="NAME",
        help="What measures the cases: isolated, a process for each; local, processes that many "
        "share; ray, the nodes of a cluster; or another package's.",
    ),
    group_options(Cluster),
    setting_options("node"),
    count_option(
        "--rounds",
        default=1,
        show_default=True,
        help="Measure all cases N times, each time in another random order.",
    ),
    shuffle,
    labels,
    click.option(
        "--list", "list_only", is_flag=True, help="Print the cases as a table, and measure nothing."
    ),
    click.option(
        "--dry-run",
        is_flag=True,
        help="Check all options, print the command that measures each case alone, and measure "
        "nothing.",
    ),
    group_options(Resumption),
)
