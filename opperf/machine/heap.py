"""The C library's heap: keeps freed memory, so that outputs cause no page faults."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator, Mapping

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
M_PERTURB = -6
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

FILLS = (0x41, 0xC5)
"""Bytes that new blocks are filled with. As floating-point numbers they are far apart, in every
dtype: 12 and -6000 in single precision, 3 and -6 in half."""


@contextlib.contextmanager
def filled_blocks(number: int) -> Iterator[None]:
    """Has glibc fill new blocks with one of `FILLS`, by its number, so that a result that is not
    written is another one with another number."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt"):
        yield
        return
    # It fills with the complement.
    library.mallopt(M_PERTURB, 0xFF ^ FILLS[number])
    try:
        yield
    finally:
        library.mallopt(M_PERTURB, 0)


Wanted = tuple[Mapping[int, int], str]
"""Parameters of mallopt, none for a heap that has no settings, and their description."""

KEEPING: Wanted = (
    {M_MMAP_THRESHOLD: MMAP_BYTES, M_TRIM_THRESHOLD: TRIM_BYTES},
    f"glibc, keeps {TRIM_BYTES >> 20} MiB of freed memory",
)
"""For frameworks whose threads allocate in parallel."""

KEEPING_ONE: Wanted = (
    {**KEEPING[0], M_ARENA_MAX: ARENAS},
    f"glibc, {ARENAS} arena, keeps {TRIM_BYTES >> 20} MiB of freed memory",
)

OWN_ALLOCATOR: Wanted = {}, "opperf's, where a call always takes the same instructions"
"""For a process that counts instructions."""

MAPPED: Wanted = {M_MMAP_THRESHOLD: 1024}, "glibc, maps blocks of 1 KiB"
"""The same where that could not be built: smaller blocks are cached for each thread, and blocks of
this size are mapped. The heap's search for a free block, which depends on all that was allocated
before, then takes part in few calls."""


_configured: list[str] = []


def configure_heap(wanted: Wanted) -> str:
    """Configures this process's heap, the first time that it is called, before a framework starts
    its threads, and returns a description. By default glibc first maps each large output anew, so
    that an operator's time would depend on what ran before: over 1024 x 1024 floats, page faults
    take ten times as long as relu. Other C libraries are left as they are."""
    # glibc reads the number of heaps once.
    if not _configured:
        _configured.append(_configure(*wanted))
    return _configured[0]


def _configure(parameters: Mapping[int, int], description: str) -> str:
    if not parameters:
        return description
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return "as the system has it"
    if not all(mallopt(parameter, value) for parameter, value in parameters.items()):
        return "glibc defaults"
    return description
