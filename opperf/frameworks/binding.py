"""Calls of Python functions with a case's arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any


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
