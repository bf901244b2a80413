"""Python functions: their parameters, and their calls with a case's arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any

from opperf.model import Kind


def bind(
    function: Callable[..., Any],
    declared: Mapping[str, Parameter],
    unnamed: Sequence[Any],
    named: Mapping[str, Any],
) -> functools.partial[Any]:
    """Returns a call of a function with these arguments, bound in advance so that it has no
    overhead.

    `declared` are the function's parameters. Arguments go by position, as programs write them, up
    to the first parameter without one, and by keyword from there on. A list for a variadic
    parameter is spread.
    """
    positional, others = list(unnamed), dict(named)
    for name, parameter in list(declared.items())[len(positional) :]:
        if name not in others or parameter.kind is parameter.KEYWORD_ONLY:
            if parameter.kind is parameter.VAR_POSITIONAL:
                continue
            break
        value = others.pop(name)
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.extend(value)
        else:
            positional.append(value)
    return functools.partial(function, *positional, **others)


KINDS: tuple[tuple[type, Kind], ...] = (
    (bool, Kind.BOOL),
    (int, Kind.INT),
    (float, Kind.FLOAT),
    (str, Kind.STRING),
    (tuple, Kind.SHAPE),
)
"""Kinds of parameters by the type of their default; `bool` first, as it is an `int`."""


def kind_of_default(parameter: Parameter) -> Kind:
    """Returns the kind of a parameter whose name and annotation do not tell."""
    return next((kind for of, kind in KINDS if isinstance(parameter.default, of)), Kind.OTHER)
