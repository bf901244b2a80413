"""Programs that a run's cases are profiled under, each in a process of its own."""

from __future__ import annotations

from opperf.model.base import Struct

BATCH_SIZE = 50
"""Cases of one process, by PARAM's default: a framework's import, of seconds, is then a small part
of what they take under a profiler."""


class Wrapper(Struct, frozen=True):
    """A program that profiles the process which it runs."""

    name: str
    """Key in the table of programs: `ncu`, `nsys`, `perf stat`, or the name of any other one."""
    words: tuple[str, ...]
    """The program and the user's arguments."""
    warmup: int
    """Calls of each pass before those that are profiled."""
    runs: int | None
    """Profiled calls of each pass; None for as many as take a tenth of a second."""


class Wrapping(Struct, frozen=True):
    """Profiling of a run's cases under other programs."""

    wrappers: tuple[Wrapper, ...]
    batch_size: int = BATCH_SIZE
    """Largest number of cases of one process."""
    cuda_device: int | None = None
    """The only GPU that the process sees, by CUDA's index; None for those of the cases."""
