"""Progress of a run: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from typing import Protocol, TextIO

from opperf.execution.time_left import Pace
from opperf.model import Case, Record, Status
from opperf.results.messages import wrap_message

PLAIN_EVERY_S = 10.0
"""Seconds between two plain lines: the log of a quarter of an hour stays under 100 lines."""


NAME_WIDTH = 28
"""Columns of the operator's name on the live line: fixed, so that the bar does not shift."""


class Progress(Protocol):
    """Called before and after every case."""

    def __enter__(self) -> Progress: ...

    def __exit__(self, *error: object) -> None: ...

    def extend(self, number: int) -> None: ...

    def begin(self, case: Case) -> None: ...

    def end(self, record: Record) -> None: ...


class Quiet:
    """Prints nothing."""

    def __enter__(self) -> Quiet:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def extend(self, number: int) -> None:
        """Called when more cases follow than planned."""

    def begin(self, case: Case) -> None:
        """Called before a case."""

    def end(self, record: Record) -> None:
        """Called after a case."""


class Plain(Quiet):
    """Prints a line every few seconds, for logs: done, total, operator, elapsed and remaining time.

    The first case, the last one and every case that is not ok have a line of their own.
    """

    def __init__(self, stream: TextIO, total: int, pace: Pace | None = None) -> None:
        self._stream, self._pace = stream, pace or Pace(total)
        self._last = -PLAIN_EVERY_S

    def extend(self, number: int) -> None:
        """Called when more cases follow than planned."""
        self._pace.extend(number)

    def end(self, record: Record) -> None:
        """Called after a case."""
        pace, now = self._pace, time.monotonic()
        pace.end(record)
        notable = pace.done == pace.total or record.status is not Status.OK
        if not notable and now - self._last < PLAIN_EVERY_S:
            return
        self._last = now
        reason = f" ({record.status.value}: {record.reason})" if record.reason else ""
        print(
            f"{pace.done}/{pace.total} {record.case.label}{reason}, {pace.text()}",
            file=self._stream,
            flush=True,
        )


class Live:
    """Updates one line on a terminal."""

    def __init__(self, stream: TextIO, total: int, pace: Pace | None = None) -> None:
        # The import takes some 50 ms, and only a terminal needs it.
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress
        from rich.table import Column

        self._console = Console(file=stream)
        self._bar = RichProgress(
            TextColumn("{task.description}", table_column=Column(width=NAME_WIDTH, no_wrap=True)),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[times]}"),
            console=self._console,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=total, times="")
        self._pace = pace or Pace(total)

    def __enter__(self) -> Live:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def extend(self, number: int) -> None:
        """Called when more cases follow than planned."""
        self._pace.extend(number)
        self._bar.update(self._task, total=self._pace.total)

    def begin(self, case: Case) -> None:
        """Called before a case."""
        self._bar.update(self._task, description=case.label)

    def end(self, record: Record) -> None:
        """Called after a case."""
        self._pace.end(record)
        self._bar.update(self._task, advance=1, times=self._pace.text())
        if record.status in (Status.FAILED, Status.CRASHED, Status.TIMEOUT):
            said = f"{record.case.label}: {record.status.value}: {record.reason}"
            lines = wrap_message(said, self._console.width)
            self._console.print(lines, markup=False, soft_wrap=True)


def make_progress(stream: TextIO, total: int, quiet: bool, pace: Pace | None = None) -> Progress:
    """Returns the progress that suits the stream. `pace` says what is left; without it, cases are
    expected to take the same time each."""
    if quiet or total == 0:
        return Quiet()
    return Live(stream, total, pace) if stream.isatty() else Plain(stream, total, pace)
