"""The bandwidth of levels: the sizes of arrays, the numbers of cores, and a real measurement."""

import math

import pytest

from opperf.errors import WorkerError
from opperf.machine import bandwidth as module
from opperf.machine.bandwidth import (
    LEAST_IN_MEMORY,
    MOVES,
    Level,
    busy_cores,
    levels_of,
    measure_bandwidths,
)
from opperf.machine.topology import Cache
from opperf.processes.children import Fork

KIB, MIB = 2**10, 2**20

CACHES = [
    Cache(1, "L1d", "32K", frozenset({0})),
    Cache(1, "L1i", "32K", frozenset({0})),
    Cache(2, "L2", "1M", frozenset({0})),
    Cache(3, "L3", "32M", frozenset(range(16))),
]

PLENTY = 2.0**40


@pytest.mark.parametrize("cores, share", [(1, 32 * MIB), (2, 16 * MIB), (8, 4 * MIB)])
def test_arrays_take_half_of_a_cores_share_and_those_in_memory_four_times_the_last(cores, share):
    assert levels_of(CACHES, frozenset(range(cores)), PLENTY) == [
        Level("L1d", 32 * KIB, 16 * KIB),
        Level("L2", MIB, MIB // 2),
        Level("L3", share, share // 2),
        Level("memory", 0, 2 * max(4 * share, LEAST_IN_MEMORY)),
    ]


@pytest.mark.parametrize(
    "caches, cores, available, expected",
    [
        # A share of a cache that is hardly larger than the one before has arrays of twice that.
        (CACHES, 12, PLENTY, ("L3", 32 * MIB // 12, 2 * MIB)),
        (CACHES, 16, PLENTY, ("L3", 2 * MIB, 2 * MIB)),
        # One that is no larger has none.
        (CACHES[:1] + [CACHES[2], Cache(3, "L3", "16M", frozenset(range(16)))], 16, PLENTY, None),
        ([Cache(2, "L2", "many K")], 1, PLENTY, None),
        ([], 1, PLENTY, None),
    ],
)
def test_a_level_without_room_of_its_own_is_omitted(caches, cores, available, expected):
    *_, last, memory = [Level("", 0, 0), *levels_of(caches, frozenset(range(cores)), available)]
    assert (last == expected) if expected else last.name in ("", "L2")
    assert memory.moved >= 2 * LEAST_IN_MEMORY


@pytest.mark.parametrize("cores", [1, 4])
def test_arrays_in_memory_leave_three_quarters_of_it(cores):
    memory = levels_of(CACHES, frozenset(range(cores)), 80.0 * MIB)[-1]
    assert memory.moved * cores == 20 * MIB


@pytest.mark.parametrize(
    "cores, slow, expected",
    [
        ({0}, (), [[0]]),
        ({1, 3}, (), [[1], [1, 3]]),
        (set(range(6)), (), [[0], [0, 1], [0, 1, 2, 3], [0, 1, 2, 3, 4, 5]]),
        ({0, 1, 2}, {0}, [[1], [1, 2], [1, 2, 0]]),
    ],
)
def test_one_core_then_twice_as_many_then_all_the_slow_ones_last(
    monkeypatch, cores, slow, expected
):
    monkeypatch.setattr(module, "find_slow", lambda usable, sys: frozenset(slow))
    monkeypatch.setattr(module, "physical_cores", lambda usable: usable)
    assert busy_cores(frozenset(cores)) == expected


def test_each_level_has_a_rate_of_each_kernel(monkeypatch):
    monkeypatch.setattr(module, "EACH_S", 0.01)
    monkeypatch.setattr(module, "busy_cores", lambda usable: [[min(usable)]])
    monkeypatch.setattr(
        module,
        "levels_of",
        lambda *_: [Level("L1d", 32 * KIB, 16 * KIB), Level("memory", 0, 6 * MIB)],
    )
    said = []
    found = measure_bandwidths(module.this_machine(()).cpus, said.append)
    assert [(one.level, one.kernel, one.bytes) for one in found] == [
        (level, kernel, size)
        for level, size in (("L1d", 32 * KIB), ("memory", 0))
        for kernel in MOVES
    ]
    assert all(one.threads == 1 and 0 < one.rate < math.inf for one in found)
    assert len(said) == 1 and said[0].startswith("bandwidth of 1 of ")


def test_a_process_that_ends_is_an_error_of_a_line():
    fork = Fork(lambda channel: None)
    try:
        with pytest.raises(WorkerError, match="a process that moved arrays of 16 MiB ended"):
            module._round([fork], "copy", (16 * MIB,), 1)
    finally:
        fork.end()
