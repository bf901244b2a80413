"""Workers side by side, for cases whose figures do not depend on what else runs: counts of
instructions."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext

import psutil

from opperf.execution.workers import Workers
from opperf.machine.cgroup import free_memory, whole_cpus
from opperf.machine.kernel import this_machine
from opperf.machine.pinning import Pinning
from opperf.metrics import needs_of
from opperf.model import Case, Environment, Record

WORKER_BYTES = 3 * 2**30
"""Memory of a worker that counts, with room for its case: under Valgrind PyTorch's has 0.74 GiB
after small cases, MXNet's 0.40."""


def lane_count(cases: Sequence[Case], pinning: Pinning) -> int:
    """Returns the number of workers that may measure the cases side by side: as many as there are
    cores and memory for, by the limits of a container too; Valgrind runs one thread of a process
    at a time. 1 if a figure depends on what else runs."""
    if not cases or not all(not needs_of(case.settings).quiet_machine for case in cases):
        return 1
    here = this_machine(())
    free = min(psutil.virtual_memory().available, free_memory(here))
    cores = min(len(pinning.available), whole_cpus(here))
    return max(1, min(cores, int(free // WORKER_BYTES), len(cases)))


class Lanes(AbstractContextManager["Lanes"]):
    """Measures cases in several threads, each with workers of its own, on cores of their own.

    `measure` and `environment` are for these threads, `lanes` of them. At the end their processes
    are killed, and what is still measured is lost.
    """

    def __init__(self, workers: Workers, pinning: Pinning, number: int) -> None:
        self.lanes = number
        self._own = threading.local()
        self._stack = ExitStack()
        self._all: list[Workers] = []
        for cores in pinning.split(number):
            one = Workers(workers.interpreters, cores)
            one.profiles = workers.profiles
            self._all.append(self._stack.enter_context(one))
        self._free = [*self._all]

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def kill(self) -> None:
        """Kills the processes, so that the threads that wait for them go on and end."""
        for workers in self._all:
            workers.kill()

    def _workers(self) -> Workers:
        """Returns the calling thread's workers."""
        if not hasattr(self._own, "workers"):
            self._own.workers = self._free.pop()
        found: Workers = self._own.workers
        return found

    def environment(self, case: Case) -> Environment:
        """Returns the environment of the worker that measures a case."""
        return self._workers().environment(case)

    def measure(self, case: Case) -> Record:
        """Returns the record of a case."""
        return self._workers().measure(case)


def side_by_side(
    workers: Workers, pinning: Pinning, number: int
) -> AbstractContextManager[Workers | Lanes]:
    """Returns what measures cases in so many workers at once."""
    if number == 1:
        # What was begun, for planning, may measure too.
        return nullcontext(workers)
    workers.close()
    return Lanes(workers, pinning, number)
