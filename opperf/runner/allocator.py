"""Asks the C library to keep freed memory, so that outputs do not fault in fresh pages."""

from __future__ import annotations

import ctypes
import functools

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
"""glibc's numbers of the parameters, from malloc.h."""

TRIM_BYTES = 2**30
"""Free memory kept at the top of the heap. More than any output of a default case."""

MMAP_BYTES = 32 * 2**20
"""Blocks from this size on are mapped afresh for each call; glibc allows no higher limit,
and reaches this one by itself once it has freed a block as large."""


@functools.cache
def steady() -> str:
    """Set the thresholds for this process, once; what was set, for the record.

    By default glibc maps each large output anew at first, raises its threshold with the sizes
    it frees, and returns memory when much is free. So an operator's time would depend on what
    ran before it: over 1024 x 1024 floats, page faults take ten times as long as relu.
    Elsewhere than on glibc nothing is set.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return "as the system has it"
    done = mallopt(M_MMAP_THRESHOLD, MMAP_BYTES) and mallopt(M_TRIM_THRESHOLD, TRIM_BYTES)
    return f"glibc, keeps {TRIM_BYTES >> 20} MiB of freed memory" if done else "glibc defaults"
