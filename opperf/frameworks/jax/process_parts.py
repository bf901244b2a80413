"""Parts of JAX that a call may leave changed for all later calls of the process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax

from opperf.frameworks.process_parts import ProcessPart


def _values() -> dict[str, Any]:
    return dict(jax.config.values)


def _set_values(before: Mapping[str, Any]) -> None:
    now = _values()
    for name, value in before.items():
        if now.get(name) != value:
            jax.config.update(name, value)


PARTS = (ProcessPart("JAX's configuration changed", _values, _set_values, is_set_up=True),)
