"""Parsers of the texts of options. Each raises `ValueError`, or an `OpperfError`, for the user."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from opperf.decoding import parse_python
from opperf.model import Argument, Interpreter, Number
from opperf.processes.commands import find_program
from opperf.ranges import UNNAMED, check_variable, is_variable, read_range

if TYPE_CHECKING:
    from opperf.comparison.tolerances import Rule
    from opperf.environments.specification import EnvironmentSpec

Words = tuple[str, ...]

CALLABLE = re.compile(r".+\.py:[\w.]+|[\w.]+:[\w.]+")
"""A function or class of a file or module: `model.py:GPT`, `package.models:GPT`."""

RETRYABLE = ("failed", "crashed", "timeout", "skipped")

INTERPRETER = re.compile(r"(?:(?P<label>[\w.+-]+):)?(?:(?P<framework>\w+)=)?(?P<path>.+)")


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:
        # A long list of names is longer than a file's name can be.
        return False


def split_commas(values: Words) -> Words:
    """Splits `--ops a,b --ops c` into a, b, c. Regular expressions and files keep their commas."""
    words: list[str] = []
    for value in values:
        whole = value.startswith("re:") or _is_file(value)
        parts = [value] if whole else value.split(",")
        named = [part.strip() for part in parts if part.strip()]
        if not named:
            # An empty variable of a script must not mean everything.
            raise ValueError(f"{value!r} is empty")
        words += named
    return tuple(words)


def split_dimensions(values: Words) -> Words:
    """Splits `dtype,threads` into distinct names, in lower case but for users' labels."""
    words = split_commas(values)
    return tuple(dict.fromkeys(w if w.startswith("label.") else w.lower() for w in words))


def words_among(known: Callable[[], Words], beginnings: Words = ()) -> Callable[[Words], Words]:
    """Returns a parser of `a,b` into distinct words in lower case, all of them known, or with one
    of these beginnings."""

    def parse(values: Words) -> Words:
        words = tuple(dict.fromkeys(word.lower() for word in split_commas(values)))
        for word in words:
            if word not in known() and not word.startswith(beginnings):
                raise ValueError(f"{word!r} is not one of {', '.join(known())}")
        return words

    return parse


parse_retried = words_among(lambda: RETRYABLE)
"""Parses statuses of records that are measured again."""

NOTHING = "none"
"""In place of what to fail on."""


def findings_among(known: Words) -> Callable[[Words], Words | None]:
    """Returns a parser of what to fail on: None for the usual findings, and none of them by the
    word."""
    among = words_among(lambda: (*known, NOTHING))

    def parse(values: Words) -> Words | None:
        words = among(values)
        if NOTHING in words and len(words) > 1:
            raise ValueError(f"{NOTHING} excludes the others; give it alone")
        return None if not words else tuple(word for word in words if word != NOTHING)

    return parse


