"""What fusing the chains of recordings would save, of records made by hand."""

import msgspec
import pytest

from opperf.instruments.profilers.summary import summarise
from opperf.model import (
    INPUT,
    BandwidthPeak,
    Chain,
    ChainCall,
    ChainTarget,
    DispatchPeak,
    MetricKind,
    Peaks,
    Record,
    Settings,
    Status,
)
from opperf.reports.hotspots.data import find_hotspots
from opperf.reports.hotspots.ranking_report import recording_of, report_of
from tests.recordings import US, called, recording, site

KB = 1000

MM, ADD, RELU, VIEW = (
    called(name, site(f"net.{name}", line=line), shape=(line, 8))
    for line, name in enumerate(("mm", "add", "relu", "view"), 1)
)


def call(case, kind, kb, **feeds):
    return ChainCall(case.call_id, case.label, kind, feeds, kb * KB)


CHAIN = Chain(
    (
        call(MM, "producer", 10, self=(INPUT, 0)),
        call(VIEW, "view", 0, self=(0, 0)),
        call(ADD, "pointwise", 20, self=(1, 0)),
        call(RELU, "pointwise", 10, self=(2, 0)),
    ),
    count=3,
    first=MM.sites[0],
    last=RELU.sites[0],
    places=2,
)

PEAKS = Peaks(
    device="cpu(0)",
    measured="2026-01-01",
    bandwidths=(
        BandwidthPeak(level="L2", kernel="copy", threads=1, bytes=30 * KB, rate=20e9),
        BandwidthPeak(level="memory", kernel="copy", threads=1, bytes=0, rate=10e9),
        BandwidthPeak(level="memory", kernel="read", threads=1, bytes=0, rate=99e9),
        BandwidthPeak(level="memory", kernel="copy", threads=2, bytes=0, rate=40e9),
    ),
    dispatches=(DispatchPeak(framework="torch", ns=4 * US),),
)


def timed(case, us, moved=0, kind=MetricKind.WALL, **settings):
    case = msgspec.structs.replace(case, settings=Settings(device="cpu(0)", **settings))
    return Record(
        case=case,
        id=case.id,
        status=Status.OK,
        summaries={"forward": summarise([us * US] * 20, "ns")},
        time_kind=kind,
        moved_bytes=moved * KB,
    )


def measured(*records, peaks=None, chains=(CHAIN,), **of_recording):
    """A run that has measured the calls of a recording with these chains."""
    run = recording(MM, ADD, RELU, VIEW, step_us=[1000, 1000, 1000], chains=chains, **of_recording)
    records = tuple(msgspec.structs.replace(record, peaks=peaks) for record in records)
    return msgspec.structs.replace(
        run, records=records, cases=tuple(record.case for record in records)
    )


def savings(run):
    (found,) = recording_of(find_hotspots([run]), [run]).savings
    return found


def test_by_shares_of_the_times_of_elementwise_calls():
    run = measured(timed(MM, 500, 100), timed(ADD, 42, 40), timed(RELU, 22, 20), timed(VIEW, 2))
    (row,) = savings(run).rows
    # A view takes 2 us: half of 40 us of the one, half of 20 of the other; nothing of the product.
    assert row.bytes_ns == pytest.approx(3 * (20 + 10) * US)
    assert row.dispatch_ns == pytest.approx(3 * 3 * 2 * US)
    assert row.saved_ns == pytest.approx(108 * US) and row.share == pytest.approx(0.108)
    assert row.between_bytes == 3 * 40 * KB and row.measured is None


def test_by_measured_bandwidths():
    run = measured(
        *(timed(MM, 500, 100, MetricKind.KERNEL, threads=1),),
        *(timed(ADD, 42, 40, MetricKind.KERNEL, threads=1),),
        *(timed(RELU, 0.25, 20, MetricKind.KERNEL, threads=1),),
        peaks=PEAKS,
    )
    found = savings(run)
    (row,) = found.rows
    # 10 kB and 20 kB at the memory's 10 GB/s; 10 kB in L2 would take 0.5 us, and are half of all
    # that the last call moves in a quarter.
    assert row.bytes_ns == pytest.approx(3 * (1 + 2 + 0.125) * US)
    assert row.dispatch_ns == pytest.approx(3 * 3 * 4 * US) and found.has_peaks


def of_chain(mode, us):
    target = ChainTarget("torch", "def chain(x0):\n    return x0\n", CHAIN.name, CHAIN.id)
    return timed(msgspec.structs.replace(MM, target=target, sites=(), count=3), us, mode=mode)


def test_what_was_measured_is_beside_it_and_in_no_ranking():
    calls = timed(MM, 500), timed(ADD, 42, 40), timed(RELU, 22, 20)
    run = measured(*calls, of_chain("eager", 600), of_chain("compile", 550))
    (row,) = savings(run).rows
    assert row.measured.value == pytest.approx(3 * 50 * US) and row.compiled_mode == "compile"
    assert find_hotspots([run]).time == find_hotspots([measured(*calls)]).time
    plain = recording_of(find_hotspots([run]), [run]).accounts
    assert plain == recording_of(find_hotspots([measured(*calls)]), [measured(*calls)]).accounts


def test_without_times_there_are_bytes_alone_and_the_most_come_first():
    smaller = msgspec.structs.replace(CHAIN, calls=CHAIN.calls[2:])
    run = recording(MM, ADD, RELU, VIEW, chains=(smaller, CHAIN))
    found = savings(run)
    assert [row.chain for row in found.rows] == [CHAIN, smaller]
    assert {row.saved_ns for row in found.rows} == {None}
    report = report_of(find_hotspots([run]), recording=recording_of(find_hotspots([run]), [run]))
    (section,) = [one for one in report.sections if one.title == "What fusing would save"]
    titles = [column.title for column in section.table.columns]
    assert titles == ["Chain", "Module", "Line", "Places", "Calls", "Count", "Between"]
    assert section.table.columns[0].cells[0].value == "mm > add > relu"


def test_values_for_programs():
    calls = timed(MM, 500, 100), timed(ADD, 42, 40), timed(RELU, 22, 20), timed(VIEW, 2)
    run = measured(*calls)
    found = find_hotspots([run])
    report = report_of(found, recording=recording_of(found, [run]))
    (made,) = report.data["chains"]
    assert made["id"] == CHAIN.id and made["calls_in_chain"] == 4 and made["calls"] == 3
    assert made["saved_ms"] == pytest.approx(0.108) and made["last_module"] == "net.relu"
    (row,) = [row for row in report.rows if row[0] == "chain"]
    named = dict(zip(report.header, row, strict=True))
    assert named["operator"] == "mm > add > relu" and named["between_kb"] == "120.0"
    assert named["module"] == "net.mm" and float(named["by_dispatch_ms"]) == pytest.approx(0.018)


def test_a_recording_without_chains_has_no_section():
    run = measured(timed(MM, 500), chains=())
    found = find_hotspots([run])
    report = report_of(found, recording=recording_of(found, [run]))
    assert not [one for one in report.sections if one.title]
    assert "saved_ms" not in report.header and report.data["chains"] == []
