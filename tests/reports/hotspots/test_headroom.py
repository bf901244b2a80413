"""Rankings by headroom: the time of calls beyond the minimum by the peaks of their machine."""

from __future__ import annotations

import msgspec
import pytest
from click.testing import CliRunner

from opperf.commands.run_files import report
from opperf.errors import UsageError
from opperf.model import BandwidthPeak, DispatchPeak, Peaks, ProductPeak
from opperf.reports.hotspots.data import find_hotspots
from opperf.reports.hotspots.headroom import check_headroom
from opperf.reports.hotspots.ranking_report import report_of, short_text, summary
from opperf.reports.writing import write
from tests.environments import make_environment
from tests.results.conftest import summary as statistics

PEAKS = Peaks(
    device="cpu(0)",
    measured="2026-01-02T03:04:05",
    bandwidths=(
        BandwidthPeak(level="L2", kernel="copy", threads=2, bytes=1_000, rate=1e11),
        BandwidthPeak(level="memory", kernel="copy", threads=2, bytes=0, rate=1e10),
    ),
    products=(ProductPeak(dtype="float32", threads=2, rate=1e11, by="x"),),
    dispatches=(DispatchPeak(framework="torch", ns=1_000),),
)
ENVIRONMENT = make_environment("torch", peaks=(PEAKS,))


@pytest.fixture
def working(seen):
    """Makes a record whose work is known: operations, and bytes by formula."""

    def made(name, us, count, flops=None, moved=0, by="formula", **more):
        record = seen(name, us, count, **more)
        counted = {} if flops is None else {"flops": statistics(flops, "count")}
        return msgspec.structs.replace(
            record,
            summaries=record.summaries | counted,
            moved_bytes=moved,
            known_by={"moved_bytes": by} if moved or flops is not None else {},
            environment=ENVIRONMENT.id,
        )

    return made


@pytest.fixture
def model(working, of):
    """A run of 1,000 us: 300 of `mm`, 320 of `relu`, 50 of `view`, 200 of `zero`, 130 of `odd`."""
    run = of(
        # 1e7 operations of at least 100 us; 1 MB of at least 100 us, and 900 bytes of 0.009 us.
        working("mm", 150.0, 2, 1e7, 9_000),
        working("relu", 110.0, 2, 10.0, 1_000_000),
        working("relu", 10.0, 10, 10.0, 900, shape=(8,)),
        working("view", 5.0, 10, 0.0, 0),
        # 10 MB of at least 991 us.
        working("zero", 100.0, 2, 10.0, 10_000_000),
        working("odd", 130.0, 1),
    )
    return msgspec.structs.replace(run, environments={ENVIRONMENT.id: ENVIRONMENT})


def test_operators_by_calls_times_headroom(model):
    found = find_hotspots([model], "headroom")
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


def test_what_bounds_the_time_is_said(model):
    assert summary(find_hotspots([model]))[-3:] == [
        "By the peaks of cpu(0) (2026-01-02), 22.0 % of the time is bound by memory, 30.0 % by "
        "compute, 15.0 % by dispatch; 25.0 % could go at most.",
        "1 time, 13.0 % of the sum, has no known operations or bytes, and no bound.",
        "Times of zero are shorter than the peaks allow, and in no headroom: check what the calls "
        "compute, or measure the peaks again.",
    ]


def test_bytes_alone_are_said(working, of):
    run = of(working("relu", 110.0, 1, None, 1_000_000, "minimal"), working("odd", 330.0, 1))
    run = msgspec.structs.replace(run, environments={ENVIRONMENT.id: ENVIRONMENT})
    assert summary(find_hotspots([run]))[-1] == "25.0 % of the time is judged by its bytes alone."


def titles(made):
    return [
        column.title
        for section in made.sections
        if section.table
        for column in section.table.columns
    ]


def test_tables_and_files_have_the_columns_where_peaks_are_known(model, of):
    ranked = report_of(find_hotspots([model], "headroom"))
    assert titles(ranked)[:7] == [
        "Operator",
        "Time",
        "Share",
        "Bound",
        "Attainable",
        "Headroom",
        "Calls",
    ]
    usual = titles(report_of(find_hotspots([model])))[:7]
    assert usual == ["Operator", "Time", "Share", "Bound", "Attainable", "Sum", "Calls"]
    assert ranked.header[-3:] == ("bound", "attainable", "headroom_ms")
    first = ranked.data["hotspots"][0]
    assert (first["bound"], first["headroom_ms"]) == ("memory 69 %, dispatch", pytest.approx(0.11))
    assert "Bound" not in short_text(model)
    without = msgspec.structs.replace(
        model,
        environments={},
        records=of(
            *(msgspec.structs.replace(record, peaks=None) for record in model.records)
        ).records,
    )
    plain = report_of(find_hotspots([without]))
    assert "Bound" not in titles(plain) and "bound" not in plain.header
    assert "bound" not in plain.data["hotspots"][0]


def test_passes_can_be_judged_apart(working, of):
    both = working("relu", 110.0, 1, 10.0, 1_000_000, backward_us=220.0)
    both = msgspec.structs.replace(both, moved_backward_bytes=2_000_000)
    run = msgspec.structs.replace(of(both), environments={ENVIRONMENT.id: ENVIRONMENT})
    rows = find_hotspots([run], "headroom", ("metric",)).rows
    assert [(row.name, row.headroom.time.value) for row in rows] == [
        ("backward", pytest.approx(20e3)),
        ("forward", pytest.approx(10e3)),
    ]


def test_without_peaks_there_is_one_line(program, working, of, tmp_path):
    write(program, tmp_path / "run.jsonl", "jsonl")
    done = CliRunner().invoke(report, [str(tmp_path / "run.jsonl"), "--rank", "headroom"])
    assert isinstance(done.exception, UsageError)
    assert "measure them there by opperf doctor --peaks" in str(done.exception)
    odd = msgspec.structs.replace(
        of(working("odd", 1.0, 1)), environments={ENVIRONMENT.id: ENVIRONMENT}
    )
    with pytest.raises(UsageError, match="no measured time has known operations or bytes"):
        check_headroom(find_hotspots([odd]).headroom, [odd])
