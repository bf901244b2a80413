"""Run files as a source: the planned cases, with their settings."""

from __future__ import annotations

from pathlib import Path

from opperf.instruments.times import RECORDED
from opperf.results.recordings import program_of
from opperf.results.runfile import is_run_file, read_run
from opperf.sources.base import FileSource, Source


class RunFile(Source):
    """The planned cases of a run, with or without a record."""

    def __init__(self, path: Path) -> None:
        run, self.warnings = read_run(path)
        super().__init__(run.cases)
        self.excluded = run.header.excluded
        self.interpreters = run.header.interpreters
        self.program = program_of(run)
        self.records = run.records
        measured = {name for record in run.records for name in record.summaries}
        # Calls of a recording as those of any other, those that a run has measured not at all.
        if run.header.program and measured <= {RECORDED.name}:
            self.completion = "each"


class RunFiles(FileSource):
    """Run files, as `opperf run -f jsonl` writes them."""

    name = "run file (opperf run -f jsonl)"

    def recognizes(self, path: Path) -> bool:
        return is_run_file(path)

    def open(self, path: Path) -> RunFile:
        return RunFile(path)
