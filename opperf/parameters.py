"""What the commands' parameters accept, and the options that several commands have."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from opperf import defaults
from opperf.model import DECLARED, DEFAULTS, Interpreter, Setting
from opperf.runner.process import find_program

Command = TypeVar("Command", bound=Callable[..., Any])


def read_shapes(
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
    """`--ops a,b --ops c` as a, b, c. A regular expression and a file keep their commas."""
    words: list[str] = []
    for value in values:
        whole = value.startswith("re:") or Path(value).is_file()
        given = [value] if whole else value.split(",")
        named = [word.strip() for word in given if word.strip()]
        if not named:
            # An empty variable of a script must not mean everything.
            raise click.BadParameter(f"{value!r} names nothing", ctx, param)
        words += named
    return tuple(words)


RETRYABLE = ("failed", "crashed", "timeout", "skipped")
"""Ends of a case that may be tried again."""


def read_statuses(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """`failed,crashed` as a list of statuses."""
    words = tuple(word.lower() for word in split_commas(ctx, param, values))
    for word in words:
        if word not in RETRYABLE:
            raise click.BadParameter(f"{word!r} is none of {', '.join(RETRYABLE)}", ctx, param)
    return words


def combine(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order in which help shows them."""

    def decorated(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


def explicit_options(ctx: click.Context, options: Mapping[str, object]) -> dict[str, object]:
    """The options that the user gave, by name, and not those that have their defaults."""
    default = click.core.ParameterSource.DEFAULT
    return {
        name: value
        for name, value in options.items()
        if ctx.get_parameter_source(name) is not default
    }


filter_options = combine(
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


def resolve_framework(ctx: click.Context, param: click.Parameter, value: str | None) -> str:
    """The framework that is named, or else the preferred one of those installed here, or named
    with the interpreter that has it."""
    if value is not None:
        return value
    from opperf.frameworks import preferred

    # What the user gave is read before what has its default.
    return preferred([one.framework for one in ctx.params.get("python", ())])


framework = click.option(
    "--framework",
    metavar="NAME",
    callback=resolve_framework,
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


class SettingType(click.ParamType):  # type: ignore[type-arg]
    """Reads a setting's text as its declaration says."""

    def __init__(self, setting: Setting) -> None:
        self._read, self.name = setting.read, setting.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def setting_option(name: str, **changes: Any) -> Callable[[Command], Command]:
    """The option of a setting, which takes one value."""
    setting = DECLARED[name]
    if setting.flag is not None:

        def value(ctx: click.Context, param: click.Parameter, given: bool) -> Any:
            return setting.flag if given else DEFAULTS[name]

        return click.option(setting.option, name, is_flag=True, callback=value, help=setting.help)
    usual = None if setting.axis else DEFAULTS[name]
    options: dict[str, Any] = {
        "default": usual,
        "show_default": usual is not None,
        "type": SettingType(setting),
        "metavar": setting.metavar,
        "help": setting.help,
        **changes,
    }
    return click.option(*_spelt(setting), **options)


def axis_option(name: str) -> Callable[[Command], Command]:
    """The option of a setting that is an axis: commas separate values, each of which is a case."""
    setting = DECLARED[name]

    def read(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> Any:
        kind = SettingType(setting)
        return tuple(kind.convert(word, param, ctx) for word in split_commas(ctx, param, given))

    return click.option(
        *_spelt(setting),
        multiple=True,
        callback=READERS.get(name, read),
        metavar=setting.metavar if name in READERS else f"{setting.metavar},...",
        help=setting.help,
    )


def _spelt(setting: Setting) -> tuple[str, ...]:
    return (*((setting.short,) if setting.short else ()), setting.option, setting.name)


def read_variables(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """`OMP_PROC_BIND=true|false` as a name and its values."""
    found: dict[str, tuple[str, ...]] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not name or not equals:
            raise click.BadParameter(
                f"{value!r} sets no variable; write NAME=VALUE or NAME=VALUE|VALUE",
                ctx,
                param,
            )
        if name in found:
            raise click.BadParameter(f"{name} is set twice; write {name}=VALUE|VALUE", ctx, param)
        found[name] = tuple(dict.fromkeys(text.split("|")))
    return found


INTERPRETER = re.compile(r"(?:(?P<label>[\w.+-]+):)?(?:(?P<framework>\w+)=)?(?P<path>.+)")
"""`[LABEL:][FRAMEWORK=]PATH`."""


def read_interpreters(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> tuple[Interpreter, ...]:
    """Interpreters, each with a label of its own where one framework has several: the one that is
    given, or else the name of the environment's folder."""
    read = []
    for value in values:
        match = INTERPRETER.fullmatch(value)
        path = find_program(match["path"]) if match else None
        if match is None or path is None:
            raise click.BadParameter(f"{value!r}: there is no such program", ctx, param)
        label = match["label"] or Path(path).parent.parent.name
        read.append(Interpreter(path, label, match["framework"] or ""))
    labelled = []
    for one in read:
        rivals = [o for o in read if o.framework == one.framework]
        if any(o is not one and o.label == one.label for o in rivals):
            raise click.BadParameter(
                f"two interpreters would be called {one.label!r}; write LABEL:PATH", ctx, param
            )
        label = one.label if len(rivals) > 1 else ""
        labelled.append(Interpreter(one.path, label, one.framework))
    return tuple(labelled)


def read_labels(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    """`commit=1a2b3c` as a key and its value."""
    found: dict[str, str] = {}
    for value in values:
        key, equals, text = value.partition("=")
        if not key or not equals:
            raise click.BadParameter(f"{value!r} is no label; write it as KEY=VALUE", ctx, param)
        if key in found:
            raise click.BadParameter(f"{key!r} is given twice", ctx, param)
        found[key] = text
    return found


READERS = {"env": read_variables, "python": read_interpreters}
"""Settings whose text has a form of its own."""


random_shape_options = combine(
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

operator_options = combine(
    click.argument("names", nargs=-1, metavar="[OPERATOR]...", callback=split_commas),
    click.option(
        "--ops",
        multiple=True,
        metavar="NAMES",
        callback=split_commas,
        help="Operators, as names, globs ('broadcast_*'), regexes ('re:^sum'), paths (nd.add) or "
        "functions of yours (kernels.py:softmax, module:function); also as plain arguments. Commas "
        "separate several.",
    ),
    filter_options,
)
"""Which operators are meant."""

no_backward = click.option("--no-backward", is_flag=True, help="Measure the forward pass only.")

max_configs = click.option(
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
