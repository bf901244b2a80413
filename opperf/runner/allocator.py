"""Configures the C library's allocator to keep freed memory, so that outputs cause no page
faults."""

from __future__ import annotations

import contextlib
import ctypes
import functools

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
M_ARENA_MAX = -8
"""Numbers of mallopt's parameters, from glibc's malloc.h."""

TRIM_BYTES = 2**30
"""Free memory kept at the top of the heap: more than any output of a default case."""

MMAP_BYTES = 32 * 2**20
"""Size from which each block is mapped anew. glibc allows no higher threshold, and raises its own
to this one after it has freed a block of this size."""


ARENAS = 1
"""Number of heaps. With one for each thread, each of a framework's threads faults in 64 MiB of its
own before it reuses memory: the first dozen calls of a process are slow."""


COUNTED_MMAP_BYTES = 1024
"""The same where instructions are counted: smaller blocks are cached for each thread. The heap's
search for a free block then takes part in few calls; it depends on all that was allocated before,
and moved the counts of short operators by up to 2 %."""


def configure_counted_heap() -> None:
    """Configures the heap of a process that counts instructions, whose page faults do not count."""
    with contextlib.suppress(AttributeError, OSError):
        # Other C libraries are left as they are.
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, COUNTED_MMAP_BYTES)


@functools.cache
def configure_heap() -> str:
    """Configures this process's heap, once, and returns a description of its settings. Call it
    before a framework starts its threads.

    By default glibc first maps each large output anew, raises that threshold with the sizes it
    frees, and returns memory if much is free. An operator's time would depend on what ran before
    it: over 1024 x 1024 floats, page faults take ten times as long as relu. Other C libraries are
    left as they are.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return "as the system has it"
    wanted = {M_MMAP_THRESHOLD: MMAP_BYTES, M_TRIM_THRESHOLD: TRIM_BYTES, M_ARENA_MAX: ARENAS}
    if not all(mallopt(parameter, value) for parameter, value in wanted.items()):
        return "glibc defaults"
    return f"glibc, {ARENAS} arena, keeps {TRIM_BYTES >> 20} MiB of freed memory"
