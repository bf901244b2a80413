"""Objects of a user that exist in this process only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Bound:
    """A user's objects that cannot be made from the case alone.

    `arrays` are by the digest of the tensor with the fill `given`; `function` is the callable, if
    the target's path may not lead to it (a lambda, a local function).
    """

    arrays: Mapping[str, Any] = field(default_factory=dict)
    function: Callable[..., Any] | None = None


NOTHING_BOUND = Bound()
