"""Names of definitions: tuples of labels, from nested dicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Union

from opperf.errors import UsageError
from opperf.snippets.definitions import Grouped, TimerArgs

Labels = tuple[str, ...]

Definition = Union[TimerArgs, Grouped]

Benchmarks = Mapping[Any, Any]
"""Definitions by label, a text or a tuple of texts; a value may be such a dict itself."""


def flatten(benchmarks: Benchmarks) -> dict[Labels, Definition]:
    """Returns the definitions by all their labels, from the outermost dict to the innermost.

    Raises `UsageError` for two definitions of one label, and for anything else than a definition.
    """
    found: dict[Labels, Definition] = {}
    for labels, definition in _walk((), benchmarks):
        earlier = found.get(labels)
        if earlier is not None:
            raise UsageError(
                f"{definition.place}: a second definition of {'/'.join(labels)}; the first one is "
                f"at {earlier.place}"
            )
        found[labels] = definition
    return found


def _walk(outer: Labels, value: Any) -> Iterator[tuple[Labels, Definition]]:
    if isinstance(value, (TimerArgs, Grouped)):
        if not outer:
            raise UsageError(f"{value.place}: a definition without a label; put it in a dict")
        yield outer, value
        return
    if not isinstance(value, Mapping):
        where = f" under {'/'.join(outer)}" if outer else ""
        raise UsageError(
            f"{type(value).__name__}{where} is neither a definition nor a dict of definitions"
        )
    for label, inner in value.items():
        yield from _walk((*outer, *_labels(label, outer)), inner)


def _labels(label: Any, outer: Labels) -> Labels:
    """Returns the labels of a key, without empty ones."""
    words = label if isinstance(label, tuple) else (label,)
    for word in words:
        if not (isinstance(word, str) or word is None):
            where = f" under {'/'.join(outer)}" if outer else ""
            raise UsageError(f"the label {word!r}{where} is no text; a label is a text or a tuple")
    return tuple(word for word in words if word)
