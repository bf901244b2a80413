"""What a user sees while cases run: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from typing import Protocol, TextIO

from opperf.model import Case, Record, Status
from opperf.results.text import duration

PLAIN_EVERY_S = 10.0
"""Seconds between two plain lines: a log of a quarter of an hour stays under 100 lines."""


NAME_WIDTH = 28
"""Columns for the operator's name on the live line: fixed, so that the bar does not shift."""


class Progress(Protocol):
    """Told of every case before and after it is measured."""

    def __enter__(self) -> Progress: ...

    def __exit__(self, *error: object) -> None: ...

    def begin(self, case: Case) -> None: ...

    def end(self, record: Record) -> None: ...


class Quiet:
    """Says nothing."""

    def __enter__(self) -> Quiet:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def begin(self, case: Case) -> None:
        """A case starts."""

    def end(self, record: Record) -> None:
        """A case has ended."""


def time_text(begun: float, done: int, total: int) -> str:
    """The time that has passed, and how long the rest takes if it is as slow as what is done.
    Cases differ a thousandfold, so that the last few say little."""
    elapsed = time.monotonic() - begun
    left = duration(elapsed / done * (total - done))
    return f"{duration(elapsed)} elapsed, about {left} left"


class Plain(Quiet):
    """A line now and then, for logs: done, total, operator, elapsed, estimated time left.

    The first case, the last one and every case that is not ok have a line of their own.
    """

    def __init__(self, stream: TextIO, total: int) -> None:
        self._stream, self._total, self._done = stream, total, 0
        self._begun = time.monotonic()
        self._last = -PLAIN_EVERY_S

    def end(self, record: Record) -> None:
        """A case has ended."""
        self._done += 1
        now = time.monotonic()
        notable = self._done == self._total or record.status is not Status.OK
        if not notable and now - self._last < PLAIN_EVERY_S:
            return
        self._last = now
        reason = f" ({record.status.value}: {record.reason})" if record.reason else ""
        print(
            f"{self._done}/{self._total} {record.case.label}{reason}, "
            f"{time_text(self._begun, self._done, self._total)}",
            file=self._stream,
            flush=True,
        )


class Live:
    """One line on a terminal that is kept up to date."""

    def __init__(self, stream: TextIO, total: int) -> None:
        # Costs some 50 ms to import, and only a terminal shows it.
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
        self._total, self._done = total, 0
        self._begun = time.monotonic()

    def __enter__(self) -> Live:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def begin(self, case: Case) -> None:
        """A case starts."""
        self._bar.update(self._task, description=case.label)

    def end(self, record: Record) -> None:
        """A case has ended."""
        self._done += 1
        self._bar.update(
            self._task, advance=1, times=time_text(self._begun, self._done, self._total)
        )
        if record.status in (Status.FAILED, Status.CRASHED, Status.TIMEOUT):
            self._console.print(
                f"{record.case.label}: {record.status.value}: {record.reason}", markup=False
            )


def make_progress(stream: TextIO, total: int, quiet: bool) -> Progress:
    """The progress that fits where it is shown."""
    if quiet or total == 0:
        return Quiet()
    return Live(stream, total) if stream.isatty() else Plain(stream, total)
