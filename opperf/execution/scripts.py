"""The scripts of cases, which workers of their frameworks make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opperf.execution.workers import Workers
from opperf.model import Case, Interpreter
from opperf.sources.varying import group_by_process


def scripts_of(cases: Iterable[Case], interpreters: Sequence[Interpreter]) -> dict[str, str]:
    """Returns the script of each case's call in its framework alone, by id; a comment says why one
    cannot be made. Raises what `Worker` raises, for a framework that is not installed."""
    scripts: dict[str, str] = {}
    with Workers(interpreters) as workers:
        for case in group_by_process(cases):
            worker = workers.of(case.target.framework, case.settings)
            (scripts[case.id],) = worker.scripts((case,))
    return scripts
