"""What the commands' parameters accept, and the options that several commands have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from opperf import defaults

Command = TypeVar("Command", bound=Callable[..., Any])


def shapes_given(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> dict[str, tuple[int, ...]]:
    """`lhs=1024x1024` as a name and a shape."""
    shapes = {}
    for value in values:
        name, equals, text = value.partition("=")
        # Python writes a shape of one extent with a comma behind it.
        inside = text.replace("(", "").replace(")", "").removesuffix(",")
        extents = inside.replace(",", "x").split("x")
        try:
            shape = tuple(int(extent) for extent in extents)
        except ValueError:
            shape = ()
        if not name or not equals or not shape or any(extent < 1 for extent in shape):
            raise click.BadParameter(
                f"{value!r} is not a shape; write it as lhs=1024x1024, every extent at least 1",
                ctx,
                param,
            )
        if name in shapes:
            raise click.BadParameter(f"{name!r} is given two shapes; give one", ctx, param)
        shapes[name] = shape
    return shapes


def split_commas(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """`--ops a,b --ops c` as a, b, c. A regular expression keeps its commas."""
    words: list[str] = []
    for value in values:
        given = [value] if value.startswith("re:") else value.split(",")
        named = [word.strip() for word in given if word.strip()]
        if not named:
            # An empty variable of a script must not mean everything.
            raise click.BadParameter(f"{value!r} names nothing", ctx, param)
        words += named
    return tuple(words)


RETRIED = ("failed", "crashed", "timeout", "skipped")
"""Ends of a case that may be tried again."""


def statuses_given(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """`failed,crashed` as a list of statuses."""
    words = tuple(word.lower() for word in split_commas(ctx, param, values))
    for word in words:
        if word not in RETRIED:
            raise click.BadParameter(f"{word!r} is none of {', '.join(RETRIED)}", ctx, param)
    return words


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order in which help shows them."""

    def decorated(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


def changed(ctx: click.Context, options: Mapping[str, object]) -> dict[str, object]:
    """The options that the user gave, by name, and not those that have their defaults."""
    default = click.core.ParameterSource.DEFAULT
    return {
        name: value
        for name, value in options.items()
        if ctx.get_parameter_source(name) is not default
    }


choosing = together(
    click.option(
        "--category",
        "categories",
        multiple=True,
        callback=split_commas,
        help="Only operators of this category, e.g. unary, reduction, optimizer.",
    ),
    click.option(
        "--namespace",
        "namespaces",
        multiple=True,
        callback=split_commas,
        help="Only operators of this namespace, e.g. nd, np, npx, internal, contrib, sparse, "
        "image, linalg, random.",
    ),
    click.option(
        "--exclude",
        multiple=True,
        metavar="NAMES",
        callback=split_commas,
        help="Leave these operators out; names, globs or regexes.",
    ),
)
"""Which operators are meant, apart from their names."""


def framework_meant(ctx: click.Context, param: click.Parameter, value: str | None) -> str:
    """The framework that is named, or else the preferred one of those installed."""
    if value is not None:
        return value
    from opperf.frameworks import preferred

    return preferred()


framework = click.option(
    "--framework",
    metavar="NAME",
    callback=framework_meant,
    help="Framework to benchmark, of those that `opperf frameworks` lists.  [default: the first "
    "installed of mxnet, torch, jax, numpy]",
)
debug = click.option("--debug", is_flag=True, help="Show tracebacks.")
as_json = click.option("--json", is_flag=True, help="Print JSON, for a machine.")

size = click.option(
    "--size",
    default="default",
    show_default=True,
    type=click.Choice(["small", "default", "large"], case_sensitive=False),
    help="Size of the inputs.",
)

DTYPES = "float16, float32, float64, bfloat16, int8, uint8, int32, int64 or bool"
dtype = click.option("--dtype", default="float32", show_default=True, help=DTYPES + ".")


drawing = together(
    click.option(
        "--fuzz-shapes",
        type=click.IntRange(min=1),
        metavar="N",
        help="Measure each operator at N random shapes, by --seed, instead of a rule's, and tell "
        "which take longer than their size explains.",
    ),
    click.option(
        "--min-elements",
        "least_elements",
        type=click.IntRange(min=1),
        default=defaults.LEAST_ELEMENTS,
        show_default=True,
        help="With --fuzz-shapes: elements of the largest tensor, at least.",
    ),
    click.option(
        "--max-elements",
        "most_elements",
        type=click.IntRange(min=1),
        default=defaults.MOST_ELEMENTS,
        show_default=True,
        help="With --fuzz-shapes: elements of the largest tensor, at most.",
    ),
    click.option(
        "--id",
        "ids",
        multiple=True,
        metavar="IDS",
        callback=split_commas,
        help="Only the cases of these ids, or of ids that begin so, as run files and --list have "
        "them.",
    ),
)
"""Random shapes, and which cases are meant."""

seed = click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="Seed of the inputs' contents, of random shapes, and of the order with --shuffle.",
)

operators = together(
    click.argument("names", nargs=-1, metavar="[OPERATOR]...", callback=split_commas),
    click.option(
        "--ops",
        multiple=True,
        metavar="NAMES",
        callback=split_commas,
        help="Operators, as names, globs ('broadcast_*'), regexes ('re:^sum') or paths "
        "(nd.add); also as plain arguments. Commas separate several.",
    ),
    choosing,
)
"""Which operators are meant."""

device = click.option(
    "--ctx",
    metavar="DEVICE",
    help="cpu, cpu(0), gpu, gpu(0), gpu(2) ...  [default: gpu(0) where this build and "
    "machine have a GPU, else cpu(0)]",
)

profiler = click.option(
    "-p",
    "--profiler",
    type=click.Choice(["native", "python"], case_sensitive=False),
    help="native: the framework's own profiler, kernel time. python: the wall clock "
    "around the call and the wait for it.  [default: native where the framework has one]",
)

passes = click.option("--no-backward", is_flag=True, help="Measure the forward pass only.")

configurations = click.option(
    "--max-configs",
    "configurations",
    type=click.IntRange(min=1),
    help="Configurations of each operator that are measured at most.  [default: all]",
)


def report_format(formats: Sequence[str]) -> Callable[[Command], Command]:
    """The option that says what a report is written as."""
    return click.option(
        "-f",
        "--format",
        "output_format",
        default="text",
        show_default=True,
        type=click.Choice(formats, case_sensitive=False),
        help="What the report is written as; md is fit for a comment on a pull request.",
    )
