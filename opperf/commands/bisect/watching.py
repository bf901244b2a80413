"""Shows progress while a commit is measured: on a terminal the line of every measurement;
elsewhere, where each line stays, none of a step that is quick."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from opperf.commands.ab.request import Watch, Work
from opperf.execution.progress import PLAIN_EVERY_S, Live, Pace, Progress
from opperf.model import Record
from opperf.repository import SHORT


def watch_of(commit: str) -> Watch:
    """Returns what shows the progress of a commit, by its hash."""

    def watch(total: int, pace: Pace | None, work: Work) -> Progress:
        if not total:
            return Progress()
        short, pace = commit[:SHORT], pace or Pace(total)
        if sys.stderr.isatty():
            return Live(sys.stderr, total, pace, f"{short} ")
        return SlowSteps(sys.stderr, f"{short}: {work.name}", work.visits, pace)

    return watch


class SlowSteps(Progress):
    """Prints a line once the one before, or the beginning, is some seconds old. `visits` are those
    of a process."""

    def __init__(
        self,
        stream: TextIO,
        heading: str,
        visits: int,
        pace: Pace,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream, self._heading, self._visits = stream, heading, visits
        self._pace, self._clock = pace, clock
        self._last = clock()

    def extend(self, number: int) -> None:
        self._pace.extend(number)

    def end(self, record: Record) -> None:
        pace, now = self._pace, self._clock()
        pace.end(record)
        if now - self._last < PLAIN_EVERY_S:
            return
        self._last = now
        done, total = (-(-number // self._visits) for number in (pace.done, pace.total))
        line = f"{self._heading} {done} of {total}, {record.case.label}, {pace.text()}"
        print(line, file=self._stream, flush=True)
