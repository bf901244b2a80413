"""Options that several commands have: a table, in one place so that no two differ by accident."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from opperf.model import DECLARED, DEFAULTS, MAPPINGS, Setting
from opperf.parsing import (
    FormatName,
    check_extension,
    check_extensions,
    clicked,
    parse_format,
    parse_formats,
)
from opperf.requests.parsers import (
    parse_assignments,
    parse_columns,
    parse_interpreters,
    parse_labels,
    parse_shapes,
    parse_values,
    split_commas,
)

Command = TypeVar("Command", bound=Callable[..., Any])


def combine(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Combines several options into one decorator, in the order of the help."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def explicit_options(ctx: click.Context, options: Mapping[str, object]) -> dict[str, object]:
    """Returns the options that the user set, by name, without those at their defaults."""
    default = click.core.ParameterSource.DEFAULT
    return {
        name: value
        for name, value in options.items()
        if ctx.get_parameter_source(name) is not default
    }


def names_option(
    *declarations: str, help: str, metavar: str = "NAMES"
) -> Callable[[Command], Command]:
    """Returns an option of several names, which commas separate too."""
    return click.option(
        *declarations, multiple=True, metavar=metavar, callback=clicked(split_commas), help=help
    )


def choice_option(
    *declarations: str, choices: Sequence[str], help: str, default: str = ""
) -> Callable[[Command], Command]:
    """Returns an option of one of several words, by default the first of them."""
    return click.option(
        *declarations,
        default=default or choices[0],
        show_default=True,
        type=click.Choice(choices, case_sensitive=False),
        help=help,
    )


def count_option(*declarations: str, help: str, **more: Any) -> Callable[[Command], Command]:
    """Returns an option of a number of at least one."""
    return click.option(*declarations, type=click.IntRange(min=1), metavar="N", help=help, **more)


debug = click.option("--debug", is_flag=True, help="Show tracebacks.")


argument_options = combine(
    click.option(
        "--shape",
        "shapes",
        multiple=True,
        metavar="NAME=SHAPE",
        callback=clicked(parse_shapes),
        help="Shape of an argument, e.g. lhs=1024x1024, in place of the rule's; the shapes of the "
        "other arguments follow. 1024x1024 alone is that of the only input.",
    ),
    click.option(
        "--arg",
        "values",
        multiple=True,
        metavar="NAME=VALUE",
        callback=clicked(parse_values),
        help="Value of an argument, e.g. axis=1, in place of the rule's: a number, inf, true, "
        "None, a tuple or list, or text; one number for all sides of a window. For a tensor, the "
        "list of its data.",
    ),
)


class SettingType(click.ParamType):  # type: ignore[type-arg]
    """Parses a setting's text as its declaration says."""

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
    """Returns the option of a setting with one value."""
    setting = DECLARED[name]
    if setting.flag is not None:

        def value(ctx: click.Context, param: click.Parameter, is_set: bool) -> Any:
            return setting.flag if is_set else DEFAULTS[name]

        return click.option(setting.option, name, is_flag=True, callback=value, help=setting.help)
    default = None if setting.axis else DEFAULTS[name]
    options: dict[str, Any] = {
        "default": default,
        "show_default": default not in (None, "", ()),
        "multiple": setting.many,
        "type": SettingType(setting),
        "metavar": setting.metavar,
        "help": setting.help,
        **changes,
    }
    return click.option(*_declarations(setting), **options)


