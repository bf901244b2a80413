"""Callgrind's dumps: the counts that each has in all, and where they lie."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from opperf.errors import ProfilerError

DUMPS = "OPPERF_CALLGRIND_DUMPS"
"""Environment variable with the path of the dumps, to which Valgrind adds the process's id and the
dump's number."""

TAIL_BYTES = 4096
"""Length of the end of a dump that has the line of its totals."""


class Dumps:
    """The dumps of this process. The first is number 1."""

    def __init__(self) -> None:
        self._path = f"{os.environ[DUMPS]}.{os.getpid()}"
        self.count = 0
        """Number of dumps so far."""

    def next(self) -> Path:
        """Returns the path of a dump that was just written. Raises `ProfilerError` if there is
        none."""
        self.count += 1
        path = Path(f"{self._path}.{self.count}")
        if not path.is_file():
            raise ProfilerError(f"callgrind wrote no {path.name}: is the disk full?")
        return path

    @staticmethod
    def remove_last(process: int) -> None:
        """Removes the dump that Valgrind wrote at the end of a process, by its id."""
        if DUMPS in os.environ:
            Path(f"{os.environ[DUMPS]}.{process}").unlink(missing_ok=True)

    def keep(self, path: Path, place: Path) -> None:
        """Moves a dump to another place, whose folder is created."""
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, place)


def totals(dump: Path) -> dict[str, int]:
    """Returns a dump's counts in all, by callgrind's name of the event (Ir, Dr, ...)."""
    events: list[str] = []
    with dump.open("rb") as file:
        for line in file:
            if line.startswith(b"events:"):
                events = line.decode("ascii").split()[1:]
                break
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
        for line in file.read().splitlines():
            if line.startswith(b"totals:"):
                counts = [int(word) for word in line.split()[1:]]
                # Trailing zeros are left out.
                counts += [0] * (len(events) - len(counts))
                return dict(zip(events, counts, strict=True))
    raise ProfilerError(f"callgrind's {dump.name} has no totals: it was cut short")
