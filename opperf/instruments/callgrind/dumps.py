"""Callgrind's dumps: the counts that each has in all, and where they lie."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from opperf.errors import ProfilerError

DUMPS = "OPPERF_CALLGRIND_DUMPS"
"""Environment variable with the path of the dumps, to which Valgrind adds the process's id and the
dump's number."""


class Dumps:
    """The dumps of this process. The first is number 1, in a fork too."""

    def __init__(self) -> None:
        self._process, self._count = os.getpid(), 0

    def next(self) -> Path:
        """Returns the path of a dump that was just written. Raises `ProfilerError` if there is
        none."""
        if self._process != os.getpid():
            self._process, self._count = os.getpid(), 0
        self._count += 1
        path = Path(f"{os.environ[DUMPS]}.{self._process}.{self._count}")
        if not path.is_file():
            raise ProfilerError(f"callgrind wrote no {path.name}: is the disk full?")
        return path

    @staticmethod
    def remove_last(process: int) -> None:
        """Removes the dump that Valgrind wrote at the end of a process, by its id."""
        if DUMPS in os.environ:
            Path(f"{os.environ[DUMPS]}.{process}").unlink(missing_ok=True)

    def keep(self, dump: Path, path: Path) -> None:
        """Moves a dump to another path, whose folder is created."""
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(dump, path)


def totals(dump: Path) -> dict[str, int]:
    """Returns a dump's counts in all, by callgrind's name of the event (Ir, Dr, ...).

    Those of its summary, which callgrind adds up while the program runs: the sums of its functions
    have up to 20,000 instructions more in the first dump after some code began to run.
    """
    events: list[str] = []
    with dump.open("rb") as file:
        for line in file:
            if line.startswith(b"events:"):
                events = line.decode("ascii").split()[1:]
            elif line.startswith(b"summary:"):
                counts = [int(word) for word in line.split()[1:]]
                # Trailing zeros are omitted.
                counts += [0] * (len(events) - len(counts))
                return dict(zip(events, counts, strict=True))
    raise ProfilerError(f"callgrind's {dump.name} has no summary: it was cut short")
