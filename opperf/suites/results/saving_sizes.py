"""Writes what batches took into a table of sizes, from which `opperf.suites.sizing` sizes
others (`sizer.save`)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from opperf.model import BenchFacts
from opperf.plurals import pluralize
from opperf.results.output import check_output, replace
from opperf.suites.reading import import_yaml, parse, read_text
from opperf.suites.results.run import BenchResults, SuiteRun
from opperf.suites.results.scores import Row, scores_of
from opperf.suites.sizing import VERSION, read_table

LISTED = 2
"""Version of tables with observations in a list; those of 1 have memories by size."""

MIB = 2**20


def sizes_of(bench: BenchFacts) -> Mapping[str, int]:
    """Returns the sizes of a bench that were chosen for the machine, as tables of sizes name
    them; none of a bench of milabench's."""
    found = bench.config.get("sizes")
    return found if isinstance(found, dict) else {}


def batch_size_of(bench: BenchFacts) -> int | None:
    """Returns the size of a bench's batch; None of one that says none."""
    return sizes_of(bench).get("batch_size")


def check_table(path: Path) -> None:
    """Raises `OpperfError` for a table that cannot be written, or a file that is none."""
    check_output(path, overwrite=True)
    if path.exists():
        read_table(str(path))


def save_sizes(path: Path, run: SuiteRun) -> str:
    """Adds an observation of each bench whose batch was sized to a table, and returns a sentence on
    that. Raises `OpperfError` if it cannot be written."""
    table = _read(path)
    sized = {
        bench.facts.name: (bench, row)
        for bench, row in zip(run.benches, scores_of(run).rows, strict=True)
        if batch_size_of(bench.facts)
    }
    began = int(datetime.fromisoformat(run.runs[0].header.started).timestamp())
    observations = {
        name: found
        for name, both in sized.items()
        if (found := _observation(*both, began)) is not None
    }
    for name, observation in observations.items():
        row = table.setdefault(name, {})
        # That of the same run is there already if it was finished later.
        same = {key: observation[key] for key in ("batch_size", "time")}
        others = [made for made in row.get("observations", ()) if not same.items() <= made.items()]
        row["observations"] = sorted([*others, observation], key=lambda made: made["batch_size"])
    yaml = import_yaml()
    # Each observation on a line of its own.
    text = yaml.safe_dump(table, default_flow_style=None, width=float("inf"), sort_keys=True)
    replace(path, text.encode())
    without = [name for name in sized if name not in observations]
    lacking = f"; without a rate or the memory of a GPU: {', '.join(without)}" if without else ""
    return f"{pluralize(len(observations), 'size')} added to {path}{lacking}"


def _read(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {VERSION: LISTED}
    read_table(str(path))
    table: dict[str, Any] = parse(read_text(str(path)), str(path)).plain()
    for name, row in table.items():
        if name != VERSION and row and "model" in row:
            model = row.pop("model") or {}
            row["observations"] = [
                {"batch_size": int(size), "memory": memory} for size, memory in model.items()
            ]
    return {**table, VERSION: LISTED}


def _observation(bench: BenchResults, row: Row, began: int) -> dict[str, Any] | None:
    rates = [process.result.rate for process in bench.processes if process.result.rate]
    if row.fail or not row.gpus or row.peak_bytes is None or not rates:
        return None
    return {
        "batch_size": batch_size_of(bench.facts),
        "cpu": sizes_of(bench.facts).get("cpu", 0),
        "memory": f"{row.peak_bytes / MIB:.0f} MiB",
        "perf": round(fmean(rate.median for rate in rates), 2),
        "time": began,
    }
