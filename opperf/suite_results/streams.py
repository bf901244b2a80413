"""Streams of programs as files: a JSON line for each event, of which each stands alone.

A process may be killed in the middle of a line, a disk may be full, and a program may print into
its stream: such a line costs itself alone, and is named.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from opperf.errors import RunFileError
from opperf.plurals import pluralize
from opperf.programs.events import Event
from opperf.programs.streams import decode_event
from opperf.reading import first_line, lines_of

MOST_NAMED = 3
"""Lines of a file that are named; of a file that is none, each would be."""


class Stream(NamedTuple):
    """A file of events."""

    path: Path
    events: tuple[Event, ...]
    faults: tuple[str, ...] = ()
    """A sentence on each line that is no event, and on what is missing at the end."""

    @property
    def name(self) -> str:
        """Name of the process: the file's, without its extension."""
        return self.path.stem


def read_stream(path: Path) -> Stream:
    """Returns the events of a file, and the faults of its lines. Raises `RunFileError` for a file
    that cannot be read."""
    events, bad, torn = [], [], False
    try:
        for number, line in enumerate(lines_of(path), start=1):
            event = decode_event(line)
            if event is not None:
                events.append(event)
            elif not line.endswith(b"\n"):
                torn = bool(line.strip())
            elif line.strip():
                bad.append(number)
    except OSError as error:
        raise RunFileError(f"{path} cannot be read: {error.strerror}") from error
    faults = _named(path, bad)
    if torn:
        faults.append(f"{path}: the last line was cut short and is ignored")
    return Stream(path, tuple(events), tuple(faults))


def _named(path: Path, numbers: list[int]) -> list[str]:
    faults = [f"{path}:{number}: no event, and ignored" for number in numbers[:MOST_NAMED]]
    more = len(numbers) - MOST_NAMED
    if more > 0:
        faults.append(f"{path}: {pluralize(more, 'more line')} without an event ignored")
    return faults


def is_stream(path: Path) -> bool:
    """Returns whether the first line of a file is an event."""
    try:
        return decode_event(first_line(path)) is not None
    except OSError:
        return False
