"""Asks the C library to keep freed memory, so that outputs do not fault in fresh pages."""

from __future__ import annotations

import ctypes
import functools

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
M_ARENA_MAX = -8
"""glibc's numbers of the parameters, from malloc.h."""

TRIM_BYTES = 2**30
"""Free memory kept at the top of the heap. More than any output of a default case."""

MMAP_BYTES = 32 * 2**20
"""Blocks from this size on are mapped afresh for each call; glibc allows no higher limit,
and reaches this one by itself once it has freed a block as large."""


ARENAS = 1
"""Heaps of the process. With one for each thread, a framework's worker threads each fault in
64 MiB of their own before they reuse memory: the first dozen calls of a process are slow."""


@functools.cache
def configure_heap() -> str:
    """Set up this process's heap, once; what was set, for the record. Best before a framework
    starts its threads.

    By default glibc maps each large output anew at first, raises its threshold with the sizes
    it frees, and returns memory when much is free. So an operator's time would depend on what
    ran before it: over 1024 x 1024 floats, page faults take ten times as long as relu.
    Elsewhere than on glibc nothing is set.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return "as the system has it"
    wanted = {M_MMAP_THRESHOLD: MMAP_BYTES, M_TRIM_THRESHOLD: TRIM_BYTES, M_ARENA_MAX: ARENAS}
    if not all(mallopt(parameter, value) for parameter, value in wanted.items()):
        return "glibc defaults"
    return f"glibc, {ARENAS} arena, keeps {TRIM_BYTES >> 20} MiB of freed memory"
