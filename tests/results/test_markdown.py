"""A run as a Markdown page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from opperf.model import Record, Run
from opperf.results import output

MakeRecord = Callable[..., Record]


def rows_of(markdown: str, section: str) -> list[list[str]]:
    body = markdown.split(f"## {section}\n\n")[1].split("\n\n")[0]
    lines = [line.replace("\\|", "<bar>") for line in body.splitlines()]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_markdown(tmp_path: Path, run: Run) -> None:
    output.write(run, tmp_path / "out.md", "md")
    text = (tmp_path / "out.md").read_text()
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
