"""Reads text that others wrote, JSON, YAML, TOML and Python: too much nesting is an error of the
text, as are a key that an object has twice and half of a character, and Python's warnings about it
are not printed; and says where in it an error came from."""

from __future__ import annotations

import ast
import functools
import importlib
import json
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from opperf.reading import READ_WHOLE, is_writable, read_bytes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")

JsonObject = Mapping[str, Any]
"""An object of JSON, YAML or TOML as it was read, whose values are yet to be checked."""

DEEPEST = 100
"""Most lists and objects in one another in JSON: no file that opperf reads has more than ten, and
Python follows fewer than a thousand."""

TOO_DEEP = f"nested more than {DEEPEST} deep"

KEYS = re.compile(rb'"\s*:')
"""Ends of keys in a text of JSON, and of what looks like one in a string."""

NAMES = re.compile(rb'"([^"]*)"\s*:')
"""Keys in a text of JSON that has no escape, and what looks like one in a string."""


MOST_VALUES = 200_000
"""Most values of a text of YAML, of aliases counted as often as they stand for one: 200 benches
have some 6000, and a few lines of aliases of aliases any number."""

DIGITS = 19
"""Of the largest integers of 64 bits."""

HALF = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")
"""Beginning of a half of a character beyond 16 bits, escaped or as bytes, which `json` takes."""


class EqualKeysError(ValueError):
    """An object of JSON has a key twice."""


def read_json(text: str | bytes) -> Any:
    """Returns the value of a text of JSON, as `json.loads`, and integers beyond 64 bits as floats.
    Raises `json.JSONDecodeError`, and `ValueError` for bytes that are no text, for a value that is
    nested too deep and for half of a character, and `EqualKeysError` for a key that an object has
    twice."""
    try:
        made = json.loads(text, parse_int=_integer)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    # Counting is much quicker than looking at all values.
    if may_be_deep(text) and is_deep(made):
        raise ValueError(TOO_DEEP)
    _check_keys(text, made)
    if HALF.search(_as_bytes(text)) and not is_writable(made):
        raise ValueError("it has half of a character, as \\ud800 is one")
    return made


def _integer(digits: str) -> int | float:
    """Returns an integer, as a float if it is beyond 64 bits, as no figure is and no database has
    it."""
    if len(digits) < DIGITS:
        return int(digits)
    is_near = len(digits) <= DIGITS + 1
    return int(digits) if is_near and -(1 << 63) <= int(digits) < 1 << 63 else float(digits)


def with_whole_characters(value: Any) -> Any:
    """Returns a value of JSON with `?` in place of halves of characters."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))


def _check_keys(text: str | bytes, made: Any) -> None:
    """Raises `EqualKeysError` if an object of a text of JSON, whose value is `made`, has one twice.
    Of two equal ones readers of JSON drop one, and say nothing."""
    # Rarely more: where a string looks like a key.
    if len(KEYS.findall(_as_bytes(text))) > _count_keys(made):
        json.loads(text, object_pairs_hook=_without_twins)


def _as_bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode(errors="surrogatepass")


def are_distinct(text: bytes) -> bool:
    """Whether no two keys of a text of JSON are equal, in whatever objects; quick to see for a
    small one. False if that is not known."""
    names = NAMES.findall(text)
    return b"\\" not in text and len(set(names)) == len(names)


def _count_keys(value: Any) -> int:
    count, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            count += len(one)
            one = one.values()
        elif not isinstance(one, list):
            continue
        waiting += [inner for inner in one if isinstance(inner, (dict, list))]
    return count


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise EqualKeysError(f"the key {twice!r} is there twice in one object")
    return made


def may_be_deep(text: str | bytes, begin: int = 0, end: int | None = None) -> bool:
    """Whether a text of JSON, or a part of it, has enough brackets for a value nested too deep."""
    if isinstance(text, str):
        return text.count("[", begin, end) + text.count("{", begin, end) > DEEPEST
    return text.count(b"[", begin, end) + text.count(b"{", begin, end) > DEEPEST


def is_deep(value: Any) -> bool:
    """Whether a value of JSON is nested more than `DEEPEST` deep."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


