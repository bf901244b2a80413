"""Moments at which a process of opperf's gets a signal: calls that it makes, and not seconds."""

import os
import random
from pathlib import Path

FAKE = Path(__file__).parent

WAIT_S = 300
"""Time limit of a run whose calls are counted, on a busy machine."""

COUNT_ONLY = 0
"""Instead of a signal: the calls are counted."""


def variables_for(path):
    """Environment variables of a process that is watched, as the file at `path` requests."""
    places = [str(FAKE / "watched"), str(FAKE), str(FAKE.parents[1])]
    return {"OPPERF_MOMENT": str(path), "PYTHONPATH": os.pathsep.join(places)}


def signal_at_record(path, number, record):
    """Sends a signal to the next manager before it writes its record of this number; returns
    environment variables for it."""
    path.write_text(f"manager {int(number)} records {record}")
    return variables_for(path)


class Moments:
    """Moments of a run, counted by the calls of Python functions that one of its processes makes.

    `start` begins the run in an environment of these variables; see `watched`.
    """

    def __init__(self, role, folder, start):
        self._role, self._path, self._start = role, folder / "moment", start
        self.ask(COUNT_ONLY, 0)
        with self.start() as process:
            _, err = process.communicate(timeout=WAIT_S)
        assert process.returncode == 0, err
        self.first, self.latest, self.last = map(int, self._path.read_text().split())
        assert 0 < self.first < self.latest <= self.last

    def ask(self, number, moment):
        """Sends a signal to the next process of the kind at a call."""
        self._path.write_text(f"{self._role} {int(number)} calls {moment}")

    @property
    def came(self):
        """Whether a process of the kind has started since."""
        return not self._path.exists()

    def start(self, *arguments):
        return self._start(*arguments, variables=variables_for(self._path))

    def drawn(self, part, seed):
        """A part of the random calls: half of them anywhere, half between the first record and the
        last."""
        draw = random.Random(seed)
        ranges = (1, self.last), (self.first, self.latest)
        return [draw.randrange(*ranges[number % 2]) for number in range(part.stop)][part]
