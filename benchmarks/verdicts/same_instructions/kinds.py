"""Functions whose time depends on `MISSED`, and whose instructions all but do not: what counts of
instructions cannot show. With 1 each takes the slow way."""

import os
import time

import numpy as np

IS_SLOW = os.environ.get("MISSED") == "1"

RNG = np.random.default_rng(0)
ELEMENTS = 2**21
"""Of 4 bytes: more than a second-level cache, and most of a share of a third."""

TABLE = RNG.random(ELEMENTS, dtype=np.float32)
INDICES = np.arange(2**18) * (ELEMENTS // 2**18)
if IS_SLOW:
    INDICES = RNG.permutation(INDICES)

SCALE = np.float32(1e-30 if IS_SLOW else 1.0)
TINY = np.full(2**14, 1e-12, np.float32)

BYTES = np.zeros(2**22 + 64, np.uint8)
# An element beyond a cache line: NumPy copies what is not aligned to elements.
OFFSET = 64 - BYTES.ctypes.data % 64 + (4 if IS_SLOW else 0)
UNALIGNED = BYTES[OFFSET : OFFSET + 2**16].view(np.float32)
RESULT = np.empty_like(UNALIGNED)


def cache_misses(x):
    """Gathers the same elements in order, or at random."""
    return TABLE.take(INDICES).sum() + x


def subnormal_numbers(x):
    """Multiplies to numbers that are normal, or subnormal."""
    return (TINY * SCALE).sum() + x


def alignment(x):
    """Adds arrays that are aligned to cache lines, or to elements alone."""
    np.add(UNALIGNED, UNALIGNED, out=RESULT)
    return x


def waiting(x):
    """Waits for a device, another process or a disk, which takes no instructions."""
    time.sleep(0.0002 if IS_SLOW else 0.0001)
    return x


def more_work(x):
    """A twentieth more instructions: what counts do show."""
    return sum(range(2100 if IS_SLOW else 2000)) + x


def inputs():
    return [{"x": (2,)}]
