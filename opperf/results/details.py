"""Details of tensors: everything besides shapes in which the inputs of two cases may differ."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from opperf.dtypes import is_floating
from opperf.model import Argument, Case, Fill, Mapping, TensorSpec

LONGEST_DATA = 40
"""Most characters of literal data; longer data are shown by a hash."""

HASH_LENGTH = 8
"""Characters of a hash: enough for the cases of one operator."""

RANGES = frozenset({"uniform", "integers", "zipf", "odds", "boxes"})
"""Distributions whose two numbers are always shown; of others, if not the defaults."""


def display_details(case: Case) -> dict[str, str]:
    """Returns the details of tensors by place: `name`, `name.index`, or of an even list `name`."""
    found: dict[str, str] = {}
    chosen = any(spec.gradient for _, spec in case.tensors())
    for name, argument in case.arguments.items():
        places = {
            place: " ".join(filter(None, (details, _gradient_word(spec) if chosen else "")))
            for place, spec, details in _places(name, argument, case.settings.dtype)
        }
        shared = set(places.values())
        if len(shared) == 1:
            places = {name: shared.pop()}
        found |= {place: text for place, text in places.items() if text}
    return found


def _gradient_word(spec: TensorSpec) -> str:
    """Returns what tells a user's array without a gradient from those with one."""
    is_users = spec.fill.distribution in ("function", "given")
    return NO_GRADIENT if is_users and is_floating(spec.dtype) and not spec.gradient else ""


NO_GRADIENT = "without gradient"


def _places(place: str, argument: Argument, dtype: str) -> Iterator[tuple[str, TensorSpec, str]]:
    if isinstance(argument, TensorSpec):
        yield place, argument, tensor_details(argument, dtype)
    elif isinstance(argument, tuple):
        for index, element in enumerate(argument):
            yield from _places(f"{place}.{index}", element, dtype)
    elif isinstance(argument, Mapping):
        for key, value in argument.entries.items():
            yield from _places(f"{place}.{key}", value, dtype)


def tensor_details(spec: TensorSpec, dtype: str) -> str:
    """Returns the details of a tensor: `csr int32 integers(0, 10)`; empty if it is usual."""
    words = [] if spec.dtype == dtype else [spec.dtype]
    words += [
        FIELDS.get(name, "{name} {value}").format(name=name, value=value)
        for name, value in _non_defaults(spec, exclude=NOT_DETAILS)
    ]
    return " ".join([*words, *_fill_words(spec.fill)])


NOT_DETAILS = frozenset({"shape", "dtype", "fill", "gradient", "array_type"})
"""Fields of a tensor that are shown in other ways, and those that follow from the operator."""

FIELDS = {
    "layout": "{value}",
    "memory_format": "{value}",
    "device": "on {value}",
    "read_only": "read-only",
    "donated": "donated",
    "weak_type": "of weak type",
}
"""Texts of fields that need no name before their value."""


def _fill_words(fill: Fill) -> Iterator[str]:
    if fill == Fill():
        return
    if fill.distribution in DATA:
        yield DATA[fill.distribution](fill.data)
        # Data by their place in what a function returns need no digest beside it.
        fill = msgspec.structs.replace(fill, digest="")
    elif fill.distribution == "constant":
        yield f"constant({_number(fill.low)})"
    elif fill.distribution in RANGES or (fill.low, fill.high) != (Fill().low, Fill().high):
        yield f"{fill.distribution}({_number(fill.low)}, {_number(fill.high)})"
    else:
        yield fill.distribution
    if fill.dtype:
        yield f"from {fill.dtype}"
    for name, value in _non_defaults(fill, exclude=FILL_FIELDS):
        yield f"{name} {value}"


def _literal(data: Any) -> str:
    text = str(data)
    if len(text) <= LONGEST_DATA:
        return text
    return f"literal {hashlib.sha256(text.encode()).hexdigest()[:HASH_LENGTH]}"


DATA: dict[str, Callable[[Any], str]] = {
    "literal": _literal,
    "same": lambda data: f"same as {data}",
    "function": str,
}
"""Texts of the distributions that are defined by their data."""

FILL_FIELDS = frozenset({"distribution", "low", "high", "data", "dtype"})
"""Fields of a fill that are in the text of its distribution."""


def _non_defaults(struct: msgspec.Struct, exclude: frozenset[str]) -> Iterator[tuple[str, Any]]:
    """Yields the fields that are not at their defaults, so that a new field is shown as well."""
    for name, default in _defaults(type(struct)):
        value = getattr(struct, name)
        if name not in exclude and value != default:
            yield name, value


@functools.cache
def _defaults(kind: type[msgspec.Struct]) -> tuple[tuple[str, Any], ...]:
    """Returns each field with its default. msgspec evaluates all annotations to find them."""
    return tuple((field.name, field.default) for field in msgspec.structs.fields(kind))


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else f"{value:.4g}"
