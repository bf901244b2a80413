"""Counts the instructions of a call's last phase, alone.

Callgrind's counts are set to zero before some calls and dumped after them. Where a phase comes
before the counted one, as the forward pass before the backward pass, callgrind collects during the
counted one only, if all of that runs on the calling thread. Otherwise each call has a dump of its
own, which holds for the work of all threads once the device is synchronised.

Until a case is counted callgrind does not instrument, as instrumented code is several times slower.
Its model of the caches is filled by the calls that come before the first counted one. What an empty
phase takes, requests and loop, is subtracted.
"""

from __future__ import annotations

import ctypes
import gc
import math
import mmap
import os
import platform
import shutil
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

from opperf.errors import ProfilerError, UnsupportedError

DUMPS = "OPPERF_CALLGRIND_DUMPS"
"""Environment variable with the path of the dumps, to which Valgrind adds process and number."""


class Dumps:
    """The dumps of this process. The first is number 1, in a fork too."""

    def __init__(self) -> None:
        self._process, self._count = os.getpid(), 0

    def next(self) -> Path:
        """Returns the path of a dump that was just written. Raises `ProfilerError` without one."""
        if self._process != os.getpid():
            self._process, self._count = os.getpid(), 0
        self._count += 1
        path = Path(f"{os.environ[DUMPS]}.{self._process}.{self._count}")
        if not path.is_file():
            raise ProfilerError(f"callgrind wrote no {path.name}: is the disk full?")
        return path

    @staticmethod
    def remove_last(process: int) -> None:
        """Removes the dump that Valgrind wrote at the end of a process."""
        if DUMPS in os.environ:
            Path(f"{os.environ[DUMPS]}.{process}").unlink(missing_ok=True)


def totals(dump: Path) -> dict[str, int]:
    """Returns a dump's counts in all, by callgrind's name of the event: those of its summary, as
    the sums of functions have up to 20,000 instructions more in the first dump of some code."""
    events: list[str] = []
    with dump.open("rb") as file:
        for line in file:
            if line.startswith(b"events:"):
                events = line.decode("ascii").split()[1:]
            elif line.startswith(b"summary:"):
                counts = [int(word) for word in line.split()[1:]]
                # Trailing zeros are omitted.
                counts += [0] * (len(events) - len(counts))
                return dict(zip(events, counts, strict=True))
    raise ProfilerError(f"callgrind's {dump.name} has no summary: it was cut short")


CODE = {
    # mov rax, rdi; xor edx, edx; rol rdi, 3; rol rdi, 13; rol rdi, 61; rol rdi, 51; xchg rbx, rbx;
    # mov rax, rdx; ret
    "x86_64": "4889f831d248c1c70348c1c70d48c1c73d48c1c7334887db4889d0c3",
    # mov x4, x0; mov x3, 0; ror x12, x12, 3; ... 13; ... 51; ... 61; orr x10, x10, x10;
    # mov x0, x3; ret
    "aarch64": "e40300aa030080d28c0dcc938c35cc938ccdcc938cf5cc934a010aaae00303aac0035fd6",
}
"""Functions that make the request at the address of their argument, and return its answer, by the
processor's architecture: the sequence of valgrind.h, and its registers."""

WORDS = 6
"""Words of a request: its number, and up to five arguments."""

RUNNING_ON_VALGRIND = 0x1001
BASE = (ord("C") << 24) + (ord("T") << 16)
"""First number of callgrind's own requests, in the order of callgrind.h."""
ZERO_STATS, TOGGLE_COLLECT, DUMP_STATS_AT = BASE + 1, BASE + 2, BASE + 3
START_INSTRUMENTATION, STOP_INSTRUMENTATION = BASE + 4, BASE + 5


