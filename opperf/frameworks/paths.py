"""Python callables: by dotted path, as users write them, their parameters, and calls of them."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter
from types import ModuleType
from typing import Any

from opperf.errors import UnknownOperatorError, one_line, suggest
from opperf.frameworks.base import CallArguments
from opperf.model import Kind


def public_paths(modules: Mapping[str, ModuleType | type]) -> tuple[str, ...]:
    """Returns the paths of the public functions of modules, by the beginning of the path."""
    return tuple(
        f"{beginning}.{name}"
        for beginning, module in modules.items()
        for name in dir(module)
        if not name.startswith("_") and inspect.isroutine(getattr(module, name))
    )


def path_of(function: Callable[..., Any]) -> str:
    """Returns the module and the qualified name of a callable."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{module}.{name}" if module else name


def find(path: str, framework: str, roots: Mapping[str, ModuleType]) -> Callable[..., Any]:
    """Returns the callable at a path that begins with one of `roots`. Raises
    `UnknownOperatorError`, with the first word that does not exist and the `framework`."""
    first, *rest = path.split(".")
    if first not in roots:
        raise UnknownOperatorError(
            f"{path!r} is not a name in {framework}; it has to start with one of {', '.join(roots)}"
        )
    place = roots[first]
    for word in rest:
        if not (hasattr(place, word) or _is_imported(place, word)):
            raise UnknownOperatorError(
                f"{path!r}: {getattr(place, '__name__', place)} has no {word!r}"
                f"{suggest(word, dir(place))}"
            )
        place = getattr(place, word)
    if not callable(place):
        raise UnknownOperatorError(f"{path!r} is not callable")
    function: Callable[..., Any] = place
    return function


def _is_imported(place: Any, word: str) -> bool:
    """Whether a package has such a module, imported here. Raises `UnknownOperatorError`."""
    if not (isinstance(place, ModuleType) and hasattr(place, "__path__")):
        return False
    name = f"{place.__name__}.{word}"
    if importlib.util.find_spec(name) is None:
        return False
    try:
        importlib.import_module(name)
    except ImportError as error:
        raise UnknownOperatorError(f"{name} cannot be imported: {one_line(str(error))}") from error
    return hasattr(place, word)


def bind(
    function: Callable[..., Any],
    declared: Mapping[str, Parameter],
    unnamed: Sequence[Any],
    named: CallArguments,
) -> functools.partial[Any]:
    """Returns a call of a function with the `declared` parameters, bound in advance so that it has
    no overhead. Arguments go by position, as programs write them, up to the first parameter without
    one, and by keyword from there on. A list for a variadic parameter is spread."""
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


def signature_of(function: Callable[..., Any]) -> Mapping[str, Parameter]:
    """Returns the parameters of a callable; none if it has no signature, as some written in C."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


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


def fold_aliases(names: Iterable[tuple[str, str]]) -> list[tuple[str, tuple[str, ...]]]:
    """Returns the canonical names of pairs of one and any name of it, each with its aliases, all
    sorted."""
    folded: dict[str, list[str]] = {}
    for canonical, name in names:
        folded.setdefault(canonical, []).append(name)
    return sorted((name, tuple(sorted({*own} - {name}))) for name, own in folded.items())
