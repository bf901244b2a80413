"""Writes the traces of replays."""

from __future__ import annotations

from collections.abc import Iterator

from opperf.execution.workers import Workers
from opperf.model import Run, Status
from opperf.requests.replays import WrittenTraces


def write_traces(workers: Workers, run: Run, files: WrittenTraces) -> Iterator[str]:
    """Writes the traces of an iteration of each replay of a run, and yields a line on them."""
    cases = [record.case for record in run.records if record.status is Status.OK]
    chrome, execution = (str(path.resolve()) if path else "" for path in files)
    if not cases:
        yield "no traces: nothing was replayed"
        return
    first = cases[0]
    worker = workers.of(first.target.framework, first.settings)
    failed = worker.trace(tuple(cases), chrome, execution)
    for reason in dict.fromkeys(failed.values()):
        yield f"not traced: {reason}"
    yield f"traces written to {', '.join(str(path) for path in files if path)}"
