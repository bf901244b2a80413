"""Callables by dotted path, as users write them: `nd.add`, `np.linalg.norm`."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from opperf.errors import UnknownOperatorError, one_line, suggest


def public_paths(modules: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the paths of the public functions of modules, which are by the beginning of the path:
    `nd.add`."""
    return tuple(
        f"{beginning}.{name}"
        for beginning, module in modules.items()
        for name in dir(module)
        if not name.startswith("_") and inspect.isroutine(getattr(module, name))
    )


def find(path: str, framework: str, roots: Mapping[str, Any]) -> Callable[..., Any]:
    """Returns the callable at a path, whose first word is a key of `roots`.

    `framework` is the framework's name in messages. Raises `UnknownOperatorError`, which names the
    first word of the path that does not exist.
    """
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
    """Whether a package has a module of this name, which it leaves to its users to import; imports
    that. Raises `UnknownOperatorError` if it needs what is not installed."""
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
