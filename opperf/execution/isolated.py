"""The executor of experiments: a process of its own for each case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from opperf.errors import LAST_OUTPUT, with_last_output
from opperf.execution.workers import Workers
from opperf.model import Case, Environment, Record, ScriptTarget, Status


class Isolated:
    """Measures each case in a new process of `workers`, which ends with it. The reason of what ends
    in another way than by its own record has the last lines that the process wrote."""

    lanes = 1

    def __init__(self, workers: Workers, echo: Callable[[str], None] | None = None) -> None:
        self._workers, self._echo = workers, echo

    def measure(self, case: Case) -> Record:
        if isinstance(case.target, ScriptTarget):
            # It has processes of its own, and a reason with their last lines.
            return self._workers.measure(case)
        worker = self._workers.of(case.target.framework, case.settings)
        try:
            record = worker.measure(case)
            if record.status in (Status.CRASHED, Status.TIMEOUT):
                record = _with_last_lines(record, worker.log)
            if self._echo is not None and worker.log:
                self._echo(worker.log)
        finally:
            self._workers.close()
        return record

    def environment(self, case: Case) -> Environment:
        return self._workers.environment(case)

    def kill(self) -> None:
        self._workers.kill()


def _with_last_lines(record: Record, log: str) -> Record:
    if not log.strip():
        return record
    # A crash's reason has the last one already.
    said, *_ = record.reason.partition(LAST_OUTPUT)
    return msgspec.structs.replace(record, reason=with_last_output(said, log.splitlines()))


@contextmanager
def open_isolated(
    workers: Workers, echo: Callable[[str], None] | None = None
) -> Iterator[Isolated]:
    """Returns a context with the executor, in whose processes nothing was planned. `echo` is called
    with what each of them has written."""
    workers.close()
    yield Isolated(workers, echo)
