"""Bandwidth of the caches and of memory: by processes of which each is pinned to a core and moves
arrays of its own, all at the same time.

Bytes count as STREAM counts them: those that a kernel reads and those that it writes, each once.
Where a write first reads the line that it replaces, the memory moves more: a copy a half more.
Copies of large arrays need not, as the C library writes them past the caches; nor need a triad that
is written over one of the arrays that it reads.
"""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import repeat
from typing import Any, Literal, NamedTuple

import psutil

from opperf.errors import WorkerError
from opperf.machine.kernel import CPU_FOLDER, SYSFS, THREAD_VARIABLES, free_memory, this_machine
from opperf.machine.topology import Cache, caches, find_slow, physical_cores
from opperf.model.peaks import BandwidthPeak
from opperf.plurals import pluralize
from opperf.processes.channel import (
    Answer,
    Channel,
    ChannelClosed,
    ChannelTimeout,
    Request,
    decoder_of,
)
from opperf.processes.children import Fork
from opperf.reading import shown

Kernel = Literal["copy", "triad", "read"]

MOVES: dict[Kernel, int] = {"copy": 2, "triad": 3, "read": 2}
"""Times that each kernel reads or writes an array. Of the functions that NumPy and SciPy have,
`copyto` and BLAS's `axpy` and `dot`, in single precision, are the fastest in the first cache; sums
and maxima of two arrays by NumPy reach less than half of the rate of C."""

ARRAYS = 2
"""Of all kernels: a triad is written over one of the two."""

MEMORY = "memory"

IN_MEMORY = 4
"""Size of an array in memory, as a multiple of the last cache: STREAM's rule."""

LEAST_IN_MEMORY = 16 * 2**20
"""Bytes of an array in memory at least: where caches are small, or unknown."""

SHARE_OF_MEMORY = 4
"""Of the available memory all arrays take one part in so many."""

LARGE = 4 * 2**20
"""Bytes from which the time of a call is not subtracted: it is less than a thousandth."""

PART = 2
"""Of small arrays so many times smaller ones are moved too: below, NumPy may take another way."""

ALIGNED = PART * 64
"""Bytes of which the size of an array is a multiple, and so its part that of a cache's line."""

PAGE = 4096

APART = 1088
"""Distance of the arrays' begins within a page: where they are equal, processors take a read of one
array to depend on the last write to another."""

EACH_S = 0.3
"""Seconds for each figure: tens of rounds, of which the fastest counts."""

ROUND_NS = 5_000_000
"""Nanoseconds of a round: long against the moments by which processes miss the common begin, and as
long as the kernel may leave a process the core."""

BATCH_NS = 20_000
"""Nanoseconds of passes that small arrays are timed by: long against the clock's step, and so short
that many are undisturbed on a machine that is not quiet."""

LEAST_ROUNDS = 3

LEAD_NS, LEAD_EACH_NS = 200_000, 20_000
"""From the first message of a round to its begin: the time that it takes to wake a process, and to
send each message."""

ANSWER_S = 120.0
"""Limit on a round: the first one of large arrays makes them."""


class Level(NamedTuple):
    """A level of memory, as one core has it beside others that are busy too."""

    name: str
    capacity: int
    """Its share in bytes; 0 of memory."""
    moved: int
    """Bytes of a kernel's arrays together."""