def decode(decoder: Callable[[bytes], T], text: bytes) -> T:
    """Returns what a decoder makes of a text of JSON. Raises `msgspec.DecodeError`, also for bytes
    that are no text, a text that is nested too deep and a key that an object has twice."""
    try:
        made = decoder(text)
        _check_keys(text, msgspec.json.decode(text))
    except RecursionError:
        raise msgspec.DecodeError(TOO_DEEP) from None
    except EqualKeysError as error:
        raise msgspec.DecodeError(str(error)) from None
    except (UnicodeDecodeError, msgspec.DecodeError):
        # msgspec from 0.23 on has an error and a message of its own for such bytes.
        if _is_utf8(text):
            raise
        raise msgspec.DecodeError("it is no text in UTF-8") from None
    return made


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def decode_as(text: bytes, kind: type[T]) -> T:
    """Returns the value of a text of JSON as a type. Raises what `decode` raises."""
    made: T = decode(functools.partial(msgspec.json.decode, type=kind), text)
    return made


def read_as(path: str | Path, kind: type[T]) -> T:
    """Returns the value of a file of JSON as a type. Raises `OSError` and `msgspec.DecodeError`."""
    return decode_as(read_bytes(path, READ_WHOLE), kind)


def read_yaml(text: str | bytes) -> Any:
    """Returns the value of a text of YAML, as `yaml.safe_load`. Raises what `composed_yaml`
    raises."""
    yaml: Any = importlib.import_module("yaml")

    with composed_yaml(text) as (loader, root):
        try:
            return None if root is None else loader.construct_document(root)
        except ValueError as error:
            # A date that no calendar has, or too many digits.
            raise yaml.YAMLError(str(error)) from error


@contextmanager
def composed_yaml(text: str | bytes) -> Iterator[tuple[Any, Any]]:
    """The loader of a text of YAML, and its root, None of an empty text. Raises `yaml.YAMLError`,
    also for bytes that are no text, for a value that is nested too deep or is an alias of what it
    is in, and for more than `MOST_VALUES`."""
    yaml: Any = importlib.import_module("yaml")

    # libyaml is ten times as fast, and not everywhere.
    loader = None
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        root = loader.get_single_node()
        if root is not None:
            _check_nodes(yaml, root)
    except RecursionError:
        raise yaml.YAMLError(TOO_DEEP) from None
    else:
        yield loader, root
    finally:
        if loader is not None:
            loader.dispose()


def _check_nodes(yaml: Any, root: Any) -> None:
    """Raises `yaml.YAMLError`, with the line, for nodes with too many values."""
    sizes: dict[int, tuple[int, int]] = {}
    around: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting[-1]
        pairs = node.value if isinstance(node, yaml.MappingNode) else ()
        inner = [*chain(*pairs)] if pairs else [*node.value] * (node.id == "sequence")
        wrong = ""
        if id(node) in sizes:
            waiting.pop()
        elif id(node) not in around:
            around.add(id(node))
            waiting += inner
            if any(id(child) in around and id(child) not in sizes for child in inner):
                wrong = "an alias of what it is in"
            elif not (inner or is_writable(node.value)):
                wrong = "half of a character"
        else:
            waiting.pop()
            known = [sizes[id(child)] for child in inner]
            size = 1 + sum(count for count, _ in known)
            depth = 1 + max((below for _, below in known), default=0)
            sizes[id(node)] = size, depth
            if size > MOST_VALUES:
                wrong = f"more than {MOST_VALUES} values, with those of aliases"
            elif depth > DEEPEST + 1:
                wrong = TOO_DEEP
        if wrong:
            raise yaml.MarkedYAMLError(problem=wrong, problem_mark=node.start_mark)


def read_toml(text: str) -> dict[str, Any]:
    """Returns the content of a text of TOML. Raises `ValueError`, also for one that is nested too
    deep."""
    try:
        content: dict[str, Any] = tomllib.loads(text)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    return content


def parse_python(
    text: str | bytes, name: str = "<unknown>", mode: Literal["exec", "eval"] = "exec"
) -> Any:
    """Returns the syntax tree of a text, as `ast.parse`. Raises `SyntaxError`, for too deep ones
    too, and `ValueError` for a text with a null character."""
    try:
        with warnings.catch_warnings():
            # `1or 2` is a number and a word, and `"\d"` a text, each with a warning.
            warnings.simplefilter("ignore")
            return ast.parse(text, name, mode)
    except (RecursionError, MemoryError):
        raise SyntaxError("it is nested too deep") from None


def place_in(error: BaseException, file: str) -> str:
    """Returns `FILE:LINE` of the innermost frame of an error in a file, or the file alone."""
    if isinstance(error, SyntaxError) and error.filename and _is_same(error.filename, file):
        return f"{file}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if _is_same(frame.filename, file)]
    return f"{file}:{lines[-1]}" if lines else file


def _is_same(path: str, other: str) -> bool:
    return Path(path).resolve() == Path(other).resolve()
