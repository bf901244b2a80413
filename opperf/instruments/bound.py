"""Objects of a user that exist in this process only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from opperf.model import TensorSpec

Key = tuple[str, tuple[int, ...], str]
"""Key by which the contents of a user's arrays differ."""


def key_of(spec: TensorSpec) -> Key:
    """Returns the key of the array that a tensor has its contents of: its digest, which frameworks
    may take of the elements alone, its shape and its own dtype."""
    return spec.fill.digest, spec.shape, spec.fill.dtype or spec.dtype


@dataclass(frozen=True)
class Bound:
    """A user's objects that cannot be made from the case alone.

    `arrays` are by the key of the tensor with the fill `given`; `function` is the callable, if
    the target's path may not lead to it (a lambda, a local function).
    """

    arrays: Mapping[Key, Any] = field(default_factory=dict)
    function: Callable[..., Any] | None = None


NOTHING_BOUND = Bound()
