"""Regular expressions that users give: a search may take a second of the processor, and no more.

Python's `re` goes through all ways to match, of which `(a+)+$` has 2**n in a text of n characters.
No look at the pattern finds all that are slow and only those, so it is the time that is bounded.
"""

from __future__ import annotations

import re
import signal
import threading
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

    The bound is a timer of this process, whose signal only the main thread can take: in another
    thread there is none.
    """

    def __init__(self, compiled: re.Pattern[str]) -> None:
        self.compiled = compiled

    def search(self, text: str) -> re.Match[str] | None:
        """Returns the first match in a text. Raises `SlowPatternError`."""
        if threading.current_thread() is not threading.main_thread():
            return self.compiled.search(text)
        # Of the processor's time, so that a loaded machine refuses no more than an idle one.
        handler = signal.signal(signal.SIGVTALRM, _stop)
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, MOST_S)
            try:
                return self.compiled.search(text)
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        except _TimeUpError:
            raise SlowPatternError(
                f"the regular expression {one_line(self.compiled.pattern, LONGEST_SHOWN)!r} takes "
                f"more than {MOST_S:g} s to search {one_line(text, LONGEST_SHOWN)!r}; do not "
                "repeat what is repeated, like (a+)+"
            ) from None
        finally:
            signal.signal(signal.SIGVTALRM, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    raise _TimeUpError
