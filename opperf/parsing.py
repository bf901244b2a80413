"""Parameters of click whose parsing needs another one's value, and parsers as callbacks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from opperf.errors import UsageError, suggest
from opperf.reports.formats import built_in_names, format_named, format_of_extension, formats_of

Words = tuple[str, ...]

Given = TypeVar("Given")
Parsed = TypeVar("Parsed")

Callback = Callable[[click.Context, click.Parameter, Given], Parsed]


def clicked(parse: Callable[[Any], Any]) -> Callback[Any, Any]:
    """Returns a parser as a callback; an option that is absent stays None."""

    def callback(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        try:
            return None if value is None else parse(value)
        except (ValueError, UsageError) as error:
            raise click.BadParameter(str(error)) from error

    return callback


class KeptPath(click.Path):
    """A path of a run file, of results or of a session, or the name of a kept one, as `@last`. An
    output of a kept run stands for its run file."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        # Help and completion do without the import.
        from opperf.results import run_files

        return super().convert(run_files.locate(os.fspath(value)), param, ctx)


LONGEST_LIST = 60
"""Most characters of a list of names beside an option in its command's help."""


class FormatName(click.Choice):  # type: ignore[type-arg]
    """The name of a format of runs, or of a command's reports, of another package's too."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(built_in_names(what), case_sensitive=False)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        listed = "|".join(self.choices)
        return f"[{listed}]" if len(listed) <= LONGEST_LIST else "FORMAT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            known = formats_of(self.what)
            if value in known:
                return value
            words = ", ".join(map(repr, known))
            self.fail(f"{value!r} is not one of {words}{suggest(value, known)}.", param, ctx)


def _meant(path: Path, what: str) -> str:
    """Returns the name of the format that the extension of an output means, if any."""
    found = format_of_extension(path.suffix.lower(), what)
    return found.name if found else ""


def check_extension(what: str) -> Callback[Path | None, Path | None]:
    """Returns a callback that refuses an output file whose extension is of no format of these
    outputs. A name without one is of any format."""

    def check(ctx: click.Context, param: click.Parameter, path: Path | None) -> Path | None:
        if path is not None and path.suffix and not _meant(path, what):
            known = dict.fromkeys(format.extension for format in formats_of(what).values())
            raise click.BadParameter(
                f"{str(path)!r}: {path.suffix} is not an extension of what is written here; use "
                f"{', '.join(known)}, or a name without an extension"
            )
        return path

    return check


def check_extensions(what: str) -> Callback[tuple[Path, ...], tuple[Path, ...]]:
    """Returns a callback that checks several output files, and refuses one that is named twice."""
    check = check_extension(what)

    def check_all(
        ctx: click.Context, param: click.Parameter, paths: tuple[Path, ...]
    ) -> tuple[Path, ...]:
        for path in paths:
            check(ctx, param, path)
            if paths.count(path) > 1:
                raise click.BadParameter(f"{str(path)!r} is named twice")
        return paths

    return check_all


def parse_formats(what: str) -> Callback[str, Words]:
    """Returns a callback that returns each output file's format: by its extension, else the
    option's. The option of the files is eager, so that they are known here."""

    def parse(ctx: click.Context, param: click.Parameter, value: str) -> Words:
        paths: tuple[Path, ...] = ctx.params.get("output_files", ())
        named = [path for path in paths if path.suffix]
        is_set = ctx.get_parameter_source(param.name or "") is not ParameterSource.DEFAULT
        if is_set and named and len(named) == len(paths):
            # No file needs the option.
            for path in named:
                _check_same_format(path, value, what)
        return tuple(_meant(path, what) if path.suffix else value for path in paths)

    return parse


def parse_format(what: str) -> Callback[str, str]:
    """Returns a callback that returns the format that the user set, or else that of the output
    file's extension, or else the default. The option of the file is eager, so that it is known
    here."""

    def parse(ctx: click.Context, param: click.Parameter, value: str) -> str:
        path: Path | None = ctx.params.get("output_file")
        if path is None or not path.suffix:
            return value
        if ctx.get_parameter_source(param.name or "") is ParameterSource.DEFAULT:
            return _meant(path, what)
        _check_same_format(path, value, what)
        return value

    return parse


def _check_same_format(path: Path, value: str, what: str) -> None:
    """Raises `click.BadParameter` for a format whose files do not have the file's extension."""
    if path.suffix.lower() not in format_named(value, what).extensions:
        raise click.BadParameter(
            f"{value} contradicts the extension of the output file {str(path)!r}; change one of "
            "them, or omit this option"
        )
