from __future__ import annotations

import csv
import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from opperf.errors import OutputError, UsageError
from opperf.model import Record, Run, Status, Summary
from opperf.results import output
from opperf.results.metrics import device_label, shown_ms
from opperf.results.opperf_json import result_of, results_by_operator

MakeRecord = Callable[..., Record]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_json_keeps_every_configuration_sorted_by_operator(run: Run) -> None:
    results = results_by_operator(run.records)
    assert list(results) == ["abs", "relu"]
    assert [result["inputs"] for result in results["relu"]] == [
        {"data": [1024, 1024]},
        {"data": [8]},
    ]
    assert results["relu"][0] == {
        "inputs": {"data": [1024, 1024]},
        "max_storage_mem_alloc_cpu/0": 4194.304,
        "avg_time_forward_relu": 2.2,
        "avg_time_backward_relu": 3.3,
    }


def test_what_was_not_measured_has_no_key(run: Run) -> None:
    assert results_by_operator(run.records)["relu"][1] == {
        "inputs": {"data": [8]},
        "avg_time_forward_relu": 0.00165,
    }


def test_json_file_is_json_and_its_environment_lies_beside_it(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "out.json"
    output.write(run, path, "json")
    assert json.loads(path.read_text()) == results_by_operator(run.records)
    assert list(json.loads(path.read_text())) == ["abs", "relu"]
    beside = json.loads((tmp_path / "out.environment.json").read_text())
    assert beside["environment"]["versions"] == {"mxnet": "1.9.1", "numpy": "1.26.4"}
    assert beside["options"]["command"] == "run relu"
    assert beside["started"] == run.header.started
    assert beside["output"] == "out.json"
    assert beside["no_benchmark"] == run.header.no_benchmark
    assert [(r["operator"], r["status"]) for r in beside["not_measured"]] == [
        ("argmax", "skipped"),
        ("argmin", "skipped"),
        ("svd", "crashed"),
    ]
    assert names_in(tmp_path) == ["out.environment.json", "out.json"]


def test_json_of_no_result(tmp_path: Path, run: Run) -> None:
    output.write(msgspec.structs.replace(run, records=()), tmp_path / "out.json", "json")
    assert json.loads((tmp_path / "out.json").read_text()) == {}


def test_python_profiler_has_percentiles(make_record: MakeRecord) -> None:
    result = result_of(make_record("relu", profiler="python"))
    assert result["avg_time_relu"] == 5.5
    assert result["p50_time_relu"] == 5.0
    assert result["p90_time_relu"] == 7.5
    assert result["p99_time_relu"] == 9.5
    assert result["p90_time_forward_relu"] == 3.0
    assert result["p90_time_backward_relu"] == 4.5
    forward_only = {"forward": make_record().summaries["forward"]}
    result = result_of(make_record("relu", profiler="python", summaries=forward_only))
    assert not any("backward" in key for key in result)


def test_a_callers_own_inputs_are_shown(make_record: MakeRecord) -> None:
    assert result_of(make_record(), {"lhs": (2, 2)})["inputs"] == {"lhs": (2, 2)}


def test_times_keep_a_nanosecond(make_record: MakeRecord) -> None:
    forward: Summary = make_record().summaries["forward"]
    record = make_record(summaries={"forward": msgspec.structs.replace(forward, mean=1234567.4)})
    assert result_of(record)["avg_time_forward_relu"] == 1.234567


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0.000000"),
        (3.0, "0.000003"),
        (1234, "0.001234"),
        (123_456, "0.123456"),
        (12_345_678, "12.345678"),
        (123_456_789_000, "123456.789000"),
        (float("nan"), "nan"),
    ],
)
def test_times_in_tables(make_record: MakeRecord, nanoseconds: float, text: str) -> None:
    forward = msgspec.structs.replace(make_record().summaries["forward"], median=nanoseconds)
    assert shown_ms(make_record(summaries={"forward": forward}), "forward", "median") == text


def test_device_labels() -> None:
    assert [device_label(d) for d in ("cpu(0)", "gpu(2)", "cuda:1")] == ["cpu/0", "gpu/2", "cuda:1"]


def rows_of(markdown: str, section: str) -> list[list[str]]:
    body = markdown.split(f"## {section}\n\n")[1].split("\n\n")[0]
    lines = [line.replace("\\|", "<bar>") for line in body.splitlines()]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_markdown(tmp_path: Path, run: Run) -> None:
    output.write(run, tmp_path / "out.md", "md")
    text = (tmp_path / "out.md").read_text()
    assert names_in(tmp_path) == ["out.md"]
    for fact in (
        "- opperf: 0.1.0",
        "- Versions: mxnet 1.9.1, numpy 1.26.4",
        "- ctx: cpu(0)",
        "- dtype: float32",
        "- Profiler: native",
        "- CPU: A \\| B, 2 cores",
        "- Command: run relu",
        "- Size: small",
        "- Date: 2025-01-02T03:04:05+00:00",
        "- Time taken: 1 min 00 s",
    ):
        assert fact in text.splitlines()
    assert "settings.runs" not in text
    assert "- Precision of medians: 0.02\n" in text and "- Seed: 0\n" in text
    assert "## Runtime Features\n\n- CUDA: off\n- MKLDNN: on\n" in text
    titles, _, *rows = rows_of(text, "Results")
    assert titles == [
        "Operator",
        "Inputs",
        "Max Mem Usage (Storage) (kB)",
        "Avg Forward Time (ms)",
        "Avg Backward Time (ms)",
    ]
    assert rows == [
        ["abs", "data: (64,), axis: None", "4194.304", "2.200000", "3.300000"],
        ["relu", "data: (1024, 1024)", "4194.304", "2.200000", "3.300000"],
        ["relu", "data: (8,)", "---", "0.001650", "---"],
    ]
    titles, _, *rows = rows_of(text, "Not measured")
    assert titles == ["Operator", "Inputs", "Status", "Reason"]
    assert rows[-1] == [
        "svd",
        "data: (1024, 1024)",
        "crashed",
        "the worker died: signal 11 <bar> core dumped",
    ]
    assert rows_of(text, "No benchmark")[2:] == [
        ["Custom", "needs a class"],
        ["Proposal", "no rule"],
    ]


