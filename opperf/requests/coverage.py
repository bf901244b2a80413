"""Reports how much of a framework's registry is measured."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from opperf.errors import RunFileError
from opperf.folders import cache_folder
from opperf.model import Settings
from opperf.requests.declaring import Option, Say, argument, told, unsaid
from opperf.requests.registry import RegistryRequest
from opperf.results.run_files import locate
from opperf.results.runfile import read_run

if TYPE_CHECKING:
    from opperf.model import Listing, Record
    from opperf.reports.coverage import Coverage

COVERAGE_SETTINGS = Settings(
    device="", mode="", profiler="python", warmup=0, runs=1, timeout_s=60.0, memory=False
)
"""One call of each pass: enough to see that an operator runs. The timeout is a hundred times the
time of the slowest small case."""


class CoverageRequest(RegistryRequest, frozen=True, kw_only=True):
    """Counts the operators of a registry that are measured."""

    run_file: Annotated[Path | None, argument("[RUNFILE]", locate)] = None
    least: Annotated[
        float | None,
        Option(
            "Exit with 1 if a smaller share of the distinct operators is measured.",
            low=0,
            high=100,
            metavar="PERCENT",
            section="Plan, resumption and exit code",
            spellings="--min",
        ),
    ] = None
    quiet: Annotated[
        bool, Option("Show no progress.", section="Plan, resumption and exit code")
    ] = False

    def run(self, say: Say) -> Coverage | None:
        """Returns the coverage by the records of the run file, or of a run of every operator; None
        if that was interrupted."""
        from opperf.reports.coverage import coverage

        progress = unsaid if self.quiet else say
        framework = self._choose((), progress)
        listing = self._listing(framework, say)
        self.check_outputs(filter(None, [self.run_file]))
        if self.run_file is None:
            records = self._run_everything(framework, say, progress)
        else:
            records = self._records_of(self.run_file, listing, say)
        return None if records is None else coverage(listing, records)

    def _records_of(self, path: Path, listing: Listing, say: Say) -> Sequence[Record]:
        run = told(read_run(path), say)
        environment = run.environment
        if environment is None:
            raise RunFileError(f"{path}: the run has no environment, which says what was measured")
        measured = (environment.framework, environment.versions.get(environment.framework, ""))
        if measured != (listing.framework, listing.version):
            raise RunFileError(
                f"{path} is a run of {' '.join(measured)}, but the framework here is "
                f"{listing.framework} {listing.version}; choose another with --framework or "
                "--python"
            )
        return run.records

    def _run_everything(self, framework: str, say: Say, progress: Say) -> Sequence[Record] | None:
        from opperf.execution.execute import execute_to_file
        from opperf.execution.planning import plan_cases
        from opperf.execution.progress import make_progress
        from opperf.execution.run_header import make_header
        from opperf.execution.workers import Workers
        from opperf.sources.selecting import Selection

        started = time.monotonic()
        path = cache_folder() / "coverage" / f"{framework}.jsonl"
        with Workers(self.interpreters) as workers:
            worker = workers.of(framework)
            asked = Selection(size="small", settings=COVERAGE_SETTINGS)
            selection = worker.resolve_selection(asked)
            plan = plan_cases(worker, framework, selection, progress)
            try:
                run = execute_to_file(
                    path,
                    make_header(plan, selection, "opperf coverage"),
                    plan.cases,
                    plan.cases,
                    workers,
                    make_progress(sys.stderr, len(plan.cases), self.quiet),
                    lambda: time.monotonic() - started,
                )
            except KeyboardInterrupt:
                say(f"interrupted; the records are in {path}")
                return None
        return run.records
