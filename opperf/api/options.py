"""Options of a command as keywords of a function: `dtype=["float32", "float64"]` is
`--dtype float32 --dtype float64`, and the command checks both by the same code."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import click

from opperf.api.calls import dtype_name
from opperf.commands.command import option_name
from opperf.errors import UsageError, one_line, unknown
from opperf.parameters import explicit_options


def command_line(
    command: click.Command,
    words: Iterable[str | os.PathLike[str]],
    options: Mapping[str, Any],
    refused: Iterable[str] = (),
) -> list[str]:
    """Returns the words of a command with these arguments and keywords. A keyword is the name of an
    option, with `_` for `-`; `import_` is that of a name that Python reserves.

    Raises `UsageError` for a keyword that is none, or an option of those `refused`.
    """
    known = {
        spelling.lstrip("-").replace("-", "_"): param
        for param in command.params
        if isinstance(param, click.Option) and param.name not in refused
        for spelling in param.opts
        if spelling.startswith("--")
    }
    line: list[str] = []
    for keyword, value in options.items():
        name = keyword.removesuffix("_")
        if name not in known:
            raise unknown("option", keyword, known)
        line += _option_words(known[name], value)
    return [*line, "--", *map(_argument, words)]


def parse_line(
    command: click.Command, line: Iterable[str]
) -> tuple[dict[str, Any], dict[str, object]]:
    """Returns all options of a command by name, and those of them that are set. Raises `UsageError`
    for a value that an option cannot have."""
    try:
        context = command.make_context(command.name, list(line))
    except click.UsageError as error:
        raise UsageError(one_line(error.format_message())) from error
    return context.params, explicit_options(context, context.params)


def _argument(word: object) -> str:
    if not isinstance(word, (str, os.PathLike)):
        raise UsageError(
            f"{word!r} is neither the name of an operator nor a file; name a function as "
            "'module:function' or 'file.py:function'"
        )
    return os.fspath(word)


def _option_words(option: click.Option, value: Any) -> Iterator[str]:
    """Yields an option and its value as on the command line; nothing for None."""
    name = option_name(option)
    if value is None:
        return
    if option.is_flag:
        if not isinstance(value, bool):
            raise UsageError(f"{name} is True or False, not {value!r}")
        if value:
            yield name
        return
    write = WRITERS.get(option.name or "", str)
    if isinstance(value, Mapping):
        values = [f"{key}={write(each)}" for key, each in value.items()]
    elif option.name == "shapes" and _is_shape(value):
        values = [_shape(value)]
    elif isinstance(value, (list, tuple)):
        values = list(map(write, value))
    else:
        values = [write(value)]
    for text in values:
        yield f"{name}={text}"


def _is_shape(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(extent, int) for extent in value)


def _shape(value: Any) -> str:
    return "x".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _joined(separator: str) -> Callable[[Any], str]:
    """Returns a function that writes one value, or several."""

    def write(value: Any) -> str:
        several = isinstance(value, (list, tuple, range))
        return separator.join(map(str, value)) if several else str(value)

    return write


WRITERS: dict[str, Callable[[Any], str]] = {
    "dtype": dtype_name,
    "shapes": _shape,
    "values": repr,
    "sweeps": _joined(","),
    "env": _joined("|"),
    "options": _joined("|"),
}
"""Functions that write a value as the option reads it, where that is not its text."""