def number_within(kind: type[float], low: float, high: float) -> Callable[[str], float]:
    """Returns a parser of integers, or of other numbers, between two, both included."""
    what = "an integer" if kind is int else "a number"
    limits = f"of at least {low:g}" if high == math.inf else f"between {low:g} and {high:.0f}"

    def parse(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise ValueError(f"{text!r} is not {what} {limits}")
        return value

    return parse


def parse_columns(values: Words) -> Words:
    """Parses `forward,bandwidth` into distinct names of columns."""
    # What a table needs, and other commands do not.
    from opperf.results.columns import check_columns

    names = tuple(dict.fromkeys(word.lower() for word in split_commas(values)))
    check_columns(names)
    return names


def _split_pairs(values: Words, form: str) -> Iterator[tuple[str, str]]:
    for value in values:
        name, equals, text = value.partition("=")
        if not name or not equals:
            raise ValueError(f"{value!r} is not of the form {form}")
        yield name, text


def _split_distinct_pairs(values: Words, form: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for name, text in _split_pairs(values, form):
        if name in pairs:
            raise ValueError(f"{name!r} is set twice; write it once, as {form}")
        pairs[name] = text
    return pairs


def parse_shapes(values: Words) -> Mapping[str, tuple[int | str, ...]]:
    """Parses `lhs=1024xn` into a name and a shape, whose extents are numbers, or names of swept
    variables. The name is empty for `1024xn` alone."""
    shapes = {}
    if len(values) > 1 and any(map(_is_unnamed, values)):
        raise ValueError(
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
            raise ValueError(f"{text!r} is not a shape; {form}")
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


def parse_values(values: Words) -> Mapping[str, Argument]:
    """Parses `axis=1` into a name and a value: a Python literal, or else text."""
    parsed: dict[str, Argument] = {}
    for name, text in _split_distinct_pairs(values, "axis=1").items():
        try:
            parsed[name] = _read_value(text)
        except ValueError as error:
            raise ValueError(
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
    text = text.strip()
    try:
        value = ast.literal_eval(_WithNumbers().visit(parse_python(text, mode="eval")))
    except (SyntaxError, ValueError, RecursionError):
        if not text or set(text) & set(OPENING):
            raise ValueError("it cannot be read") from None
        return WORDS.get(text.lower(), text)
    return _as_argument(value, NESTED)


def _as_argument(value: object, depth: int) -> Argument:
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


def parse_moment(text: str) -> datetime:
    """Parses `2026-01-31`, `2026-01-31T12:30` or `3d`, three days ago, in local time."""
    try:
        if text[-1:] in MOMENTS and text[:-1].isdecimal():
            ago = timedelta(**{MOMENTS[text[-1]]: int(text[:-1])})
            return datetime.now().astimezone() - ago
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"{text!r} is no date: write 2026-01-31, 2026-01-31T12:30, or 3d, 12h, 30m for a time "
            "ago"
        ) from error


def parse_sweeps(values: Words) -> Mapping[str, tuple[int, ...]]:
    """Parses `n=128..2048:x2` into a variable and its values."""
    sweeps = {}
    for name, text in _split_distinct_pairs(values, "n=128..2048:x2").items():
        try:
            sweeps[check_variable(name)] = read_range(text)
        except ValueError as error:
            raise ValueError(f"{name}={text}: {error}") from None
    return sweeps


def parse_assignments(read: Callable[[str], str]) -> Callable[[Words], Mapping[str, Words]]:
    """Returns a parser of `OMP_PROC_BIND=true|false`, a name and values that `read` reads."""

    def parse(values: Words) -> Mapping[str, Words]:
        found: dict[str, dict[str, None]] = {}
        for name, text in _split_pairs(values, "NAME=VALUE or NAME=VALUE|VALUE"):
            found.setdefault(name, {}).update(dict.fromkeys(map(read, text.split("|"))))
        return {name: tuple(texts) for name, texts in found.items()}

    return parse


def parse_labels(values: Words) -> Mapping[str, str]:
    """Parses `commit=1a2b3c` into a key and its value."""
    return _split_distinct_pairs(values, "KEY=VALUE")


def parse_factors(values: Words) -> Mapping[str, float]:
    """Parses `addmm=0.5` into a name and a finite factor that is not negative."""
    factors = {}
    for name, text in _split_distinct_pairs(values, "addmm=0.5").items():
        try:
            factors[name] = float(text)
        except ValueError:
            factors[name] = math.nan
        if not 0 <= factors[name] < math.inf:
            raise ValueError(f"{text!r} is not a factor of a time; write 0.5 for half")
    return factors


def parse_interpreters(values: Words) -> tuple[Interpreter, ...]:
    """Parses interpreters. If one framework has several, each has a distinct label: the one before
    its path, or its environment's folder."""
    parsed = []
    for value in values:
        match = INTERPRETER.fullmatch(value)
        path = find_program(match["path"]) if match else None
        if match is None or path is None:
            raise ValueError(f"{value!r}: no such program")
        label = match["label"] or Path(path).parent.parent.name
        parsed.append(Interpreter(path, label, match["framework"] or ""))
    return label_interpreters(parsed)


def interpreter_text(value: Interpreter | str) -> str:
    """Returns the text of an interpreter; a text is its own."""
    if isinstance(value, str):
        return value
    label = f"{value.label}:" if value.label else ""
    framework = f"{value.framework}=" if value.framework else ""
    return f"{label}{framework}{value.path}"


def label_interpreters(parsed: Sequence[Interpreter]) -> tuple[Interpreter, ...]:
    """Returns the interpreters, of which the only one of a framework has no label: its results are
    joined with those of any other. Raises `ValueError` for one label of two."""
    labelled = []
    for interpreter in parsed:
        rivals = [other for other in parsed if other.framework == interpreter.framework]
        if any(other is not interpreter and other.label == interpreter.label for other in rivals):
            raise ValueError(
                f"two interpreters have the label {interpreter.label!r}; write LABEL:PATH"
            )
        label = interpreter.label if len(rivals) > 1 else ""
        labelled.append(msgspec.structs.replace(interpreter, label=label))
    return tuple(labelled)


def parse_tolerances(texts: Words) -> tuple[Rule, ...]:
    """Parses tolerances, `[OPERATOR:]METRIC=TOLERANCE`."""
    from opperf.comparison.tolerances import parse_rule

    return tuple(map(parse_rule, texts))


def read_existing_folder(text: str) -> Path:
    """Returns the path of a folder. Raises `ValueError` where there is none."""
    path = Path(text)
    if not path.is_dir():
        raise ValueError(
            f"{text!r} is not a folder" if path.exists() else f"{text!r} does not exist"
        )
    return path


def parse_requirements(values: tuple[str, ...]) -> tuple[EnvironmentSpec, ...]:
    """Parses `torch==2.12,numpy<2` into an environment, and several values into several."""
    from opperf.environments.specification import read_requirements

    return tuple({spec.text: spec for spec in map(read_requirements, values)}.values())


def environment_text(value: EnvironmentSpec | str) -> str:
    """Returns the text of an environment's requirements; a text is its own."""
    return value if isinstance(value, str) else value.text