def axis_option(name: str) -> Callable[[Command], Command]:
    """Returns the option of a setting of which each value makes a case of its own."""
    setting = DECLARED[name]

    commas = clicked(split_commas)

    def parse(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> Any:
        kind = SettingType(setting)
        return tuple(kind.convert(word, param, ctx) for word in commas(ctx, param, texts))

    return click.option(
        *_declarations(setting),
        multiple=True,
        callback=PARSERS.get(name, parse),
        metavar=setting.metavar if name in PARSERS else f"{setting.metavar},...",
        help=setting.help,
    )


PARSERS = {
    **{name: clicked(parse_assignments(DECLARED[name].read)) for name in MAPPINGS},
    "python": clicked(parse_interpreters),
}
"""Parsers of the axes whose values commas do not separate."""


def _declarations(setting: Setting) -> tuple[str, ...]:
    spellings = (setting.short, setting.option, setting.also)
    return (*filter(None, spellings), setting.name)


def setting_options(*names: str) -> Callable[[Command], Command]:
    """Returns the options of settings, of several values each where they are axes."""
    return combine(
        *(axis_option(name) if DECLARED[name].axis else setting_option(name) for name in names)
    )


case_ids = names_option(
    "--id",
    "ids",
    metavar="IDS",
    help="Only the cases with these ids, or prefixes of ids, which --list and run files show.",
)

shuffle = click.option("--shuffle", is_flag=True, help="Measure the cases in a random order.")

labels = click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="KEY=VALUE",
    callback=clicked(parse_labels),
    help="A label of your own in the results: commit=1a2b3c, branch=main, build=nightly.",
)

cpus = click.option(
    "--cpus",
    default="auto",
    show_default=True,
    metavar="auto|none|LIST",
    help="Cores that workers are pinned to, e.g. 2,3 or 0-3,8. auto: as many as a worker has "
    "threads; opperf itself runs on others. none: workers are not pinned.",
)


no_backward = click.option("--no-backward", is_flag=True, help="Measure the forward pass only.")


overwrite = click.option("--overwrite", is_flag=True, help="Replace the output file if it exists.")


def output_options(
    description: str, what: str = "", default: str | None = None
) -> Callable[[Command], Command]:
    """Returns the options for an output file, whose name the command checks without `what`."""
    return combine(
        click.option(
            "-o",
            "--output-file",
            default=default,
            show_default=default is not None,
            type=click.Path(path_type=Path),
            callback=check_extension(what) if what else None,
            # Its extension decides the format.
            is_eager=True,
            metavar="FILE",
            help=description,
        ),
        overwrite,
    )


columns = click.option(
    "--columns",
    multiple=True,
    metavar="NAMES",
    callback=clicked(parse_columns),
    help="Columns of figures in tables and Markdown: forward, backward, total, memory, "
    "memory_forward, memory_backward, bandwidth (GB/s), ratio (backward over forward), moved "
    "(bytes), p50, p90, p99, kernel, instructions, first_call, "
    "lowering, compilation, compile_cache_misses, graph_breaks, recompilations, flops, "
    "bytes_accessed.  [default: forward, backward, memory]",
)


def output_format(
    name: str, what: str, description: str, default: str = "text"
) -> Callable[[Command], Command]:
    """Returns the option for the format of runs, or of the reports of a command."""
    return click.option(
        "-f",
        name,
        "output_format",
        default=default,
        type=FormatName(what),
        callback=parse_format(what),
        help=f"{description}  [default: by the output file's extension, else {default}]",
    )


def report_outputs(command: str) -> Callable[[Command], Command]:
    """Returns the options for the outputs of a comparison."""
    return combine(
        click.option(
            "-f",
            "--format",
            "output_formats",
            default="text",
            type=FormatName(command),
            callback=parse_formats(command),
            help="Format of the report, where the output's extension does not say it; md suits a "
            "comment on a pull request.  [default: text]",
        ),
        click.option(
            "-o",
            "--output-file",
            "output_files",
            multiple=True,
            default=("-",),
            show_default="-",
            type=click.Path(path_type=Path),
            callback=check_extensions(command),
            # The extensions decide the formats.
            is_eager=True,
            metavar="FILE",
            help="Write the report to this file, in the format of its extension; - prints it. "
            "Repeat it for several: -o report.md -o report.xml.",
        ),
    )