def levels_of(found: Iterable[Cache], cpus: frozenset[int], available: float) -> list[Level]:
    """Returns the levels of busy cores, where so many bytes of memory are available. Arrays take
    half of a core's share of a cache, or what is twice as large as the level before; a level whose
    share is less than that has no arrays of its own, and is omitted."""
    made: list[Level] = []
    share = 0
    for cache in found:
        if cache.bytes is None or cache.name.endswith("i"):
            continue
        below, share = share, cache.bytes // max(1, len(cache.cpus & cpus))
        moved = max(share // 2, 2 * below)
        if moved <= share:
            made.append(Level(cache.name, share, moved))
    most = int(available / SHARE_OF_MEMORY / len(cpus))
    wanted = ARRAYS * max(IN_MEMORY * share, LEAST_IN_MEMORY)
    return [*made, Level(MEMORY, 0, min(wanted, most))]


def busy_cores(usable: frozenset[int]) -> list[list[int]]:
    """Returns one core, two, four ... and all that compute on their own, performance cores
    first."""
    slow = find_slow(usable, SYSFS)
    cores = sorted(physical_cores(usable), key=lambda cpu: (cpu in slow, cpu))
    counts = [2**power for power in range(len(cores).bit_length())]
    return [cores[:count] for count in sorted({*counts, len(cores)})]


class Work(Request[tuple[float, ...]], frozen=True):
    """Asks for passes of a kernel. The answer is the nanoseconds of one in the fastest batch, for
    each size."""

    kernel: Kernel
    sizes: tuple[int, ...]
    """Bytes of each array, whose batches take turns; the largest first."""
    passes: int
    """Of a batch."""
    batches: int
    begin_ns: int
    """When they begin, by `time.perf_counter_ns`, which all processes share."""


def serve(channel: Channel, cpu: int) -> None:
    """Answers requests on a core."""
    # The process that asks handles Ctrl-C, and ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {cpu})
    # A product of vectors would start threads, which this core does not have. Read at the import.
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    import numpy as np
    from scipy.linalg.blas import saxpy, sdot

    buffer = np.empty(0, np.uint8)
    for line in channel.lines():
        work = decoder_of(Work).decode(line)
        apart = -(-work.sizes[0] // PAGE) * PAGE + APART
        if buffer.size < ARRAYS * apart + PAGE:
            buffer = np.empty(ARRAYS * apart + PAGE, np.uint8)
            # Written, as pages are no memory before.
            buffer.fill(0)
        first = -buffer.ctypes.data % PAGE
        calls: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        for size in work.sizes:
            begins = range(first, first + ARRAYS * apart, apart)
            a, b = (buffer[begin : begin + size].view(np.float32) for begin in begins)
            kernels = {
                "copy": (np.copyto, (a, b)),
                "triad": (saxpy, (b, a)),
                "read": (sdot, (a, b)),
            }
            calls.append(kernels[work.kernel])
        fastest = [math.inf] * len(calls)
        while time.perf_counter_ns() < work.begin_ns:
            pass
        for _ in range(work.batches):
            for place, (call, arguments) in enumerate(calls):
                begun = time.perf_counter_ns()
                for _ in repeat(None, work.passes):
                    call(*arguments)
                taken = time.perf_counter_ns() - begun
                fastest[place] = min(fastest[place], taken / work.passes)
        channel.send(Answer.of(fastest))


@contextmanager
def _forks(cpus: Iterable[int]) -> Iterator[list[Fork]]:
    with ExitStack() as ended:
        made = []
        for cpu in cpus:
            made.append(Fork(lambda channel, cpu=cpu: serve(channel, cpu)))  # type: ignore[misc]
            ended.callback(made[-1].end)
        yield made


def _round(
    forks: Sequence[Fork], kernel: Kernel, sizes: tuple[int, ...], passes: int, batches: int = 1
) -> list[tuple[float, ...]]:
    """Returns the nanoseconds of a pass in each process, for each size. Raises `WorkerError`."""
    begin_ns = time.perf_counter_ns() + LEAD_NS + LEAD_EACH_NS * len(forks)
    try:
        for fork in forks:
            fork.channel.send(Work(kernel, sizes, passes, batches, begin_ns))
        return [fork.channel.answer(Work, ANSWER_S) for fork in forks]
    except (ChannelClosed, ChannelTimeout) as error:
        raise WorkerError(
            f"a process that moved arrays of {shown(sizes[0])} ended or hung: "
            "see that no other process needs the memory, and measure again"
        ) from error


def _rate(forks: Sequence[Fork], kernel: Kernel, level: Level) -> float:
    """Returns the bytes per second of all processes together: of large arrays those of the fastest
    round; else by the difference of arrays and a part of them, so that the time of a call does not
    count."""
    size = level.moved // ARRAYS // ALIGNED * ALIGNED
    moved = size * MOVES[kernel]
    is_large = level.moved >= LARGE
    sizes = (size,) if is_large else (size, size // PART)
    # The first passes make the arrays, and fill the caches.
    once = max(min(_round(forks, kernel, sizes, 1) for _ in range(3)))[0]
    passes = max(1, round((ROUND_NS if is_large else BATCH_NS) / once))
    batches = 1 if is_large else max(1, round(ROUND_NS / (2 * passes * once)))
    rounds: list[list[tuple[float, ...]]] = []
    until = time.monotonic() + EACH_S
    while time.monotonic() < until or len(rounds) < LEAST_ROUNDS:
        rounds.append(_round(forks, kernel, sizes, passes, batches))
    if is_large:
        return 1e9 * max(sum(moved / ns for (ns,) in each) for each in rounds)
    total = 0.0
    for of_fork in zip(*rounds, strict=True):
        whole, part = map(min, zip(*of_fork, strict=True))
        total += (moved - moved / PART) / (whole - part) if whole > part else moved / whole
    return 1e9 * total


def measure_bandwidths(
    usable: frozenset[int], say: Callable[[str], object]
) -> tuple[BandwidthPeak, ...]:
    """Returns the bandwidths of each level for each number of busy cores. Raises `WorkerError`."""
    found: list[BandwidthPeak] = []
    for cpus in busy_cores(usable):
        say(f"bandwidth of {len(cpus)} of {pluralize(len(usable), 'core')}")
        folder = SYSFS / f"{CPU_FOLDER}/cpu{cpus[0]}/cache"
        available = min(psutil.virtual_memory().available, free_memory(this_machine(())))
        with _forks(cpus) as forks:
            found += (
                BandwidthPeak(
                    level=level.name,
                    kernel=kernel,
                    threads=len(cpus),
                    bytes=level.capacity * len(cpus),
                    rate=_rate(forks, kernel, level),
                )
                for level in levels_of(caches(folder), frozenset(cpus), available)
                for kernel in MOVES
            )
    return tuple(found)
