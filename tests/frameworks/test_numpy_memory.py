"""Peaks of memory against arithmetic on outputs and temporaries, to the byte."""

import tracemalloc

import numpy as np
import pytest

from opperf.frameworks import load
from opperf.frameworks.numpy.framework import measure

KIB, MIB = 2**10, 2**20
SIDE = KIB

SINGLE = np.random.default_rng(0).standard_normal((SIDE, SIDE), np.float32)
DOUBLE = SINGLE.astype(np.float64)
OUTPUT = np.zeros_like(SINGLE)
MASK = SINGLE > 0
VECTOR = SINGLE.ravel()
RANDOM = np.random.default_rng(0)
INDICES = np.arange(SIDE, dtype=np.int64)
TRUE_HALF = np.arange(VECTOR.size) % 2 == 0

EXACT = {
    "add: the output": (lambda: np.add(SINGLE, SINGLE), 4194304),
    "add: in double": (lambda: np.add(DOUBLE, DOUBLE), 8 * MIB),
    "add: mixed, cast through buffers": (lambda: np.add(SINGLE, DOUBLE), 8 * MIB),
    "add: broadcast": (lambda: np.add(SINGLE[:, :1], SINGLE[:1]), 4 * MIB),
    "negative: into an array that is there": (lambda: np.negative(SINGLE, out=OUTPUT), 0),
    "less: a byte for each": (lambda: np.less(SINGLE, SINGLE), MIB),
    "frexp: mantissas and exponents": (lambda: np.frexp(SINGLE), 8 * MIB),
    "square of a sum: a temporary and the output": (
        lambda: np.square(np.add(SINGLE, SINGLE)),
        8 * MIB,
    ),
    "sum: along an axis": (lambda: np.sum(SINGLE, axis=0), 4 * SIDE),
    "sum: of all, a scalar": (lambda: np.sum(SINGLE), 4),
    "cumsum": (lambda: np.cumsum(SINGLE, axis=0), 4 * MIB),
    "argmax: int64": (lambda: np.argmax(SINGLE, axis=1), 8 * SIDE),
    "dot: of matrices": (lambda: np.dot(SINGLE, SINGLE), 4 * MIB),
    "outer": (lambda: np.outer(VECTOR[:2000], VECTOR[:1000]), 4 * 2000 * 1000),
    "sort: a copy": (lambda: np.sort(VECTOR), 4 * MIB),
    "sort: a copy and a column": (lambda: np.sort(SINGLE, axis=0), 4 * MIB + 4 * SIDE),
    "argsort": (lambda: np.argsort(VECTOR), 8 * MIB),
    "concatenate": (lambda: np.concatenate([SINGLE] * 3), 12 * MIB),
    "stack": (lambda: np.stack([SINGLE] * 3), 12 * MIB),
    "where: from two": (lambda: np.where(MASK, SINGLE, SINGLE), 4 * MIB),
    "nonzero: indices of a vector": (lambda: np.nonzero(TRUE_HALF), 8 * MIB // 2),
    "take: rows": (lambda: np.take(SINGLE, INDICES, axis=0), 4 * MIB),
    "transpose: a view": (lambda: np.transpose(SINGLE), 0),
    "reshape: a view": (lambda: np.reshape(SINGLE, -1), 0),
    "repeat: the output and the count": (lambda: np.repeat(SINGLE, 2, axis=0), 8 * MIB + 8),
    "add: the output and a number": (lambda: np.add(SINGLE, 1), 4 * MIB + 4),
    "zeros": (lambda: np.zeros((SIDE, SIDE), np.float32), 4 * MIB),
    "random: float64": (lambda: RANDOM.random((SIDE, SIDE)), 8 * MIB),
}


@pytest.mark.parametrize("name", EXACT)
def test_the_peak_is_what_arithmetic_says(name):
    call, expected = EXACT[name]
    call()
    with measure() as reading:
        call()
    assert reading.peak_bytes == expected


SCALARS = 64
"""Bytes of the means, counts and divisors that some functions make beside their arrays."""

ROWS = 4 * 4 * SIDE
"""Bytes of the vectors along an axis that they make, of which NumPy 2 makes more than NumPy 1."""

COMPLEX = SINGLE.astype(np.complex128)


@pytest.mark.parametrize(
    "call, expected",
    [
        # The deviations from the mean, squared in place.
        (lambda: np.var(SINGLE), 4 * MIB),
        # The same by column, the means beside them.
        (lambda: np.var(SINGLE, axis=0), 4 * MIB + 4 * SIDE),
        # A copy that is partitioned.
        (lambda: np.median(VECTOR), 4 * MIB),
        # In double precision, which NumPy 1 computes all transforms in.
        (lambda: np.fft.fft(COMPLEX), 16 * MIB),
    ],
)
def test_the_peak_of_a_composition(call, expected):
    with measure() as reading:
        call()
    assert 0 <= reading.peak_bytes - expected <= SCALARS + ROWS


def test_what_is_freed_within_counts_while_it_is_there():
    with measure() as reading:
        temporary = SINGLE.copy()
        del temporary
        small = SINGLE[:1].copy()  # noqa: F841
    assert reading.peak_bytes == 4 * MIB


def test_pythons_objects_do_not_count():
    with measure() as reading:
        kept = [str(i) for i in range(10000)]
    assert kept
    assert reading.peak_bytes == 0


def test_what_was_there_before_does_not_count_even_when_freed():
    before = SINGLE.copy()
    with measure() as reading:
        del before
        kept = SINGLE[:2].copy()  # noqa: F841
    assert reading.peak_bytes == 2 * 4 * SIDE


def test_a_second_reading_begins_anew():
    with measure() as first:
        kept = SINGLE.copy()  # noqa: F841
    with measure() as second:
        np.negative(SINGLE[0])
    assert (first.peak_bytes, second.peak_bytes) == (4 * MIB, 4 * SIDE)


def test_tracemalloc_is_left_as_it_was():
    with measure():
        assert tracemalloc.is_tracing()
    assert not tracemalloc.is_tracing()
    # Python's own allocations are traced again by whoever asks.
    tracemalloc.start()
    try:
        kept = bytearray(MIB)
        assert tracemalloc.get_traced_memory()[0] >= len(kept)
    finally:
        tracemalloc.stop()


def test_a_trace_of_the_callers_own_goes_on():
    tracemalloc.start()
    try:
        with measure() as reading:
            np.add(SINGLE, SINGLE)
        assert tracemalloc.is_tracing()
        assert reading.peak_bytes >= 4 * MIB
    finally:
        tracemalloc.stop()


def test_an_error_inside_leaves_nothing_traced():
    with pytest.raises(ValueError), load("numpy").memory.measure("cpu(0)"):
        np.add(SINGLE, SINGLE[:2])
    assert not tracemalloc.is_tracing()