def test_markdown_of_the_python_profiler(run: Run, make_record: MakeRecord) -> None:
    records = (make_record("relu", profiler="python"),)
    text = output.FORMATS["md"].text(msgspec.structs.replace(run, records=records))
    titles, _, row = rows_of(text, "Results")
    assert titles[3:] == [
        "Avg Forward Time (ms)",
        "Avg Backward Time (ms)",
        "P50 Time (ms)",
        "P90 Time (ms)",
        "P99 Time (ms)",
    ]
    assert row[3:] == ["2.200000", "3.300000", "5.000000", "7.500000", "9.500000"]


def test_markdown_of_nothing(run: Run) -> None:
    text = output.FORMATS["md"].text(msgspec.structs.replace(run, records=()))
    assert "Nothing was measured." in text


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


def test_check_finds_what_would_fail_after_the_run(tmp_path: Path) -> None:
    existing = tmp_path / "there.json"
    existing.touch()
    for path, message in (
        (existing, "exists; give --overwrite to replace it"),
        (tmp_path, "is a folder"),
        (tmp_path / "none" / "out.json", "does not exist"),
        (existing / "out.json", "is not a folder"),
        (Path("/proc/out.json"), "no file can be made in /proc"),
    ):
        with pytest.raises(OutputError, match=message) as caught:
            output.check_output(path, overwrite=False)
        assert "\n" not in str(caught.value)
    output.check_output(existing, overwrite=True)
    output.check_output(tmp_path / "new.json", overwrite=False)
    assert names_in(tmp_path) == ["there.json"]


def test_check_names_resume_for_a_run_file(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").touch()
    with pytest.raises(OutputError, match="--overwrite to replace it, or --resume"):
        output.check_output(tmp_path / "run.jsonl", overwrite=False)


def test_a_device_is_never_replaced() -> None:
    with pytest.raises(OutputError, match="not a regular file"):
        output.check_output(Path("/dev/full"), overwrite=True)


def test_a_link_is_written_through(tmp_path: Path, run: Run) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link.md"
    link.symlink_to(tmp_path / "folder" / "real.md")
    output.check_output(link, overwrite=True)
    output.write(run, link, "md")
    assert link.is_symlink()
    assert (tmp_path / "folder" / "real.md").read_text().startswith("# Operator benchmarks")


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "out.md"
    path.write_text("old")
    # A full disk, as far as a file can tell: it may not grow past 100 bytes.
    code = (
        "import resource, sys, pathlib\n"
        "from opperf.results import output, runfile\n"
        "from opperf.errors import OutputError\n"
        "run, _ = runfile.read_run(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "try:\n    output.write(run, pathlib.Path(sys.argv[2]), 'md')\n"
        "except OutputError as error:\n    print(error)\n"
    )
    output.write(run, tmp_path / "run.jsonl", "jsonl")
    found = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "run.jsonl", path],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == (
        f"{path} cannot be written: File too large; allow larger files (ulimit -f)\n"
    )
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["out.md", "run.jsonl"]


@pytest.mark.parametrize("format", ["json", "csv"])
def test_an_output_and_its_environment_are_written_both_or_neither(
    tmp_path: Path, run: Run, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"out.{format}"
    beside = output.sidecar(path)
    output.write(run, path, format)
    old = path.read_bytes(), beside.read_bytes()
    changed = msgspec.structs.replace(run.header, started="later")
    for fitting in (0, 1):
        left = [None] * fitting

        def sync(descriptor: int, left: list[None] = left) -> None:
            if not left:
                raise OSError(errno.ENOSPC, "No space left on device")
            left.pop()

        with monkeypatch.context() as patched, pytest.raises(OutputError, match="free space"):
            patched.setattr(os, "fsync", sync)
            output.write(msgspec.structs.replace(run, header=changed), path, format)
        assert (path.read_bytes(), beside.read_bytes()) == old
        assert names_in(tmp_path) == sorted([path.name, beside.name])


def test_what_a_killed_process_left_is_in_nobodys_way(tmp_path: Path, run: Run) -> None:
    (tmp_path / f".out.md.{os.getpid()}.tmp").write_text("half")
    output.write(run, tmp_path / "out.md", "md")
    assert names_in(tmp_path) == ["out.md"]


def test_permissions_are_those_of_any_new_file(tmp_path: Path, run: Run) -> None:
    (tmp_path / "plain").touch()
    output.write(run, tmp_path / "out.md", "md")
    assert (tmp_path / "out.md").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_unknown_format(tmp_path: Path, run: Run) -> None:
    with pytest.raises(UsageError, match="did you mean json"):
        output.write(run, tmp_path / "out", "jsn")


def test_formats_name_their_extensions() -> None:
    assert {name: chosen.extension for name, chosen in output.FORMATS.items()} == {
        "json": "json",
        "md": "md",
        "csv": "csv",
        "jsonl": "jsonl",
    }


def test_statuses_other_than_ok_are_in_no_json(make_record: MakeRecord) -> None:
    records: list[Any] = [
        make_record(status=status, reason="r") for status in Status if status is not Status.OK
    ]
    assert results_by_operator(records) == {}
