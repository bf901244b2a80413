"""The metric report of PyTorch/XLA's benchmarks: a row of statistics for each record, as CSV or
JSON lines, and the table of all reports that it is appended to."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from opperf.errors import RunFileError
from opperf.formats.model_records import ModelRecord, is_number
from opperf.formats.pytorch_runner import numbered_rows
from opperf.results.columns import rows_text

FAILED = (
    *("median_total_time", "median_per_iter_time", "xla_median_trace_per_iter_time"),
    *("xla_compile_time", "dynamo_compile_time"),
)
"""Figures that are `OFF` for a failure in JSON lines."""

COLUMNS = (
    *("timestamp", "suite_name", "model_name", "accelerator", "accelerator_model", "xla"),
    *("xla_flags", "dynamo", "torch_xla2", "test", "batch_size", "repeat", "iterations_per_run"),
    *("error_message", *FAILED, "outputs_file"),
)
"""Columns that every report has, in their order; those of other metrics are after them."""

OFF = -1
"""A figure of what was off: no compilation without dynamo or XLA, no trace without XLA."""

TRACE = "trace_per_iter_time"

OLD = re.compile(r"^a(min|max)_")
"""How columns begin that were written with NumPy before 1.25, by whose functions they are named."""


def statistics_of(record: ModelRecord) -> dict[str, float]:
    """Returns the statistics of a record's metrics, and its compile times. Mean and deviation lack
    the first value, which is that of a run that compiles. A metric without numbers has none."""
    made: dict[str, float] = {}
    for metric, raw in record.metrics.items():
        values = raw if isinstance(raw, list) else [raw]
        if not values or not all(map(is_number, values)):
            continue
        is_off = metric == TRACE and not record.xla
        for name, value in _summaries(values).items():
            made[f"{name}_{metric}"] = OFF if is_off else value
    highest, median = made.get("max_total_time"), made.get("median_total_time")
    compilation = None if highest is None or median is None else highest - median
    for name, is_on in (("dynamo", record.dynamo), ("xla", record.xla)):
        if not is_on:
            made[f"{name}_compile_time"] = OFF
        elif compilation is not None:
            made[f"{name}_compile_time"] = compilation
    return made


def _summaries(values: Sequence[float]) -> dict[str, float]:
    later = values[1:]
    made = {
        "min": float(min(values)),
        "median": float(statistics.median(values)),
        "max": float(max(values)),
    }
    if later:
        mean = math.fsum(later) / len(later)
        squares = math.fsum((value - mean) ** 2 for value in later)
        made |= {"mean": mean, "std": math.sqrt(squares / len(later))}
    return made


def row_of(record: ModelRecord, timestamp: float, hide_errors: bool) -> dict[str, Any]:
    """Returns the row of a record, which is given `timestamp` if it has none."""
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    row |= {name: getattr(record, name) for name in COLUMNS if hasattr(record, name)}
    row["timestamp"] = timestamp if record.timestamp is None else record.timestamp
    failure = record.failure
    if failure is None:
        return row | statistics_of(record)
    return row | {"error_message": None if hide_errors else failure}


def line_of(record: ModelRecord, timestamp: float, hide_errors: bool) -> dict[str, Any]:
    """Returns the line of a record: numbers under `metrics`, texts under `dimensions`, where
    nothing is "None"."""
    at = timestamp if record.timestamp is None else record.timestamp
    metrics: dict[str, Any] = {
        "timestamp": int(at),
        "batch_size": OFF if record.batch_size is None else record.batch_size,
        "repeat": record.repeat,
        "iterations_per_run": record.iterations_per_run,
    }
    failure = record.failure
    has_failed = failure is not None
    metrics |= dict.fromkeys(FAILED, OFF) if has_failed else statistics_of(record)
    dimensions = {
        "suite_name": record.suite_name,
        "model_name": record.model_name,
        # Both, as databases of these lines have it.
        "accelerator": record.accelerator_model,
        "accelerator_model": record.accelerator_model,
        **{
            name: str(getattr(record, name))
            for name in ("xla", "dynamo", "torch_xla2", "test", "outputs_file")
        },
        "run_status": "failure" if has_failed else "success",
    }
    line: dict[str, Any] = {"metrics": metrics, "dimensions": dimensions}
    if has_failed and not hide_errors:
        line["error_message"] = failure
    return line


def lines_text(lines: Iterable[Mapping[str, Any]]) -> str:
    """Returns objects as JSON lines."""
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def columns_of(rows: Iterable[Mapping[str, Any]], first: Sequence[str] = COLUMNS) -> list[str]:
    """Returns the columns of rows: the `first`, then others in the order of their appearance."""
    return list(dict.fromkeys([*first, *(name for row in rows for name in row)]))


def csv_text(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], with_header: bool = True
) -> str:
    """Returns rows as CSV; nothing and None are empty cells."""
    header = [columns] if with_header else []
    return rows_text([*header, *([row.get(name) for name in columns] for row in rows)])


def extended(path: Path, old: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns the text of a table of reports with further rows. Columns that it lacks are added
    after its own, so that each value stays under its name. Raises `RunFileError` for a table of
    another kind."""
    rows_of = numbered_rows(path, old)
    _, found = next(rows_of, ("", []))
    header = [OLD.sub(r"\1_", name) for name in found]
    if not {"timestamp", "model_name"} <= set(header):
        raise RunFileError(
            f"{path} is no table of metric reports: it has no column timestamp and model_name; "
            "name another with --database"
        )
    columns = columns_of(rows, header)
    if columns == header == found:
        # Nothing that is there is written again.
        return old + ("" if old.endswith("\n") else "\n") + csv_text(rows, columns, False)
    earlier = []
    for place, cells in rows_of:
        if len(cells) > len(header):
            raise RunFileError(
                f"{place}: the row has {len(cells)} cells below {len(header)} "
                "columns, so that it was appended with other columns; correct it, or name another "
                "file with --database"
            )
        earlier.append(dict(zip(header, cells, strict=False)))
    return csv_text([*earlier, *rows], columns)
