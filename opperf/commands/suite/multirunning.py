"""Runs a suite several times, each time with other options of the system."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opperf.commands.options import take
from opperf.commands.suite.running import run_suite
from opperf.errors import FOUND, UsageError
from opperf.reports.writing import write_reports
from opperf.requests.suites.files import SuiteFiles
from opperf.results.messages import tell
from opperf.results.output import STDOUT, Output, check_output, unwritable
from opperf.suite_results.score_report import runs_report_of
from opperf.suite_results.suite_run import load
from opperf.suites.matrices import NamedRun, read_multirun

OF_RUN: Mapping[str, Any] = {
    "output_format": "jsonl",
    "resume": None,
    "retry": (),
    "strict": False,
    "ids": (),
    "total_partitions": None,
    "partition_id": None,
}
"""Options of `suite run` that these runs do not have."""


def run_all(options: Mapping[str, Any], set_here: Mapping[str, Any]) -> int:
    """Runs the suite once for each of the system's runs; the highest exit code. Raises
    `OpperfError` for what does not resolve in any of them, before the first begins."""
    runs = _runs(options)
    folder: Path = options["folder"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    files = {run.name: folder / f"{run.name}.jsonl" for run in runs}
    each = [_options_of(run, files[run.name], options) for run in runs]
    written: set[str] = set()
    for run, own in zip(runs, each, strict=True):
        # A table that an earlier run writes need not be there yet.
        if run.options.get("sizer.config") not in written:
            take(SuiteFiles, own).resolved()
        written.update(filter(None, [run.options.get("sizer.save")]))
        if own["resume"] is None:
            check_output(own["output_file"], own["overwrite"], options["files"])
    codes = [0]
    for number, (run, own) in enumerate(zip(runs, each, strict=True), start=1):
        if not options["quiet"]:
            tell(f"run {number} of {len(runs)}: {run.name}")
        codes.append(run_suite(own, set_here))
        if codes[-1] not in (0, FOUND):
            return codes[-1]
    if not (options["quiet"] or options["list_only"] or options["dry_run"]):
        print()
        report = runs_report_of({name: load((path,)) for name, path in files.items()})
        write_reports(report, [Output(STDOUT, "text")])
    return max(codes)


def _runs(options: Mapping[str, Any]) -> Sequence[NamedRun]:
    file = options["system"]
    if file is None:
        raise UsageError("name the file whose multirun has the runs: --system FILE")
    if options["resume"] and options["overwrite"]:
        raise UsageError("--resume finishes runs and --overwrite replaces them; use one of them")
    now = int(time.time())
    runs, later = (read_multirun(file, str(moment)) for moment in (now, now + 1))
    if options["resume"] and runs != later:
        raise UsageError(f"{file}: with {{time}} in a name, no run is resumed; omit --resume")
    return runs


def _options_of(run: NamedRun, file: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of `suite run` for a run."""
    labels = {path: str(value) for path, value in run.options.items()}
    return {
        **options,
        **OF_RUN,
        "output_file": file,
        "resume": "" if options["resume"] and file.exists() else None,
        "overrides": (*options["overrides"], *run.overrides),
        "labels": {**options["labels"], **labels},
    }
