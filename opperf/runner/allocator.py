"""Configures the C library's allocator to keep freed memory, so that outputs cause no page
faults."""

from __future__ import annotations

import ctypes
import functools
import os

from opperf.profilers.callgrind import heap
from opperf.profilers.callgrind.dumps import DUMPS

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


KEEPING = (
    {M_MMAP_THRESHOLD: MMAP_BYTES, M_TRIM_THRESHOLD: TRIM_BYTES, M_ARENA_MAX: ARENAS},
    f"glibc, {ARENAS} arena, keeps {TRIM_BYTES >> 20} MiB of freed memory",
)
"""Parameters where time is measured, and their description."""

COUNTED = {M_MMAP_THRESHOLD: 1024}, "glibc, maps blocks of 1 KiB"
"""The same where instructions are counted and opperf's own allocator could not be built: smaller
blocks are cached for each thread, and blocks of this size are mapped. The heap's search for a free
block, which depends on all that was allocated before, then takes part in few calls."""


@functools.cache
def configure_heap() -> str:
    """Configures this process's heap, once, and returns a description of its settings. Call it
    before a framework starts its threads.

    By default glibc first maps each large output anew, raises that threshold with the sizes it
    frees, and returns memory if much is free. An operator's time would depend on what ran before
    it: over 1024 x 1024 floats, page faults take ten times as long as relu. Other C libraries are
    left as they are.

    A process that counts instructions has an allocator of opperf's own, if that could be built.
    """
    wanted, description = KEEPING
    if DUMPS in os.environ:
        if heap.is_loaded():
            return "opperf's, where a call always takes the same instructions"
        wanted, description = COUNTED
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return "as the system has it"
    if not all(mallopt(parameter, value) for parameter, value in wanted.items()):
        return "glibc defaults"
    return description
