"""The exact peak of the data of NumPy's arrays, by Python's own tracemalloc.

NumPy reports every block of array data to tracemalloc, which has one peak for all domains, so
Python's objects would be counted too. But what Python allocates reaches it only by the allocators
that `tracemalloc.start` puts in place of Python's, and these can be put back.

Not seen, as NumPy does not report it: what a function gets from `malloc` itself and frees before
it returns, which is LAPACK's workspace, pocketfft's, that of a merge sort, and a ufunc's
buffers of some 64 KiB for casts.
"""

from __future__ import annotations

import ctypes
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


class Allocator(ctypes.Structure):
    """`PyMemAllocatorEx` of Python's C interface: a context and four functions."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("ctx", "malloc", "calloc", "realloc", "free")]


PYTHON_DOMAINS = (0, 1, 2)
"""`PYMEM_DOMAIN_RAW`, `_MEM` and `_OBJ`: the allocators that tracemalloc replaces."""


@dataclass
class Reading:
    """The result of a measurement; valid after its context has ended."""

    peak_bytes: int = 0
    kept_bytes: int = 0


def _start() -> None:
    """Starts tracemalloc for what is reported to it, without what Python allocates. A block that
    Python got between the two calls is one of the allocators below, and is freed by those."""
    own = [Allocator() for _ in PYTHON_DOMAINS]
    for domain, allocator in zip(PYTHON_DOMAINS, own, strict=True):
        ctypes.pythonapi.PyMem_GetAllocator(domain, ctypes.byref(allocator))
    tracemalloc.start()
    for domain, allocator in zip(PYTHON_DOMAINS, own, strict=True):
        ctypes.pythonapi.PyMem_SetAllocator(domain, ctypes.byref(allocator))


@contextmanager
def measure() -> Iterator[Reading]:
    """Measures the array data inside the context, above the level at entry: exactly, unless
    tracemalloc was tracing before. Then Python's objects count too."""
    reading = Reading()
    mine = not tracemalloc.is_tracing()
    if mine:
        _start()
    try:
        level, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        yield reading
        now, peak = tracemalloc.get_traced_memory()
        reading.peak_bytes, reading.kept_bytes = peak - level, now - level
    finally:
        if mine:
            tracemalloc.stop()
