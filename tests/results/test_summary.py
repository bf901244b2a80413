"""The text after a run."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from opperf.model import Record, Run, Status
from opperf.results.summary import REASONS, WIDTH, summarise

MakeRecord = Callable[..., Record]


def test_summary_counts_and_groups(run: Run) -> None:
    text = summarise(run, 61.0)
    assert text.startswith("5 operators, 6 records (3 ok, 2 skipped, 1 crashed), in 1 min 01 s\n")
    assert "  2 skipped: does not take int8 (argmax, argmin)\n" in text
    assert "  1 crashed: the worker died: signal 11 | core dumped (svd)\n" in text
    assert "No benchmark for 2 operators:\n" in text
    assert "  1: needs a class: Custom" in text
    assert "  1: no rule: Proposal" in text


def test_summary_names_the_ten_slowest(run: Run, make_record: MakeRecord) -> None:
    base = make_record()
    records = tuple(
        make_record(
            f"op{i:02d}",
            summaries={
                "forward": msgspec.structs.replace(base.summaries["forward"], median=1e6 * i)
            },
        )
        for i in range(1, 15)
    )
    text = summarise(msgspec.structs.replace(run, records=records), 1.0)
    named = [line.split()[0] for line in text.splitlines() if line.startswith("op")]
    assert named == [f"op{i:02d}" for i in range(14, 4, -1)]
    assert "Forward ms" in text and "\nop14" in text


def test_summary_caps_reasons_but_loses_nobody(run: Run, make_record: MakeRecord) -> None:
    records = tuple(make_record(f"op{i}", Status.FAILED, reason=f"reason {i}") for i in range(25))
    header = msgspec.structs.replace(
        run.header, excluded={f"name{i}": f"why {i}" for i in range(25)}
    )
    text = summarise(msgspec.structs.replace(run, header=header, records=records), 1.0)
    assert f"  {25 - REASONS} more, for {25 - REASONS} other reasons, in the output" in text
    assert all(f"name{i}" in text for i in range(25))
    assert max(len(line) for line in text.splitlines()) <= WIDTH


def test_summary_of_one(run: Run) -> None:
    one = msgspec.structs.replace(run, records=run.records[:1])
    assert summarise(one, 1.0).startswith("1 operator, 1 record (1 ok), in 1.0 s")


def test_summary_of_nothing(run: Run) -> None:
    header = msgspec.structs.replace(run.header, excluded={})
    empty = msgspec.structs.replace(run, header=header, records=())
    assert summarise(empty, 0.5) == "0 operators, 0 records, in 0.5 s"


def not_measured(run: Run, make_record: MakeRecord, *reasons: str) -> list[str]:
    """What is said of operators that failed for these reasons, `op0` for the first and so on."""
    records = tuple(
        make_record(f"op{i}", Status.FAILED, reason=reason) for i, reason in enumerate(reasons)
    )
    header = msgspec.structs.replace(run.header, excluded={})
    text = summarise(msgspec.structs.replace(run, header=header, records=records), 1.0)
    return text.split("Not measured:\n")[1].splitlines()


def test_summary_names_three_examples(run: Run, make_record: MakeRecord) -> None:
    assert not_measured(run, make_record, *"aaa") == ["  3 failed: a (op0, op1, op2)"]
    assert not_measured(run, make_record, *"aaaa") == ["  4 failed: a (op0, op1, op2 and 1 other)"]
    assert not_measured(run, make_record, *"aaaaa") == [
        "  5 failed: a (op0, op1, op2 and 2 others)"
    ]


def test_summary_counts_cases_and_names_operators(run: Run, make_record: MakeRecord) -> None:
    records = tuple(make_record("relu", Status.TIMEOUT, (n,), reason="slow") for n in range(5))
    text = summarise(msgspec.structs.replace(run, records=records), 1.0)
    assert text.startswith("1 operator, 5 records (5 timeout), in 1.0 s\n")
    assert "  5 timeout: slow (relu)\n" in text


def test_summary_tells_ten_reasons_the_most_frequent_first(
    run: Run, make_record: MakeRecord
) -> None:
    ten = "cabdefghij"
    lines = not_measured(run, make_record, *ten, "b")
    assert lines[0] == "  2 failed: b (op2, op10)"
    assert [line.split()[2] for line in lines[1:]] == list("acdefghij")
    lines = not_measured(run, make_record, *ten, "k", "aa", "k", "aa", "k")
    assert [line.split()[2] for line in lines[:2]] == ["k", "aa"] and len(lines) == 11
    assert lines[-1] == "  2 more, for 2 other reasons, in the output"
    assert not_measured(run, make_record, *ten, "k")[-1] == (
        "  1 more, for 1 other reason, in the output"
    )


def test_summary_wraps_long_reasons_and_cuts_them_at_two_lines(
    run: Run, make_record: MakeRecord
) -> None:
    lines = not_measured(run, make_record, "long-word " * 30)
    assert lines[0].startswith("  1 failed: long-word ") and len(lines) == 3
    assert all(line.startswith("    long-word") for line in lines[1:])
    assert lines[-1].endswith("... (op0)")
    words = " ".join(line.strip() for line in lines)
    assert len(words.removeprefix("1 failed: ").removesuffix(" (op0)")) == 2 * WIDTH
    # A line of a hundred characters fits, one of a hundred and one does not.
    hundred = f"{'x' * 47} {'y' * 48}"
    assert f"    {hundred}" in not_measured(run, make_record, f"{'z' * 80} {hundred}")
    assert f"    {'x' * 47}" in not_measured(run, make_record, f"{'z' * 80} {hundred}y")
    # A word that is longer than a line, a path as it may be, is kept in one piece.
    assert "/" * 120 in " ".join(not_measured(run, make_record, f"no {'/' * 120} here"))


def test_summary_groups_operators_without_a_benchmark(run: Run) -> None:
    reasons = {f"op{i:02d}": f"reason {i:02d}" for i in range(13)} | {"z": "reason 05"}
    header = msgspec.structs.replace(run.header, excluded=reasons)
    text = summarise(msgspec.structs.replace(run, header=header, records=()), 1.0)
    lines = text.split("No benchmark for 14 operators:\n")[1].splitlines()
    assert lines[0] == "  2: reason 05: op05, z"
    assert lines[1:10] == [f"  1: reason {i:02d}: op{i:02d}" for i in range(10) if i != 5]
    assert lines[10:] == ["  3: for other reasons: op10, op11, op12"]


def test_summary_cuts_why_there_is_excluded_at_two_lines(run: Run) -> None:
    header = msgspec.structs.replace(run.header, excluded={"Custom": "long-word " * 30})
    text = summarise(msgspec.structs.replace(run, header=header, records=()), 1.0)
    words = " ".join(text.split("No benchmark for 1 operator:")[1].split())
    assert words.startswith("1: long-word") and words.endswith("...: Custom")
    assert len(words.removeprefix("1: ").removesuffix(": Custom")) == 2 * WIDTH


def test_summary_has_no_other_reasons_where_there_are_none(run: Run) -> None:
    header = msgspec.structs.replace(run.header, excluded={str(i): f"{i}" for i in range(10)})
    text = summarise(msgspec.structs.replace(run, header=header, records=()), 1.0)
    assert "other reasons" not in text


def test_summary_of_the_slowest_is_a_table(run: Run, make_record: MakeRecord) -> None:
    records = (make_record("1e5", text="t" * 99), make_record("relu", summaries={}))
    text = summarise(msgspec.structs.replace(run, records=records), 1.0)
    titles, _, row = text.split("\n\n")[1].splitlines()
    assert titles.split("  ")[0] == "Slowest" and titles.endswith("Forward ms")
    # The interval reaches 5 % to both sides of 2 ms.
    assert row.split()[0] == "1e5" and row.endswith("  2.0 ±5.0 %")
    assert len(row.removeprefix("1e5").removesuffix("2.0 ±5.0 %").strip()) == 60
