"""Parsers of option values, as click callbacks. Each raises `click.BadParameter`, to which click
adds the context and the parameter."""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from click.core import ParameterSource

from opperf.decoding import parse_python
from opperf.errors import UsageError, suggest
from opperf.model import Argument, Interpreter, Number
from opperf.processes.commands import find_program
from opperf.ranges import UNNAMED, check_variable, is_variable, read_range
from opperf.reports.formats import built_in_names, format_named, format_of_extension, formats_of
from opperf.shares import read_share

Words = tuple[str, ...]

Given = TypeVar("Given")
Parsed = TypeVar("Parsed")

Callback = Callable[[click.Context, click.Parameter, Given], Parsed]

RETRYABLE = ("failed", "crashed", "timeout", "skipped")

INTERPRETER = re.compile(r"(?:(?P<label>[\w.+-]+):)?(?:(?P<framework>\w+)=)?(?P<path>.+)")


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:
        # A long list of names is longer than a file's name can be.
        return False


class KeptPath(click.Path):
    """A path of a run file, of results or of a session, or the name of a kept one, as `@last`. An
    output of a kept run stands for its run file."""

    locate = "locate"
    """The function of `run_files` that finds it."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        # Help and completion do without the import.
        from opperf.results import run_files

        return super().convert(getattr(run_files, self.locate)(os.fspath(value)), param, ctx)


class SessionPath(KeptPath):
    """Such a path of a session."""

    locate = "locate_session"


def split_commas(ctx: click.Context, param: click.Parameter, values: Words) -> Words:
    """Splits `--ops a,b --ops c` into a, b, c. Regular expressions and files keep their commas."""
    words: list[str] = []
    for value in values:
        whole = value.startswith("re:") or _is_file(value)
        parts = [value] if whole else value.split(",")
        named = [part.strip() for part in parts if part.strip()]
        if not named:
            # An empty variable of a script must not mean everything.
            raise click.BadParameter(f"{value!r} is empty")
        words += named
    return tuple(words)


def split_dimensions(ctx: click.Context, param: click.Parameter, values: Words) -> Words:
    """Splits `dtype,threads` into distinct names, in lower case but for users' labels."""
    words = split_commas(ctx, param, values)
    return tuple(dict.fromkeys(w if w.startswith("label.") else w.lower() for w in words))


def words_among(known: Callable[[], Words], beginnings: Words = ()) -> Callback[Words, Words]:
    """Returns a parser of `a,b` into distinct words in lower case, all of them known, or with one
    of these beginnings."""

    def parse(ctx: click.Context, param: click.Parameter, values: Words) -> Words:
        words = tuple(dict.fromkeys(word.lower() for word in split_commas(ctx, param, values)))
        for word in words:
            if word not in known() and not word.startswith(beginnings):
                raise click.BadParameter(f"{word!r} is not one of {', '.join(known())}")
        return words

    return parse


NOTHING = "none"
"""In place of what to fail on."""


def findings_among(known: Words) -> Callback[Words, Words | None]:
    """Returns a parser of what to fail on: None for the usual findings, and none of them by the
    word."""
    among = words_among(lambda: (*known, NOTHING))

    def parse(ctx: click.Context, param: click.Parameter, values: Words) -> Words | None:
        words = among(ctx, param, values)
        if NOTHING in words and len(words) > 1:
            raise click.BadParameter(f"{NOTHING} excludes the others; give it alone")
        return None if not words else tuple(word for word in words if word != NOTHING)

    return parse


def parse_columns(ctx: click.Context, param: click.Parameter, values: Words) -> Words:
    """Parses `forward,bandwidth` into distinct names of columns."""
    # What a table needs, and other commands do not.
    from opperf.results.columns import check_columns

    names = tuple(dict.fromkeys(word.lower() for word in split_commas(ctx, param, values)))
    try:
        check_columns(names)
    except UsageError as error:
        raise click.BadParameter(str(error)) from error
    return names


def _split_pairs(values: Words, form: str) -> Iterator[tuple[str, str]]:
    """Yields the names and texts of `NAME=TEXT` values. `form` is what to write."""
    for value in values:
        name, equals, text = value.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"{value!r} is not of the form {form}")
        yield name, text


