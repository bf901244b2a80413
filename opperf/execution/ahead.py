"""Compiles the cases of a run into a cache before it begins, on all cores of its workers: a
compiler leaves most of them idle, and beside a timed call nothing may run."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from opperf.errors import WorkerError
from opperf.execution.progress import Progress
from opperf.execution.workers import Workers, count_fitting
from opperf.frameworks import package_of
from opperf.frameworks.base import CPU
from opperf.instruments.visit import CompiledAhead
from opperf.metrics import alone_instruments
from opperf.model import Case, OperatorTarget, Record, Status
from opperf.plurals import pluralize
from opperf.sources.varying import process_key
from opperf.worker.client import Worker

FEWEST = 20
"""Fewest cases that are compiled ahead: starting the processes takes as long as compiling ten."""

BATCH = 4
"""Cases in a request: few, as those of a process that ends are compiled when they are measured, and
as all processes should end at the same time."""


MakeProgress = Callable[[int], Progress]
"""Returns what shows the progress of a number of cases."""


def compile_ahead(
    workers: Workers, cases: Iterable[Case], say: Callable[[str], None], progress: MakeProgress
) -> None:
    """Compiles the cases whose framework has a cache for that, and lets `workers` know what it
    took. `say` prints what takes time, and `progress` how far it is."""
    groups: dict[str, dict[str, Case]] = {}
    for case in filter(_is_suitable, cases):
        own = groups.setdefault(process_key(case.target.framework, case.settings), {})
        own[case.id] = case
    for own in groups.values():
        number = _process_count(workers, own.values())
        if number < 2:
            continue
        first = next(iter(own.values()))
        missing = workers.of(first.target.framework, first.settings).uncompiled([*own.values()])
        if len(missing) < FEWEST:
            continue
        say(
            f"compiling {pluralize(len(missing), 'case')} in {pluralize(number, 'process')} before "
            "the first is measured"
        )
        begun = [workers.begin(first.target.framework, first.settings) for _ in range(number)]
        try:
            with progress(len(missing)) as shown:
                workers.ahead.update(_compile(begun, [own[id] for id in missing], shown))
        finally:
            for worker in begun:
                worker.__exit__()


def _is_suitable(case: Case) -> bool:
    """Whether a case may be compiled beside others: a user's function may do more than compute, and
    on another device compilers measure kernels and processes reserve its memory."""
    target, settings = case.target, case.settings
    if not isinstance(target, OperatorTarget) or settings.device != CPU:
        return False
    package = package_of(target.framework)
    can_compile = package is not None and package.compiles_ahead
    return can_compile and settings.profiler not in alone_instruments()


def _process_count(workers: Workers, cases: Iterable[Case]) -> int:
    listed = [*cases]
    if len(listed) < FEWEST:
        return 0
    return min(count_fitting(workers.core_count(listed[0].settings)), len(listed) // BATCH)


def _compile(
    workers: Sequence[Worker], cases: Sequence[Case], shown: Progress
) -> dict[str, CompiledAhead]:
    batches: queue.SimpleQueue[Sequence[Case]] = queue.SimpleQueue()
    for place in range(0, len(cases), BATCH):
        batches.put(cases[place : place + BATCH])
    found: dict[str, CompiledAhead] = {}
    one_by_one = threading.Lock()

    def run(worker: Worker) -> None:
        with suppress(queue.Empty):
            while True:
                batch = batches.get_nowait()
                # What ends the process does so again when it is measured, and is then reported.
                with suppress(WorkerError):
                    found.update(worker.compile(batch))
                with one_by_one:
                    for case in batch:
                        shown.begin(case)
                        shown.end(Record(case=case, id=case.id, status=Status.OK))

    with ThreadPoolExecutor(len(workers)) as threads:
        try:
            for done in [threads.submit(run, worker) for worker in workers]:
                done.result()
        except BaseException:
            # The threads then end.
            for worker in workers:
                worker.kill()
            raise
    return found