class Requests:
    """Client requests (valgrind.h), by which a program controls the callgrind that it runs under:
    sequences of instructions that change nothing elsewhere, and always take the same few. Written
    into executable memory, they need neither a compiler nor headers. Raises `UnsupportedError` in a
    process that was not started under Valgrind, and for an architecture that is not known here."""

    def __init__(self) -> None:
        code = CODE.get(platform.machine())
        if DUMPS not in os.environ:
            raise UnsupportedError(
                "instructions are counted in workers alone, which opperf starts under Valgrind: "
                "use `opperf run --profiler instructions`"
            )
        if code is None:
            raise UnsupportedError(
                f"instructions are counted on {' and '.join(CODE)}, not on {platform.machine()}"
            )
        self._page = mmap.mmap(
            -1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        )
        self._page.write(bytes.fromhex(code))
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._page))
        self._call = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(address)
        self._kept: list[object] = []
        if not self._request(RUNNING_ON_VALGRIND)():
            raise UnsupportedError(f"{DUMPS} is set, but this process is not run by Valgrind")
        self._description = ctypes.create_string_buffer(256)
        self.zero = self._request(ZERO_STATS)
        self.toggle = self._request(TOGGLE_COLLECT)
        """Begins or ends to add to the counts, on this thread."""
        self.start = self._request(START_INSTRUMENTATION)
        """Begins to instrument, on all threads."""
        self.stop = self._request(STOP_INSTRUMENTATION)
        """Ends to instrument, which empties the model of the caches."""
        self.dump = self._request(DUMP_STATS_AT, ctypes.addressof(self._description))
        """Writes the counts to the next dump, with the description, and sets them to zero."""

    def describe(self, text: str) -> None:
        """Sets the description of the next dumps: at most 255 characters of ASCII."""
        self._description.value = text.encode("ascii")

    def _request(self, number: int, *arguments: int) -> Callable[[], int]:
        words = (ctypes.c_uint64 * WORDS)(number, *arguments)
        self._kept.append(words)
        # Not a function of Python's, whose instructions would be counted.
        return partial(self._call, ctypes.c_void_p(ctypes.addressof(words)))


Phase = Callable[[], object]

EXECUTED = "Ir"

SETTLING_CALLS, SETTLING_S = 100, 0.5
"""Calls before the first that is counted, and the limit on their seconds: allocators adapt their
lists in the first dozens of calls, and Python its code: a call of 4,300 instructions lost 190, of
looking up an attribute, at its 84th."""

SAMPLES, SINGLE_SAMPLES = 3, 9
"""Samples of a phase: the fewest with a median and a deviation, of several calls or of one each."""


class Effort(NamedTuple):
    """How many calls of a phase are counted: by its instructions, and not by their time, which load
    changes, unless that is very long."""

    most: float
    """Instructions of the largest phase that this is for."""
    loops: int
    """Calls of a sample, where several can be counted together: what alternates between two calls,
    such as the address of a result, is then a part of it."""
    samples: int
    """Samples of several calls, or as many as `singles` of one."""
    singles: int
    unused: int
    """Samples that are not used: the first of a short backward pass had up to 0.6 % more."""


EFFORTS = (
    Effort(2e6, 10, SAMPLES, SINGLE_SAMPLES, 1),
    Effort(25e6, 2, SAMPLES, SAMPLES, 0),
    Effort(250e6, 1, SAMPLES, SAMPLES, 0),
    Effort(math.inf, 1, 1, 1, 0),
)
"""By size, so that up to 250 million instructions of a call at most 750 million are counted."""

LONGEST_S = 30.0
"""Limit on the CPU time of a phase's samples, such as products of matrices, whose instructions
Valgrind computes by functions: a longer one has one sample of one call."""


def choose_effort(instructions: float, call_s: float) -> Effort:
    """Returns how many calls to count of a phase, one of which took `call_s` of CPU time."""
    effort = next(level for level in EFFORTS if instructions <= level.most)
    calls = effort.loops * (effort.samples + effort.unused)
    return effort if calls * call_s <= LONGEST_S else EFFORTS[-1]


class Counts(NamedTuple):
    """The counts of a phase."""

    samples: dict[str, list[float]]
    """Mean counts of a call in each sample, by event, without those of the empty call."""
    empty: float
    """Instructions of an empty call and its loop, in each call of the dumps."""
    loops: int
    dump: Path
    """That of the sample with the median count."""


def keep_dump(dump: Path, path: Path | None) -> None:
    """Moves a dump to another path, whose folder is created, or removes it."""
    if path is None:
        dump.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(dump, path)