def _split_distinct_pairs(values: Words, form: str) -> dict[str, str]:
    """Splits `NAME=TEXT` values into distinct names and their texts."""
    pairs: dict[str, str] = {}
    for name, text in _split_pairs(values, form):
        if name in pairs:
            raise click.BadParameter(f"{name!r} is set twice; write it once, as {form}")
        pairs[name] = text
    return pairs


def parse_shapes(
    ctx: click.Context, param: click.Parameter, values: Words
) -> Mapping[str, tuple[int | str, ...]]:
    """Parses `lhs=1024xn` into a name and a shape, whose extents are numbers, or names of swept
    variables. The name is empty for `1024xn` alone."""
    shapes = {}
    if len(values) > 1 and any(map(_is_unnamed, values)):
        raise click.BadParameter(
            "a shape without a name is that of the only input; write the name of each, as "
            "lhs=1024x1024"
        )
    pairs = (
        {UNNAMED: values[0]}
        if values and _is_unnamed(values[0])
        else _split_distinct_pairs(values, "lhs=1024x1024")
    )
    for name, text in pairs.items():
        # Python writes a shape of one extent with a comma behind it.
        inside = text.replace("(", "").replace(")", "").removesuffix(",")
        extents = [extent.strip() for extent in inside.replace(",", "x").split("x")]
        shape = tuple(int(extent) if extent.isdecimal() else extent for extent in extents)
        if not all(is_variable(extent) if isinstance(extent, str) else extent for extent in shape):
            form = f"write {name or 'lhs'}=1024x1024, every extent at least 1"
            raise click.BadParameter(f"{text!r} is not a shape; {form}")
        shapes[name] = shape
    return shapes


def _is_unnamed(text: str) -> bool:
    """Whether a text is a shape alone: a word may be a name whose shape is missing."""
    return "=" not in text and not is_variable(text.strip())


WORDS = {"true": True, "false": False}
"""Booleans as many command lines have them; as text, either would be true in Python."""

OPENING = "([{'\""
"""Characters that Python's tuples, lists, dicts and strings have, and text does not."""

NESTED = 3
"""Depth of lists in lists that the arguments of a case can have."""


def parse_values(
    ctx: click.Context, param: click.Parameter, values: Words
) -> Mapping[str, Argument]:
    """Parses `axis=1` into a name and a value: a Python literal, or else text."""
    parsed: dict[str, Argument] = {}
    for name, text in _split_distinct_pairs(values, "axis=1").items():
        try:
            parsed[name] = _read_value(text)
        except ValueError as error:
            raise click.BadParameter(
                f"{text!r} is not a value for {name}: {error}; write a number, True, None, "
                "a tuple such as (1, 2), a list, or text"
            ) from error
    return parsed


class _WithNumbers(ast.NodeTransformer):
    """Replaces the names of numbers that Python writes by name, `inf` and `nan`, by these."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in ("inf", "nan"):
            return node
        return ast.copy_location(ast.Constant(float(node.id)), node)


def _read_value(text: str) -> Argument:
    """Returns the value of a Python literal, else the text itself. Raises `ValueError` for an empty
    text, for one that only begins as a literal, and for a literal that is no argument's value."""
    text = text.strip()
    try:
        value = ast.literal_eval(_WithNumbers().visit(parse_python(text, mode="eval")))
    except (SyntaxError, ValueError, RecursionError):
        if not text or set(text) & set(OPENING):
            raise ValueError("it cannot be read") from None
        return WORDS.get(text.lower(), text)
    return _as_argument(value, NESTED)


def _as_argument(value: object, depth: int) -> Argument:
    """Returns a literal as an argument. Raises `ValueError` for one that cases do not have."""
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        return Number.of(value)
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    if isinstance(value, (tuple, list)) and depth:
        return tuple(_as_argument(element, depth - 1) for element in value)  # type: ignore[misc]
    too_deep = isinstance(value, (tuple, list))
    raise ValueError("it is nested too deep" if too_deep else f"it is a {type(value).__name__}")


