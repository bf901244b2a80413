"""A run as a Markdown page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from opperf.model import Note, NoteCode, OperatorTarget, Record, Run, Status
from opperf.reports.fields import texts_table
from opperf.reports.markdown import grid
from opperf.reports.run_page import flatten, markdown_text
from opperf.reports.run_tables import LEGEND
from opperf.reports.writing import write
from opperf.results.units import MARK_LEGEND

MakeRecord = Callable[..., Record]


def rows_of(markdown: str, section: str) -> list[list[str]]:
    body = markdown.split(f"## {section}\n\n")[1].split("\n\n")[0]
    lines = [line.replace("\\|", "<bar>") for line in body.splitlines()]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_a_page_of_another_framework_than_mxnet_names_the_device(run: Run) -> None:
    target = OperatorTarget("torch", "relu")
    cases = [msgspec.structs.replace(record.case, target=target) for record in run.records]
    records = [
        msgspec.structs.replace(record, case=case)
        for record, case in zip(run.records, cases, strict=True)
    ]
    text = markdown_text(msgspec.structs.replace(run, records=tuple(records)), ())
    assert "- Device: cpu(0)" in text.splitlines() and "ctx" not in text


def test_markdown(tmp_path: Path, run: Run) -> None:
    write(run, tmp_path / "out.md", "md")
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
        "- Python: 3.11.7",
        "- Memory: 8.0 GiB",
        "- Thread settings: OMP_NUM_THREADS=2",
        "- Load at the start: 0.50",
        "- Devices: cpu(0)",
        "- Mode: eager",
        "- Phase: predict",
        "- Peak memory measured: yes",
        "- Timeout (s): 300.0",
    ):
        assert fact in text.splitlines()
    assert "settings.runs" not in text
    assert "- Precision of medians: 0.02\n" in text and "- Seed: 0\n" in text
    features = "<summary>Runtime Features</summary>\n\n- CUDA: off\n- MKLDNN: on\n\n</details>"
    assert features in text
    titles, _, *rows = rows_of(text, "Results")
    assert titles == ["Operator", "Inputs", "Forward (ms)", "Backward (ms)", "Memory (MB)"]
    assert rows == [
        ["abs", "data: (64,), axis: None", "2.0 ±5.0 %", "3.0 ±5.0 %", "4.2 ±5.0 %"],
        ["relu", "data: (1024, 1024)", "2.0 ±5.0 %", "3.0 ±5.0 %", "4.2 ±5.0 %"],
        ["relu", "data: (8,)", "0.00150 ±5.0 %", "---", "---"],
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
    text = markdown_text(msgspec.structs.replace(run, records=records))
    titles, _, row = rows_of(text, "Results")
    assert titles[4:] == ["Memory (MB)", "P50 (ms)", "P90 (ms)", "P99 (ms)"]
    assert row[5:] == ["5.000", "7.500", "9.500"]


def test_columns_can_be_named(tmp_path: Path, run: Run) -> None:
    write(run, tmp_path / "out.md", "md", ("backward", "ratio"))
    titles, _, *rows = rows_of((tmp_path / "out.md").read_text(), "Results")
    assert titles[2:] == ["Backward (ms)", "Backward/forward"]
    assert [row[2:] for row in rows] == [["3.0 ±5.0 %", "1.5 ±7.1 %"]] * 2 + [["---"] * 2]


def test_results_come_first_and_the_environment_is_folded(run: Run) -> None:
    lines = markdown_text(run).splitlines()
    parts = [line for line in lines if line.startswith(("#", "<details>", "</details>"))]
    assert parts == [
        "# Operator benchmarks",
        "## Results",
        "## Not measured",
        "## No benchmark",
        "<details><summary>Environment</summary>",
        "</details>",
        "<details><summary>Runtime Features</summary>",
        "</details>",
    ]


def test_uncertain_figures_are_marked_and_the_mark_is_explained(run: Run) -> None:
    first, *others = run.records
    drifting = Note("backward", NoteCode.DRIFT, "drift")
    noted = msgspec.structs.replace(first, notes=(drifting,))
    text = markdown_text(msgspec.structs.replace(run, records=(noted, *others)))
    assert text.count("3.0 ±5.0 % ?") == 1 and text.count(MARK_LEGEND) == 1
    plain = markdown_text(run)
    assert MARK_LEGEND not in plain and LEGEND in plain


def test_markdown_of_nothing(run: Run) -> None:
    text = markdown_text(msgspec.structs.replace(run, records=()))
    assert "Nothing was measured." in text


def fact(run: Run, label: str) -> str | None:
    """What the page tells under this label, if anything."""
    lines = markdown_text(run).splitlines()
    found = [line.partition(": ")[2] for line in lines if line.startswith(f"- {label}: ")]
    return found[0] if found else None


def changed(run: Run, **environment: Any) -> Run:
    """The run in another environment."""
    made = msgspec.structs.replace(run.environment, **environment)
    return msgspec.structs.replace(run, environments={made.id: made})


def test_what_is_not_known_is_not_told(run: Run) -> None:
    bare = msgspec.structs.replace(changed(run, governor="", threads={}, devices=()), closing=None)
    labels = ("Governor", "Thread settings", "Devices", "Time taken")
    assert [fact(run, label) is None for label in labels] == [False] * 4
    assert [fact(bare, label) is None for label in labels] == [True] * 4
    assert "The framework does not report any." in markdown_text(changed(run, features={}))


def test_health_is_told_in_words(run: Run) -> None:
    found = changed(run, health={"frequency_scaling": "on", "swap": "ok"})
    assert fact(found, "Health") == "frequency scaling: on, swap: ok"


def test_all_settings_in_use_are_told(run: Run, make_record: MakeRecord) -> None:
    records = [make_record(str(n)) for n in range(3)]
    for n, settings in enumerate(({"runs": 5}, {"runs": 7, "max_time_s": 2.5}, {"runs": 5})):
        used = msgspec.structs.replace(records[n].case.settings, **settings)
        case = msgspec.structs.replace(records[n].case, settings=used)
        records[n] = msgspec.structs.replace(records[n], case=case)
    mixed = msgspec.structs.replace(run, records=tuple(records))
    assert fact(mixed, "Runs") == "5, 7" and fact(mixed, "Time limit of a case (s)") == "none, 2.5"
    assert fact(mixed, "Warm-up") is None and fact(mixed, "Seed") == "0"
    assert fact(run, "Time limit of a case (s)") is None and fact(run, "Threads") is None
    assert fact(run, "Environment variables") is None and fact(run, "Interpreter") is None


def test_options_are_told_by_their_names() -> None:
    options = {
        "settings": {"runs": 50},
        "selection": {"size": "small", "names": ["a", "b"], "exclude": [], "settings": {"seed": 1}},
        "shuffle": False,
        "limit": 0,
        "only": None,
        "text": "",
        "ids": (),
    }
    assert flatten(options) == [
        ("size", "small"),
        ("names", "a, b"),
        ("shuffle", "False"),
        ("limit", "0"),
    ]


def test_an_option_of_several_words_is_one_label(run: Run) -> None:
    header = msgspec.structs.replace(run.header, options={"max_configs": 3})
    assert fact(msgspec.structs.replace(run, header=header), "Max configs") == "3"


def test_sections_without_content_are_left_out(run: Run, make_record: MakeRecord) -> None:
    header = msgspec.structs.replace(run.header, excluded={})
    text = markdown_text(msgspec.structs.replace(run, header=header, records=(make_record(),)))
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Operator benchmarks",
        "## Results",
    ]


def test_percentiles_are_shown_where_one_case_that_was_measured_has_them(
    run: Run, make_record: MakeRecord
) -> None:
    native, python = make_record("a"), make_record("b", profiler="python")
    failed = make_record("c", Status.FAILED, profiler="python", reason="no")
    for records, shown in (((native, python), True), ((native, failed), False)):
        titles, *_ = rows_of(
            markdown_text(msgspec.structs.replace(run, records=records)), "Results"
        )
        assert ("P50 (ms)" in titles) is shown


def test_numbers_are_aligned_to_the_right_and_texts_to_the_left(run: Run) -> None:
    def to_the_right(section: str) -> list[bool]:
        return [dashes.endswith(":") for dashes in rows_of(text, section)[1]]

    text = markdown_text(run)
    assert to_the_right("Results") == [False, False, True, True, True]
    assert to_the_right("Not measured") == [False] * 4
    assert to_the_right("No benchmark") == [False] * 2


def test_a_text_stays_in_its_cell() -> None:
    row = grid(texts_table(["b", "a"], [["", "one\ntwo | three\\|"]]).columns[1:]).splitlines()[2]
    assert row == "| one two \\| three\\\\\\| |"


def test_a_run_of_random_shapes_may_have_too_few(run: Run) -> None:
    header = msgspec.structs.replace(run.header, options={"selection": {"fuzz": {"count": 1}}})
    text = markdown_text(msgspec.structs.replace(run, header=header))
    assert "## Outliers\n\nNo operator has enough shapes to fit a line.\n" in text


def test_a_sweep_has_tables_by_size(run: Run, make_point: MakeRecord) -> None:
    records = [make_point(name, n=n) for name in ("relu", "exp") for n in (64, 128)]
    failed = make_point("relu", n=256, status=Status.FAILED)
    swept = msgspec.structs.replace(run, records=(*records, failed))
    page = markdown_text(swept)
    section = page.split("## By size\n\n")[1].split("\n\n## ")[0]
    legend, title, table = section.split("\n\n")
    assert legend.startswith("Medians") and title == "Forward by n:"
    titles, line, *rows = [row.strip("|").split("|") for row in table.splitlines()]
    assert [one.strip() for one in titles] == ["n", "exp (us)", "relu (us)"]
    assert all(one.endswith(":") for one in line)
    assert [row[0].strip() for row in rows] == ["64", "128", "256"]
    assert [cell.strip() for cell in rows[2][1:]] == ["---", "failed"]
    assert "## By size" not in markdown_text(run)
