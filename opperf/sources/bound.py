"""Objects that only a caller of this process holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Bound:
    """Objects a caller holds, which a case alone cannot make.

    `arrays` by the digest of the `given` tensor they stand for; `function` the callable
    itself, where the target's path may not lead to it (a lambda, a local function).
    """

    arrays: Mapping[str, Any] = field(default_factory=dict)
    function: Callable[..., Any] | None = None


NOTHING_BOUND = Bound()
