"""Rankings by headroom: the time of calls beyond the minimum by the peaks of their machine."""

from __future__ import annotations

import msgspec
import pytest
from click.testing import CliRunner

from opperf.commands.run_files import report
from opperf.errors import UsageError
from opperf.reports.hotspots.data import find_hotspots
from opperf.reports.hotspots.headroom import check_headroom
from opperf.reports.hotspots.ranking_report import report_of, short_text, summary
from opperf.reports.showing import report_of_run
from opperf.reports.summary import summarise
from opperf.reports.writing import write


def test_operators_by_calls_times_headroom(known):
    found = find_hotspots([known], "headroom")
    rows = {row.name: row.headroom for row in found.rows}
    # `zero` is impossible, and leads no ranking; of `odd` no work is known.
    assert list(rows) == ["relu", "mm", "view", "zero", "odd"]
    assert {
        name: own and (own.text, own.time and own.time.value) for name, own in rows.items()
    } == {
        "relu": ("memory 69 %, dispatch", pytest.approx(20e3 + 90e3)),
        "mm": ("compute", pytest.approx(100e3)),
        "zero": ("impossible", None),
        "odd": None,
        "view": ("dispatch", pytest.approx(40e3)),
    }
    assert rows["relu"].attainable == pytest.approx(210 / 320)


def test_what_bounds_the_time_is_said(known):
    assert summary(find_hotspots([known]))[-3:] == [
        "By the peaks of cpu(0) (2026-01-02), 22.0 % of the time is bound by memory, 30.0 % by "
        "compute, 15.0 % by dispatch; 25.0 % could go at most.",
        "1 time, 13.0 % of the sum, has no known operations or bytes, and no bound.",
        "Times of zero are shorter than the peaks allow, and in no headroom: check what the calls "
        "compute, or measure the peaks again.",
    ]


def test_times_of_a_machine_without_peaks_are_told_from_those_without_known_work(
    working, peaked, of
):
    without = working("relu", 100.0, 1, 10.0, 1_000_000, shape=(8,))
    without = msgspec.structs.replace(without, environment="")
    run = peaked(of(working("relu", 300.0, 1, 10.0, 1_000_000), without))
    assert summary(find_hotspots([run]))[-1] == (
        "1 time, 25.0 % of the sum, has no known operations, bytes or peaks, and no bound."
    )


def test_the_peaks_of_two_machines_are_told_apart(working, peaked, of):
    here, there = (peaked(of(working("relu", 300.0, 1, 10.0, 1_000_000))) for _ in range(2))
    ((key, environment),) = there.environments.items()
    (peaks,) = environment.peaks
    later = msgspec.structs.replace(peaks, measured="2026-01-03T00:00:00")
    environment = msgspec.structs.replace(environment, peaks=(later,))
    there = msgspec.structs.replace(there, environments={key: environment})
    said = " ".join(summary(find_hotspots([here, there])))
    assert "By the peaks of cpu(0) (2026-01-02) and cpu(0) (2026-01-03), " in said


def test_bytes_alone_are_said(working, peaked, of):
    run = of(working("relu", 110.0, 1, None, 1_000_000, "minimal"), working("odd", 330.0, 1))
    run = peaked(run)
    assert summary(find_hotspots([run]))[-1] == "25.0 % of the time is judged by its bytes alone."


def titles(made):
    return [
        column.title
        for section in made.sections
        if section.table
        for column in section.table.columns
    ]


def test_tables_and_files_have_the_columns_where_peaks_are_known(known, of):
    ranked = report_of(find_hotspots([known], "headroom"))
    assert titles(ranked)[:7] == [
        "Operator",
        "Time",
        "Share",
        "Bound",
        "Attainable",
        "Headroom",
        "Calls",
    ]
    usual = titles(report_of(find_hotspots([known])))[:7]
    assert usual == ["Operator", "Time", "Share", "Bound", "Attainable", "Sum", "Calls"]
    assert ranked.header[-3:] == ("bound", "attainable", "headroom_ms")
    first = ranked.data["hotspots"][0]
    assert (first["bound"], first["headroom_ms"]) == ("memory 69 %, dispatch", pytest.approx(0.11))
    assert "Bound" not in short_text(known)
    without = msgspec.structs.replace(
        known,
        environments={},
        records=of(
            *(msgspec.structs.replace(record, peaks=None) for record in known.records)
        ).records,
    )
    plain = report_of(find_hotspots([without]))
    assert "Bound" not in titles(plain) and "bound" not in plain.header
    assert "bound" not in plain.data["hotspots"][0]


def test_a_run_and_its_cases_say_it(known):
    assert (
        "1 time is impossible by the peaks of the machine: zero forward (100.0 us; the minimum "
        "is 1.000 ms); check what the call computes" in " ".join(summarise(known, 1.0).split())
    )
    case = known.cases[0]
    shown = report_of_run("run.jsonl", known, [case], {case.id: "mm()"}, 0)
    said = [line for section in shown.sections for line in section.prose]
    assert "forward bound by compute, 67 % of the attainable, headroom 50.00 us" in said[-1]
    assert shown.data["cases"][0]["record"].peaks is None


def test_passes_can_be_judged_apart(working, peaked, of):
    both = working("relu", 110.0, 1, 10.0, 1_000_000, backward_us=220.0)
    both = msgspec.structs.replace(both, moved_backward_bytes=2_000_000)
    run = peaked(of(both))
    rows = find_hotspots([run], "headroom", ("metric",)).rows
    assert [(row.name, row.headroom.time.value) for row in rows] == [
        ("backward", pytest.approx(20e3)),
        ("forward", pytest.approx(10e3)),
    ]


def test_without_peaks_there_is_one_line(program, working, peaked, of, tmp_path):
    write(program, tmp_path / "run.jsonl", "jsonl")
    done = CliRunner().invoke(report, [str(tmp_path / "run.jsonl"), "--rank", "headroom"])
    assert isinstance(done.exception, UsageError)
    assert "measure them there by opperf doctor --peaks" in str(done.exception)
    odd = peaked(of(working("odd", 1.0, 1)))
    with pytest.raises(UsageError, match="no measured time has known operations or bytes"):
        check_headroom(find_hotspots([odd]).headroom, [odd])
