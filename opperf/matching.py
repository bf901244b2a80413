"""Regular expressions that users give: a search may take a second of the processor, and no more.

Python's `re` goes through all ways to match, of which `(a+)+$` has 2**n in a text of n characters.
No look at the pattern finds all that are slow and only those, so it is the time that is bounded.
"""

from __future__ import annotations

import atexit
import json
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType

from opperf.errors import UsageError, one_line

MOST_S = 1.0
"""Seconds of the processor that a search may take: a usual one takes microseconds."""

LONGEST_SHOWN = 60
"""Characters of the text that a message has."""


class SlowPatternError(UsageError):
    """A search for a regular expression that takes more than `MOST_S`."""


class _TimeUpError(Exception):
    pass


class BoundedPattern:
    """A compiled regular expression, whose searches are bounded in time.

    The bound is a timer of this process, whose signal only the main thread can take. For another
    thread a process of its own tries the search first.
    """

    def __init__(self, compiled: re.Pattern[str]) -> None:
        self.compiled = compiled

    def search(self, text: str) -> re.Match[str] | None:
        """Returns the first match in a text. Raises `SlowPatternError`."""
        try:
            if threading.current_thread() is threading.main_thread():
                return _search(self.compiled, text, MOST_S)
            if not TRIER.ends(self.compiled, text, MOST_S):
                raise _TimeUpError
        except _TimeUpError:
            raise SlowPatternError(
                f"the regular expression {one_line(self.compiled.pattern, LONGEST_SHOWN)!r} takes "
                f"more than {MOST_S:g} s to search {one_line(text, LONGEST_SHOWN)!r}; do not "
                "repeat what is repeated, like (a+)+"
            ) from None
        return self.compiled.search(text)


def _search(compiled: re.Pattern[str], text: str, most: float) -> re.Match[str] | None:
    """Returns the first match, in the main thread. Raises `_TimeUpError`."""
    # Of the processor's time, so that a loaded machine refuses no more than an idle one.
    handler = signal.signal(signal.SIGVTALRM, _stop)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, most)
        try:
            return compiled.search(text)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    finally:
        signal.signal(signal.SIGVTALRM, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    raise _TimeUpError


class _Trier:
    """Tries searches in the main thread of another process, which is started for the first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def ends(self, compiled: re.Pattern[str], text: str, most: float) -> bool:
        """Whether a search ends in so many seconds of the processor."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._process = self._start()
            assert self._process.stdin is not None and self._process.stdout is not None
            asked = json.dumps((compiled.pattern, compiled.flags, text, most))
            self._process.stdin.write(f"{asked}\n")
            self._process.stdin.flush()
            return self._process.stdout.readline() == ENDS

    def _start(self) -> subprocess.Popen[str]:
        # Not as a module: the working directory may have files of the names of Python's modules.
        folder = str(Path(__file__).resolve().parents[1])
        code = (
            f"import sys; sys.path[0] = {folder!r}; import opperf.matching as m; m.try_searches()"
        )
        pipe = subprocess.PIPE
        process = subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True)
        # It ends with its input.
        atexit.register(process.communicate)
        return process


TRIER = _Trier()

ENDS = "ends\n"
"""Answer of the process to a search that ends."""


def try_searches() -> None:
    """Answers the searches that standard input has, each in a line of JSON."""
    for line in sys.stdin:
        pattern, flags, text, most = json.loads(line)
        try:
            _search(re.compile(pattern, flags), text, most)
            answer = ENDS
        except _TimeUpError:
            answer = "\n"
        sys.stdout.write(answer)
        sys.stdout.flush()