class Counter:
    """Counts the instructions of phases; `synchronize` waits until the device has done their work.
    What it counts of empty phases, forks have too. Raises `UnsupportedError` as `Requests` does."""

    def __init__(self, synchronize: Phase) -> None:
        self._requests, self._dumps = Requests(), Dumps()
        self._synchronize = synchronize
        # What is imported stays, and no search for garbage falls into a call.
        gc.freeze()
        gc.disable()
        self._requests.start()
        self._empty = {
            (loops, has_before): self._empty_counts(loops, has_before)
            for loops in {effort.loops for effort in EFFORTS}
            for has_before in (False, True)
        }
        """Counts of an empty phase, by the calls of its sample and whether another is before."""
        self.pause()

    def pause(self) -> None:
        """Ends to instrument, so that what the process does next takes its usual time."""
        self._requests.stop()

    def count(
        self,
        passes: Sequence[Sequence[Phase]],
        warmup: int | None = None,
        samples: int | None = None,
        on_calling_thread: bool = True,
    ) -> list[Counts]:
        """Counts the last phase of each of some passes. `warmup` is the number of calls before,
        `samples` that of counted ones; None for as many as needed. `on_calling_thread` is whether
        no work is done on other threads."""
        # Of the case before, if that was in this process.
        gc.collect()
        for phases in passes:
            self._settle(phases, SETTLING_CALLS if warmup is None else warmup)
        self._requests.start()
        return [
            self._count(phases, samples, len(phases) == 1 or on_calling_thread) for phases in passes
        ]

    def _count(self, phases: Sequence[Phase], samples: int | None, together: bool) -> Counts:
        *before, last = phases
        effort = self._effort(Loop(before, last, self._synchronize, 1))
        loops = effort.loops if together and samples is None else 1
        wanted = samples or (effort.samples if loops > 1 else effort.singles)
        loop = Loop(before, last, self._synchronize, loops)
        empty = self._empty[loops, bool(before)]
        self._requests.describe(f"opperf calls={loops} overhead={empty[EXECUTED] * loops:.0f}")
        for _ in range(effort.unused if loops > 1 else 0):
            self._sample(loop).unlink()
        found = [self._sample(loop) for _ in range(wanted)]
        counted = [totals(dump) for dump in found]
        order = sorted(range(wanted), key=lambda number: counted[number][EXECUTED])
        # The first has more in the sums of its functions: see `totals`.
        later = [number for number in order if number] or order
        middle = found.pop(later[len(later) // 2])
        for dump in found:
            dump.unlink()
        return Counts(
            {
                event: [max(0.0, counts[event] / loops - empty[event]) for counts in counted]
                for event in empty
            },
            empty[EXECUTED],
            loops,
            middle,
        )

    def _settle(self, phases: Sequence[Phase], calls: int) -> None:
        begun = time.perf_counter()
        for _ in range(calls):
            for phase in phases:
                phase()
            self._synchronize()
            if time.perf_counter() - begun > SETTLING_S:
                break

    def _effort(self, single: Loop) -> Effort:
        """Makes two instrumented calls, the first to be translated; how many more are needed."""
        single.run_last(_nothing, _nothing)
        begun = time.process_time()
        dump = self._sample(single)
        call_s = time.process_time() - begun
        instructions = totals(dump)[EXECUTED]
        dump.unlink()
        return choose_effort(instructions, call_s)

    def _sample(self, loop: Loop) -> Path:
        requests = self._requests
        if not loop.before:
            loop.run(requests.zero, requests.dump)
        elif loop.calls == 1:
            loop.run_last(requests.zero, requests.dump)
        else:
            loop.run_parts(requests.zero, requests.toggle, requests.dump)
        return self._dumps.next()

    def _empty_counts(self, calls: int, has_before: bool) -> dict[str, float]:
        loop = Loop([_nothing] if has_before else [], _nothing, self._synchronize, calls)
        loop.adapt()
        found = []
        for _ in range(SAMPLES):
            dump = self._sample(loop)
            found.append(totals(dump))
            dump.unlink()
        return {event: median(counts[event] for counts in found) / calls for event in found[0]}


class Loop(NamedTuple):
    """Calls of a phase, each with others before it. Each way to run them takes the same
    instructions for every phase but the phase's own."""

    before: Sequence[Phase]
    last: Phase
    synchronize: Phase
    calls: int

    def run(self, zero: Phase, dump: Phase) -> None:
        """Counts all calls together."""
        phase, synchronize, numbers = self.last, self.synchronize, range(self.calls)
        zero()
        for _ in numbers:
            # The previous result is freed meanwhile, like in a user's loop.
            result = phase()
        synchronize()
        dump()
        del result

    def run_last(self, zero: Phase, dump: Phase) -> None:
        """Counts one call, without those before it, on all threads."""
        phase, synchronize = self.last, self.synchronize
        for step in self.before:
            step()
        synchronize()
        zero()
        result = phase()
        synchronize()
        dump()
        del result

    def run_parts(self, zero: Phase, toggle: Phase, dump: Phase) -> None:
        """Counts all calls together, without those before them, on this thread."""
        phase, before = self.last, self.before
        zero()
        toggle()
        for _ in range(self.calls):
            for step in before:
                step()
            toggle()
            result = phase()
            toggle()
            del result
        toggle()
        dump()

    def adapt(self) -> None:
        """Has Python adapt the code of this class, which it does in the first calls."""
        for _ in range(SETTLING_CALLS):
            self.run(_nothing, _nothing)
            self.run_last(_nothing, _nothing)
            self.run_parts(_nothing, _nothing, _nothing)


def _nothing() -> None:
    """An empty phase."""
