"""The text after a run."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from opperf.instruments.profilers.summary import summarise as summary_of
from opperf.model import Note, NoteCode, Record, Run, Status
from opperf.reports.summary import REASONS, SLOWEST, WIDTH, summarise
from opperf.reports.text import INPUTS_WIDTH
from opperf.results.units import MARK_LEGEND

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


def test_the_slowest_are_in_the_order_of_the_figures_that_are_shown(
    run: Run, make_record: MakeRecord
) -> None:
    """11.45 with a wide interval is shown as 11, and stands below 11.4."""
    base = make_record().summaries["forward"]
    shares = {11.45: 0.09, 11.4: 0.001, **{float(n): 0.001 for n in range(1, 11)}}
    records = tuple(
        make_record(
            f"op{ms}",
            summaries={
                "forward": msgspec.structs.replace(
                    base,
                    median=1e6 * ms,
                    ci_low=1e6 * ms * (1 - share),
                    ci_high=1e6 * ms * (1 + share),
                )
            },
        )
        for ms, share in shares.items()
    )
    text = summarise(msgspec.structs.replace(run, records=records), 1.0)
    named = [line.split()[0] for line in text.splitlines() if line.startswith("op")]
    assert named[:3] == ["op11.4", "op11.45", "op10.0"]


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
    others = (make_record(f"op{n}") for n in range(SLOWEST))
    records = (make_record("1e5", text="t" * 99), make_record("relu", summaries={}), *others)
    text = summarise(msgspec.structs.replace(run, records=records), 1.0)
    titles, _, row, *rows = text.split("\n\n")[1].splitlines()
    assert len(rows) == SLOWEST - 1
    assert titles.split("  ")[0] == "Slowest" and titles.endswith("Forward ms")
    # The interval reaches 5 % to both sides of 2 ms.
    assert row.split()[0] == "1e5" and row.endswith("  2.0 ±5.0 %")
    inputs = row.removeprefix("1e5").removesuffix("2.0 ±5.0 %").strip()
    assert len(inputs) == INPUTS_WIDTH and inputs.endswith("t…")


def test_the_summary_counts_uncertain_figures(run: Run, make_record: MakeRecord) -> None:
    noted = msgspec.structs.replace(
        make_record(), notes=(Note("forward", NoteCode.DRIFT, "drift"),)
    )
    records = (noted, *(make_record(f"op{n}") for n in range(SLOWEST)))
    text = summarise(msgspec.structs.replace(run, records=records), 1.0)
    assert "\n\n1 of 22 figures is uncertain; opperf doctor says why\n\n" in text
    assert text.count(" ?\n") == 1 and text.count(MARK_LEGEND) == 1
    plain = summarise(msgspec.structs.replace(run, records=(make_record(),)), 1.0)
    assert "uncertain" not in plain


def test_removed_work_is_marked_and_told_in_the_notes(run: Run, make_record: MakeRecord) -> None:
    noted = msgspec.structs.replace(
        make_record(), notes=(Note("forward", NoteCode.DEAD_CODE, "97% is gone"),)
    )
    text = summarise(msgspec.structs.replace(run, records=(noted,)), 1.0)
    assert "1 of 2 figures is uncertain; the notes say why\n" in text
    assert f"{noted.case.label}: 97% is gone" in text


def test_single_samples_are_uncertain_for_another_reason(run: Run, make_record: MakeRecord) -> None:
    record = make_record(summaries={"forward": summary_of([5000.0], "ns")})
    settings = msgspec.structs.replace(record.case.settings, runs=1)
    single = msgspec.structs.replace(
        record, case=msgspec.structs.replace(record.case, settings=settings)
    )
    text = summarise(msgspec.structs.replace(run, records=(single,)), 1.0)
    assert (
        "1 of 1 figure is uncertain; -r 1 takes a single sample, whose uncertainty is unknown"
        in text
    )


def test_the_summary_names_what_was_measured_again(run: Run, make_record: MakeRecord) -> None:
    stall = Note("forward", NoteCode.STALL, "the first measurement stalled")
    records = tuple(
        msgspec.structs.replace(make_record(f"op{n}"), notes=(stall,)) for n in range(5)
    )
    text = summarise(msgspec.structs.replace(run, records=records), 1.0)
    named = [line for line in text.splitlines() if "stalled" in line]
    assert named == [
        *(f"op{n}: forward: the first measurement stalled" for n in range(3)),
        "2 other cases stalled too; see the notes",
    ]


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_summary_fits_the_terminal(run: Run, make_record: MakeRecord, width: int) -> None:
    stall = Note("forward", NoteCode.STALL, "the first measurement stalled " * 9)
    drift = Note("backward", NoteCode.DRIFT, "drift")
    records = [
        msgspec.structs.replace(make_record(f"op{n}", text="word " * 30), notes=(stall, drift))
        for n in range(3)
    ]
    failed = [make_record("svd", Status.FAILED, reason="no memory " * 30)]
    made = msgspec.structs.replace(run, records=(*records, *failed))
    text = summarise(made, 1.0, width)
    assert max(map(len, text.splitlines())) <= width
    # Each paragraph uses the width.
    assert sum(len(line) > width - 20 for line in text.splitlines()) >= 4
