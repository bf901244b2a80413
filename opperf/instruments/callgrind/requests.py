"""Client requests, by which a program controls the callgrind that it runs under.

A request is a sequence of instructions that changes nothing outside of Valgrind, which replaces it
(valgrind.h). It is written into executable memory here and called there: that takes neither a
compiler nor Valgrind's headers, and any Python can do it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
from collections.abc import Callable
from functools import partial

from opperf.errors import UnsupportedError
from opperf.instruments.callgrind.dumps import DUMPS

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
    """Makes requests; each of these methods takes the same few instructions every time.

    Raises `UnsupportedError` in a process that was not started to run under Valgrind, and on an
    architecture whose sequence is not known here.
    """

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
        """Sets all counts to zero."""
        self.toggle = self._request(TOGGLE_COLLECT)
        """Begins or ends to add to the counts, on this thread."""
        self.start = self._request(START_INSTRUMENTATION)
        """Begins to instrument, on all threads."""
        self.stop = self._request(STOP_INSTRUMENTATION)
        """Ends to instrument, which empties the model of the caches."""
        self.dump = self._request(DUMP_STATS_AT, ctypes.addressof(self._description))
        """Writes the counts to the next dump, with the text of `describe`, and sets them to
        zero."""

    def describe(self, text: str) -> None:
        """Sets the description of the next dumps: at most 255 characters of ASCII."""
        self._description.value = text.encode("ascii")

    def _request(self, number: int, *arguments: int) -> Callable[[], int]:
        words = (ctypes.c_uint64 * WORDS)(number, *arguments)
        self._kept.append(words)
        # Not a function of Python's, whose instructions would be counted.
        return partial(self._call, ctypes.c_void_p(ctypes.addressof(words)))