MOMENTS = {"d": "days", "h": "hours", "m": "minutes"}
"""Units of a time ago, each with its name for `timedelta`."""


def parse_moment(ctx: click.Context, param: click.Parameter, text: str | None) -> datetime | None:
    """Parses `2026-01-31`, `2026-01-31T12:30` or `3d`, three days ago, in local time."""
    if text is None:
        return None
    try:
        if text[-1:] in MOMENTS and text[:-1].isdecimal():
            ago = timedelta(**{MOMENTS[text[-1]]: int(text[:-1])})
            return datetime.now().astimezone() - ago
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(
            f"{text!r} is no date: write 2026-01-31, 2026-01-31T12:30, or 3d, 12h, 30m for a time "
            "ago"
        ) from error


def parse_sweeps(
    ctx: click.Context, param: click.Parameter, values: Words
) -> Mapping[str, tuple[int, ...]]:
    """Parses `n=128..2048:x2` into a variable and its values."""
    sweeps = {}
    for name, text in _split_distinct_pairs(values, "n=128..2048:x2").items():
        try:
            sweeps[check_variable(name)] = read_range(text)
        except ValueError as error:
            raise click.BadParameter(f"{name}={text}: {error}") from None
    return sweeps


def parse_assignments(read: Callable[[str], str]) -> Callback[Words, Mapping[str, Words]]:
    """Returns a parser of `OMP_PROC_BIND=true|false`, a name and values that `read` reads."""

    def parse(ctx: click.Context, param: click.Parameter, values: Words) -> Mapping[str, Words]:
        found: dict[str, dict[str, None]] = {}
        for name, text in _split_pairs(values, "NAME=VALUE or NAME=VALUE|VALUE"):
            found.setdefault(name, {}).update(dict.fromkeys(map(read, text.split("|"))))
        return {name: tuple(texts) for name, texts in found.items()}

    return parse


def parse_labels(ctx: click.Context, param: click.Parameter, values: Words) -> Mapping[str, str]:
    """Parses `commit=1a2b3c` into a key and its value."""
    return _split_distinct_pairs(values, "KEY=VALUE")


def parse_factors(ctx: click.Context, param: click.Parameter, values: Words) -> Mapping[str, float]:
    """Parses `addmm=0.5` into a name and a finite factor that is not negative."""
    factors = {}
    for name, text in _split_distinct_pairs(values, "addmm=0.5").items():
        try:
            factors[name] = float(text)
        except ValueError:
            factors[name] = math.nan
        if not 0 <= factors[name] < math.inf:
            raise click.BadParameter(f"{text!r} is not a factor of a time; write 0.5 for half")
    return factors


def parse_interpreters(
    ctx: click.Context, param: click.Parameter, values: Words
) -> tuple[Interpreter, ...]:
    """Parses interpreters. If one framework has several, each has a distinct label: the one before
    its path, or its environment's folder."""
    parsed = []
    for value in values:
        match = INTERPRETER.fullmatch(value)
        path = find_program(match["path"]) if match else None
        if match is None or path is None:
            raise click.BadParameter(f"{value!r}: no such program")
        label = match["label"] or Path(path).parent.parent.name
        parsed.append(Interpreter(path, label, match["framework"] or ""))
    return label_interpreters(parsed)


def label_interpreters(parsed: Sequence[Interpreter]) -> tuple[Interpreter, ...]:
    """Returns the interpreters, of which the only one of a framework has no label: its results are
    joined with those of any other. Raises `click.BadParameter` for one label of two."""
    labelled = []
    for interpreter in parsed:
        rivals = [other for other in parsed if other.framework == interpreter.framework]
        if any(other is not interpreter and other.label == interpreter.label for other in rivals):
            raise click.BadParameter(
                f"two interpreters have the label {interpreter.label!r}; write LABEL:PATH"
            )
        label = interpreter.label if len(rivals) > 1 else ""
        labelled.append(msgspec.structs.replace(interpreter, label=label))
    return tuple(labelled)


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


def parse_share(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Parses `5%` or `0.05` into a share."""
    try:
        return None if value is None else read_share(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
