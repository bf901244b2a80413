"""Progress of a run: a live line on a terminal, plain lines elsewhere; and the time that is left,
by the pace of what was just measured here."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from opperf.execution.paces import OUTLYING
from opperf.model import Case, Record, Status
from opperf.results.messages import wrap_message
from opperf.results.text import duration

PLAIN_EVERY_S = 10.0
"""Seconds between two plain lines: the log of a quarter of an hour stays under 100 lines."""


NAME_WIDTH = 28
"""Columns of the operator's name on the live line: fixed, so that the bar does not shift."""


MEMORY = 0.05
"""Share of a run's expected time after which what was measured before counts half. A machine that
becomes busy shows in what is said to be left within a tenth of the run."""

LEAST_CASES = 4
"""Cases, of average length, that the memory spans at least: cases differ more than machines."""


class Pace:
    """How many cases are done, and what those that are left take. `cost_s` returns the expected
    seconds of a case, and `total_s` are those of all; only their ratios count. `later_s` are the
    expected seconds of what follows. `starts` is whether a process's start is a part of a case's
    time."""

    def __init__(
        self,
        total: int,
        total_s: float = 0.0,
        cost_s: Callable[[Case], float] | None = None,
        later_s: float = 0.0,
        starts: bool = False,
    ) -> None:
        self.total, self.done = total, 0
        self._cost_s = cost_s or (lambda case: 1.0)
        self._expected_s = total_s if cost_s else float(total)
        self._later_s, self._starts = later_s, starts
        self._done_s = 0.0
        """Expected seconds of the cases that are done."""
        self._taken_s = self._counted_s = 0.0
        """Seconds that cases took, and that they were expected to take, the latest ones most."""
        self._was_outlying = False
        """Whether the last case took much longer than the others."""
        self._begun = self._last = time.monotonic()

    @property
    def _mean_s(self) -> float:
        return self._expected_s / max(1, self.total)

    def extend(self, number: int) -> None:
        """Adds cases that take no longer than others."""
        self._expected_s += number * self._mean_s
        self.total += number

    def end(self, record: Record) -> None:
        """Counts a case that ended."""
        now, cost_s = time.monotonic(), self._cost_s(record.case)
        taken_s = now - self._last
        if not self.done and not self._starts and record.wall_s:
            # A worker's start, which for a counting one takes half a minute, is no case's.
            taken_s = min(taken_s, record.wall_s)
        if self.done >= LEAST_CASES and self._counted_s:
            longest_s = OUTLYING * cost_s * self._taken_s / self._counted_s
            is_outlying = taken_s > longest_s
            # A stall says nothing of other cases; two long ones in a row are a slower machine.
            taken_s = longest_s if is_outlying and not self._was_outlying else taken_s
            self._was_outlying = is_outlying
        self.done += 1
        self._last = now
        span_s = max(MEMORY * self._expected_s, LEAST_CASES * self._mean_s)
        kept = 0.5 ** (cost_s / span_s) if span_s else 1.0
        self._taken_s = kept * self._taken_s + taken_s
        self._counted_s = kept * self._counted_s + cost_s
        self._done_s += cost_s

    def left_s(self) -> float:
        if not self._counted_s:
            return 0.0
        left_s = max(0.0, self._expected_s - self._done_s) if self.done < self.total else 0.0
        return (left_s + self._later_s) * self._taken_s / self._counted_s

    def text(self) -> str:
        elapsed = f"{duration(time.monotonic() - self._begun)} elapsed"
        if self.done == self.total and not self._later_s:
            return elapsed
        return f"{elapsed}, about {duration(self.left_s())} left"


class Progress:
    """Called before and after every case, with the number of further ones; prints nothing."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def extend(self, number: int) -> None:
        pass

    def begin(self, case: Case) -> None:
        pass

    def end(self, record: Record) -> None:
        pass


class Plain(Progress):
    """Prints a line every few seconds, for logs. The first case, the last one and every case that
    is not ok have a line of their own."""

    def __init__(
        self, stream: TextIO, total: int, pace: Pace | None = None, title: str = ""
    ) -> None:
        self._stream, self._pace, self._title = stream, pace or Pace(total), title
        self._last = -PLAIN_EVERY_S

    def extend(self, number: int) -> None:
        self._pace.extend(number)

    def end(self, record: Record) -> None:
        pace, now = self._pace, time.monotonic()
        pace.end(record)
        notable = pace.done == pace.total or record.status is not Status.OK
        if not notable and now - self._last < PLAIN_EVERY_S:
            return
        self._last = now
        reason = f" ({record.status.value}: {record.reason})" if record.reason else ""
        line = f"{self._title}{pace.done}/{pace.total} {record.case.label}{reason}, {pace.text()}"
        print(line, file=self._stream, flush=True)


class Live(Progress):
    """Updates one line on a terminal, which begins with the title."""

    def __init__(
        self, stream: TextIO, total: int, pace: Pace | None = None, title: str = ""
    ) -> None:
        # The import takes some 50 ms, and only a terminal needs it.
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress
        from rich.table import Column

        self._console = Console(file=stream, force_terminal=True)
        self._bar = RichProgress(
            TextColumn("{task.description}", table_column=Column(width=NAME_WIDTH, no_wrap=True)),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[times]}"),
            console=self._console,
            transient=True,
            # What is no terminal keeps all that is written.
            auto_refresh=stream.isatty(),
        )
        self._title = title
        self._task = self._bar.add_task(f"{title}starting", total=total, times="")
        self._pace = pace or Pace(total)

    def __enter__(self) -> Live:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def extend(self, number: int) -> None:
        self._pace.extend(number)
        self._bar.update(self._task, total=self._pace.total)

    def begin(self, case: Case) -> None:
        self._bar.update(self._task, description=f"{self._title}{case.label}", refresh=True)

    def end(self, record: Record) -> None:
        self._pace.end(record)
        self._bar.update(self._task, advance=1, times=self._pace.text(), refresh=True)
        if record.status.is_failure:
            said = f"{record.case.label}: {record.status.value}: {record.reason}"
            lines = wrap_message(said, self._console.width)
            self._console.print(lines, markup=False, soft_wrap=True)


def make_progress(
    stream: TextIO,
    total: int,
    quiet: bool,
    pace: Pace | None = None,
    bar: bool = False,
    title: str = "",
) -> Progress:
    """Returns the progress that suits the stream, or a `bar`, whose lines begin with `title`."""
    if quiet or total == 0:
        return Progress()
    shown = Live if bar or stream.isatty() else Plain
    return shown(stream, total, pace, title)
