"""Run files as a source: the planned cases, with their settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from opperf.instruments.times import RECORDED
from opperf.model import Case, Interpreter, Program, Record, Run
from opperf.results.recordings import program_of
from opperf.results.runfile import is_run_file, read_run
from opperf.sources.base import Completion


class RunFile:
    """The planned cases of a run, with or without a record."""

    def __init__(self, path: Path) -> None:
        run, self.warnings = read_run(path)
        self.excluded = run.header.excluded
        self.interpreters: tuple[Interpreter, ...] = run.header.interpreters
        self.program: Program | None = program_of(run)
        self.records: tuple[Record, ...] = run.records
        self.completion = completion_of_run(run)
        self._cases = run.cases

    def cases(self) -> Iterator[Case]:
        yield from self._cases


def completion_of_run(run: Run) -> Completion | None:
    """Returns how the cases of a run file are completed: calls of a recording as those of any
    other, those that a run has measured not at all."""
    measured = {name for record in run.records for name in record.summaries}
    return "each" if run.header.program and measured <= {RECORDED.name} else None


class RunFiles:
    """Run files, as `opperf run -f jsonl` writes them."""

    name = "run file (opperf run -f jsonl)"

    def recognizes(self, path: Path) -> bool:
        return is_run_file(path)

    def open(self, path: Path) -> RunFile:
        return RunFile(path)


def source() -> RunFiles:
    """Returns the kind of file; called by name, as an entry point is."""
    return RunFiles()
