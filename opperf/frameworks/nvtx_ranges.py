"""NVTX ranges, which NVIDIA's profilers see, by the package `nvtx`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

DOMAIN = "opperf"
"""Domain of the ranges: the package's own default has another name than NVTX's."""

Ranges = Callable[[str], AbstractContextManager[None]]
"""Returns a context that is a range of this name. It is one of the calling thread, and one of the
process, in which work of the framework's own threads is too."""


def package_ranges() -> Ranges | None:
    """Returns ranges by the package `nvtx`; None if it is not installed."""
    try:
        import nvtx
    except ImportError:
        return None

    @contextmanager
    def ranged(name: str) -> Iterator[None]:
        started = nvtx.start_range(message=name, domain=DOMAIN)
        nvtx.push_range(message=name, domain=DOMAIN)
        try:
            yield
        finally:
            nvtx.pop_range(domain=DOMAIN)
            nvtx.end_range(started)

    return ranged
