"""The workers of a block, whose forks are the processes of its replicates.

A fork takes some ten milliseconds, and an import of a framework more than a second. But forks share
their parent's memory layout, which moves an operator's time. So only the processes of one arm in
one block are forks of one process: each block has new ones, so that blocks are independent and
differ by whatever fresh processes differ by. In the control both labels are arm A, and have a
worker each, so that A differs from A as it would from B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack

from opperf.comparison.ab.procedure import Place
from opperf.comparison.statistics.data import Arm
from opperf.model import Case
from opperf.worker.client import Worker

Start = Callable[[Arm], Worker]
"""Makes a worker of an arm."""


class BlockWorkers(AbstractContextManager["BlockWorkers"]):
    """The workers of a block, one for each label; `start` makes them when they are needed."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._workers: dict[Arm, Worker] = {}
        self._stack = ExitStack()

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def begin_process(self, place: Place, cases: Iterable[Case]) -> Worker:
        """Returns the worker of a place in the block, with a fresh process for the cases."""
        if place.label not in self._workers:
            self._workers[place.label] = self._stack.enter_context(self._start(place.arm))
        worker = self._workers[place.label]
        worker.begin_process({case.settings.device for case in cases})
        return worker
