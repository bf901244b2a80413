"""The programs that JAX compiles while a case is measured, beyond those that opperf asks for, and
those that it takes from its cache.

JAX reports both to the listeners of its monitoring.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax.monitoring

from opperf.frameworks.jax.private import COMPILED, FROM_CACHE


class _Counter:
    """Counts JAX's events: of programs outside `expected`, and of the cache."""

    def __init__(self) -> None:
        self.found = 0
        self.depth = 0
        """Number of open contexts of `expected`."""
        self.from_cache = 0

    def listen(self, event: str, duration_secs: float, **_: Any) -> None:
        if event == COMPILED and not self.depth:
            self.found += 1

    def listen_to_cache(self, event: str, **_: Any) -> None:
        self.from_cache += event == FROM_CACHE


_counter = _Counter()
jax.monitoring.register_event_duration_secs_listener(_counter.listen)
jax.monitoring.register_event_listener(_counter.listen_to_cache)


def count() -> int:
    """Returns how many programs were compiled in this process that nothing here expected."""
    return _counter.found


def from_cache() -> int:
    """Returns how many programs were taken from JAX's cache in this process."""
    return _counter.from_cache


@contextmanager
def expected() -> Iterator[None]:
    """Returns a context in which what is compiled is no recompilation: a case's first calls, and
    what opperf itself computes with JAX."""
    _counter.depth += 1
    try:
        yield
    finally:
        _counter.depth -= 1
