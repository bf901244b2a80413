"""Callables by dotted path, as users write them: `nd.add`, `np.linalg.norm`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opperf.errors import UnknownOperatorError, suggest


def find(path: str, framework: str, roots: Mapping[str, Any]) -> Callable[..., Any]:
    """The callable at a path, which begins with one of the words that `roots` has.

    `framework` is what a message calls the framework. Raises `UnknownOperatorError` naming the
    first word of the path that is not there.
    """
    first, *rest = path.split(".")
    if first not in roots:
        raise UnknownOperatorError(
            f"{path!r} is no {framework} path; it starts with one of {', '.join(roots)}"
        )
    place = roots[first]
    for word in rest:
        if not hasattr(place, word):
            raise UnknownOperatorError(
                f"{path!r}: {getattr(place, '__name__', place)} has no {word!r}"
                f"{suggest(word, dir(place))}"
            )
        place = getattr(place, word)
    if not callable(place):
        raise UnknownOperatorError(f"{path!r} is not callable")
    function: Callable[..., Any] = place
    return function
