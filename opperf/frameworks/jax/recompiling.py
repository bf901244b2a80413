"""The programs that JAX compiles while a case is measured, beyond those that opperf asks for.

JAX reports each to the listeners of its monitoring, those that it takes from the cache too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax.monitoring

COMPILED = "/jax/core/compile/backend_compile_duration"
"""JAX's event of a program that its backend has compiled."""


class _Counter:
    """Counts JAX's events outside `expected`."""

    def __init__(self) -> None:
        self.found = 0
        self.depth = 0
        """Number of open contexts of `expected`."""

    def listen(self, event: str, duration_secs: float, **_: Any) -> None:
        if event == COMPILED and not self.depth:
            self.found += 1


_counter = _Counter()
jax.monitoring.register_event_duration_secs_listener(_counter.listen)


def count() -> int:
    """Returns how many programs were compiled in this process that nothing here expected."""
    return _counter.found


@contextmanager
def expected() -> Iterator[None]:
    """Returns a context in which what is compiled is no recompilation: a case's first calls, and
    what opperf itself computes with JAX."""
    _counter.depth += 1
    try:
        yield
    finally:
        _counter.depth -= 1
