"""A run as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from opperf.model import Note, NoteCode, Record, Run
from opperf.reports.writing import write
from opperf.results.columns import columns, csv_text

MakeRecord = Callable[..., Record]


def test_csv_has_a_row_per_record(tmp_path: Path, run: Run) -> None:
    write(run, tmp_path / "out.csv", "csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["operator"] for row in rows] == [r.case.label for r in run.records]
    first, crashed = rows[0], rows[-1]
    assert first["id"] == run.records[0].id
    assert json.loads(first["inputs"]) == {"data": [1024, 1024]}
    assert (first["device"], first["dtype"], first["profiler"], first["phase"]) == (
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


def row_of(run: Run, record: Record) -> dict[str, str]:
    text = csv_text(msgspec.structs.replace(run, records=(record,)))
    assert "\r" not in text
    (row,) = csv.DictReader(io.StringIO(text))
    return row


def test_csv_tells_how_a_case_was_run(run: Run, make_record: MakeRecord) -> None:
    made = make_record()
    settings = msgspec.structs.replace(
        made.case.settings, warmup=3, runs=7, precision=0.05, cache="cold", phase="train"
    )
    case = msgspec.structs.replace(made.case, settings=settings)
    notes = (Note("backward", NoteCode.NO_GRADIENT, "none, as it is a comparison"),)
    row = row_of(run, msgspec.structs.replace(made, case=case, rounds=4, notes=notes))
    names = ("warmup", "runs", "precision", "cache", "phase", "rounds")
    assert [row[name] for name in names] == ["3", "7", "0.05", "cold", "train", "4"]
    assert json.loads(row["notes"]) == [
        {"metric": "backward", "code": "no_gradient", "message": "none, as it is a comparison"}
    ]


def test_csv_has_all_statistics_of_all_figures(run: Run, make_record: MakeRecord) -> None:
    summaries = make_record().summaries
    memory = msgspec.structs.replace(summaries["memory"], median=1500.0)
    forward = msgspec.structs.replace(summaries["forward"], p90=1234567.8912)
    changed = {"memory_forward": memory, "forward": forward}
    row = row_of(run, make_record(summaries={**summaries, **changed}))
    statistics = ("median", "mean", "min", "p50", "p90", "p99")
    assert [float(row[f"forward_{name}_ms"]) for name in statistics] == [
        pytest.approx(value, rel=1e-12) for value in (2.0, 2.2, 1.8, 2.0, 1.2345678912, 3.8)
    ]
    assert (row["memory_kB"], row["memory_forward_kB"]) == ("4194.304", "1.5")
    assert (row["notes"], row["reason"]) == ("", "")


def test_csv_has_a_column_for_each_swept_variable(run: Run, make_point: MakeRecord) -> None:
    records = (make_point(n=64), make_point(n=128, m=2), *run.records)
    titles, *rows = csv.reader(io.StringIO(csv_text(msgspec.structs.replace(run, records=records))))
    places = [titles.index(name) for name in ("sweep_n", "sweep_m")]
    assert [[row[place] for place in places] for row in rows][:3] == [
        ["64", ""],
        ["128", "2"],
        ["", ""],
    ]
    assert not any(name.startswith("sweep_") for name, _ in columns(run.records))


def test_ids_of_a_file_have_a_column_where_a_case_has_one(run: Run) -> None:
    first, *others = run.records
    case = msgspec.structs.replace(first.case, source_id="torch.add|0|0|1")
    changed = msgspec.structs.replace(
        run, records=(msgspec.structs.replace(first, case=case), *others)
    )
    found = [row["source_id"] for row in csv.DictReader(io.StringIO(csv_text(changed)))]
    assert found == ["torch.add|0|0|1", *[""] * len(others)]
    assert "source_id" not in csv_text(run)
