"""A run as CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from opperf.model import Run
from opperf.results import output


def test_csv_has_a_row_per_record(tmp_path: Path, run: Run) -> None:
    output.write(run, tmp_path / "out.csv", "csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["operator"] for row in rows] == [r.case.label for r in run.records]
    first, crashed = rows[0], rows[-1]
    assert first["id"] == run.records[0].id
    assert json.loads(first["inputs"]) == {"data": [1024, 1024]}
    assert (first["device"], first["dtype"], first["profiler"], first["mode"]) == (
        "cpu(0)",
        "float32",
        "native",
        "predict",
    )
    assert (first["warmup"], first["runs"], first["origin"], first["category"]) == (
        "",
        "",
        "name table",
        "unary",
    )
    assert float(first["forward_median_ms"]) == 2.0
    assert float(first["backward_p99_ms"]) == 5.7
    assert float(first["total_mean_ms"]) == 5.5
    assert float(first["memory_kB"]) == 4194.304
    assert rows[2]["backward_median_ms"] == ""
    assert (crashed["status"], crashed["forward_median_ms"]) == ("crashed", "")
    assert crashed["reason"] == run.records[-1].reason
    assert (tmp_path / "out.environment.json").exists()
