"""What the peaks of a machine, made by hand, say of times."""

from __future__ import annotations

import csv
import io

import msgspec
import pytest

from opperf.model import (
    BandwidthPeak,
    Case,
    DispatchPeak,
    MetricKind,
    ModelTarget,
    Note,
    NoteCode,
    OperatorTarget,
    Peaks,
    ProductPeak,
    Record,
    Run,
    Settings,
    Status,
    TensorSpec,
)
from opperf.results import opperf_json
from opperf.results.columns import csv_text, known_columns
from opperf.results.roofline import roofline_of
from opperf.results.runfile import RunWriter, read_run
from tests.environments import make_environment
from tests.results.conftest import summary

GIGA = 1e9


def bandwidth(level, threads, size, rate, kernel="copy"):
    return BandwidthPeak(level=level, kernel=kernel, threads=threads, bytes=size, rate=rate * GIGA)


def product(dtype, threads, rate):
    return ProductPeak(dtype=dtype, threads=threads, rate=rate * GIGA, by="x")


PEAKS = Peaks(
    device="cpu(0)",
    measured="2026-01-02T03:04:05",
    bandwidths=(
        bandwidth("memory", 1, 0, 10),
        bandwidth("memory", 1, 0, 8, "triad"),
        bandwidth("L2", 1, 1_000_000, 40),
        bandwidth("L1d", 1, 10_000, 100, "read"),
        bandwidth("memory", 4, 0, 20),
        bandwidth("L2", 4, 4_000_000, 160),
        bandwidth("L1d", 4, 40_000, 400),
    ),
    products=(
        product("float32", 1, 100),
        product("float32", 4, 400),
        product("float64", 1, 50),
        product("float64", 4, 200),
    ),
    dispatches=(DispatchPeak(framework="torch", ns=500),),
)

COUNTED = {"flops": "formula", "moved_bytes": "formula"}


def timed(
    ns,
    flops=None,
    moved=0,
    known_by=COUNTED,
    kind=MetricKind.WALL,
    name="mm",
    dtype="float32",
    peaks=PEAKS,
    notes=(),
    framework="torch",
    backward=(),
    operation="matrix_product",
    **settings,
):
    """A record of one thread, unless another number is given, that takes so many nanoseconds."""
    case = Case(
        target=OperatorTarget(framework, name),
        arguments={"self": TensorSpec((4,), dtype), "index": TensorSpec((4,), "int64")},
        settings=Settings(**{"threads": 1, **settings}),
    )
    summaries = {"forward": summary(ns)}
    if flops is not None:
        summaries["flops"] = summary(flops, "count")
    summaries |= {name: summary(value) for name, value in dict(backward).items()}
    return Record(
        case=case,
        id=case.id,
        status=Status.OK,
        summaries=summaries,
        operation=operation,
        moved_bytes=moved,
        known_by=known_by if moved or flops is not None else {},
        time_kind=kind,
        peaks=peaks,
        notes=tuple(notes),
    )


@pytest.mark.parametrize(
    ("made", "bound", "level", "least"),
    [
        # 8 MB at 10 GB/s; 8 kB in the first cache, 800 kB in the second.
        (timed(1e6, 1.0, 8_000_000), "memory", "memory", 800_000),
        (timed(1e6, 1.0, 800_000), "memory", "L2", 20_000),
        (timed(1e6, 1.0, 10_000, kind=MetricKind.KERNEL), "memory", "L1d", 100),
        (timed(1e6, 1.0, 8_000, kind=MetricKind.KERNEL, cache="cold"), "memory", "memory", 800),
        # Four threads have four times as much of the second cache; all are the most measured.
        (timed(1e6, 1.0, 3_200_000, threads=4), "memory", "L2", 20_000),
        (timed(1e6, 1.0, 3_200_000, threads=None), "memory", "L2", 20_000),
        (timed(1e6, 1.0, 3_200_000, threads=2), "memory", "L2", 20_000),
        (timed(1e6, 1.0, 3_200_000), "memory", "memory", 320_000),
        # 10 million operations at 100 GFLOP/s, in double precision at 50.
        (timed(1e6, 1e7, 8_000), "compute", "", 100_000),
        (timed(1e6, 1e7, 8_000, dtype="float64"), "compute", "", 200_000),
        (timed(1e6, 1e7, 8_000, autocast="float64"), "compute", "", 200_000),
        (timed(1e6, 1e7, 8_000, threads=8), "compute", "", 25_000),
        # A call of the framework that does nothing takes 500 ns; kernels need no call.
        (timed(1_000, 1.0, 8_000), "dispatch", "", 500),
        (timed(600, 1.0, 8_000), "launch", "", 500),
        (timed(600, 1.0, 8_000, kind=MetricKind.KERNEL), "memory", "L1d", 80),
        (timed(600, 1.0, 8_000, framework="numpy"), "memory", "L1d", 80),
        (
            timed(
                600,
                1.0,
                8_000,
                kind=MetricKind.KERNEL,
                notes=[Note("forward", NoteCode.LAUNCH_BOUND, "x")],
            ),
            "launch",
            "",
            80,
        ),
        # A view moves nothing, which is known.
        (timed(5_000, 0.0, 0), "dispatch", "", 500),
    ],
)
def test_the_least_time_and_what_bounds_it(made, bound, level, least):
    found = roofline_of(made)
    assert (found.bound, found.level, found.minimum_ns) == (bound, level, pytest.approx(least))
    assert found.attainable == pytest.approx(least / found.time.median)
    assert found.headroom_ns == pytest.approx(found.time.median - least)


@pytest.mark.parametrize(
    ("ratio", "bytes_by", "bound"),
    [
        (0.79, "formula", "impossible"),
        (0.81, "formula", "memory"),
        # A call may read less than all of its inputs: the time shows that it does.
        (0.79, "minimal", None),
        (0.81, "minimal", "memory"),
    ],
)
def test_a_time_below_the_peaks_is_impossible_if_all_bytes_are_moved(ratio, bytes_by, bound):
    # Of 8 MB each cache may have as much as it holds.
    minimum_ns = 10_000 / 100 + 1_000_000 / 40 + 6_990_000 / 10
    known_by = {"moved_bytes": bytes_by}
    found = roofline_of(timed(ratio * minimum_ns, moved=8_000_000, known_by=known_by))
    assert (found and found.bound) == bound


@pytest.mark.parametrize(
    ("changes", "is_impossible"),
    [
        ({}, True),
        # Winograd's algorithm multiplies less; an option may allow fewer digits; a peak of float64
        # is not that of float16.
        ({"operation": "convolution"}, False),
        # A layer or a function of the user's may convolve, by any name.
        ({"operation": ""}, False),
        ({"name": "in conv"}, True),
        ({"options": {"x": "true"}}, False),
        (
            {
                "dtype": "float16",
                "peaks": msgspec.structs.replace(PEAKS, products=PEAKS.products[2:]),
            },
            False,
        ),
        # The four threads' peak is nearest to eight, which may be faster.
        ({"threads": 8}, False),
    ],
)
def test_a_time_is_impossible_only_by_the_peak_of_what_it_does(changes, is_impossible):
    flops = 1e8 if changes.get("threads") is None else 4e8
    found = roofline_of(timed(700_000, flops, 8_000, **changes))
    assert (found is not None and found.is_impossible) == is_impossible
    if is_impossible:
        assert found.headroom_ns is None and found.attainable is None
        assert found.minimum_ns == pytest.approx(1e6) and found.level == ""


def test_what_is_in_a_faster_cache_attains_all_and_no_more():
    # All 8 MB at the memory's bandwidth take 800 us, and 725 us as each cache has a part.
    found = roofline_of(timed(750_000, moved=8_000_000))
    assert (found.bound, found.attainable, found.headroom_ns) == ("memory", 1.0, 0.0)


def test_a_view_takes_less_than_the_shortest_call_and_is_all_that_can_be_attained():
    found = roofline_of(timed(170, 0.0, 0))
    assert (found.bound, found.attainable, found.headroom_ns) == ("launch", 1.0, 0.0)


def test_what_a_bound_lacks_is_said():
    assert roofline_of(timed(1e6, None, 8_000_000)).remarks == ("by its bytes alone",)
    assert roofline_of(timed(1e6, 1e7, 0, {})).remarks == ("by its operations alone",)
    half = roofline_of(timed(1e6, 1e7, 8_000, dtype="bfloat16"))
    assert half.remarks == ("by the peak of float32; bfloat16 has none",)
    assert (half.bound, half.minimum_ns) == ("compute", pytest.approx(100_000))


WITHOUT = [
    timed(1e6),
    timed(1e6, 1.0, 8_000_000, peaks=None),
    timed(0.0, 1.0, 8_000_000),
    timed(1e6, 1.0, 8_000_000, notes=[Note("forward", NoteCode.CONSTANT, "x")]),
    msgspec.structs.replace(timed(1e6, 1.0, 8_000_000), summaries={}),
]


@pytest.mark.parametrize("made", WITHOUT)
def test_without_work_peaks_or_a_time_of_the_work_nothing_is_said(made):
    assert roofline_of(made) is None


def test_the_count_of_a_trained_model_is_of_no_pass():
    made = timed(1e6, 1e7, 8_000, backward={"backward": 2e6})
    model = msgspec.structs.replace(made.case, target=ModelTarget("torch", "net"))
    assert roofline_of(msgspec.structs.replace(made, case=model)).bound == "dispatch"


COLUMNS = {
    "flop_rate": 2.0,
    "bandwidth": 8.0,
    "intensity": 0.25,
    "attainable": 80.0,
    "headroom": 200_000.0,
    "flop_rate_backward": 4.0,
    "attainable_backward": 4.0,
    "headroom_backward": 960_000.0,
}


def test_figures_and_texts_of_both_passes():
    made = timed(1e6, 2e6, 8_000_000, backward={"backward": 1e6})
    counted = made.summaries | {"flops_backward": summary(4e6, "count")}
    made = msgspec.structs.replace(
        made,
        summaries=counted,
        moved_backward_bytes=80_000,
        known_by=COUNTED | {"moved_backward_bytes": "minimal", "flops_backward": "count"},
    )
    known = known_columns()
    for name, value in COLUMNS.items():
        figure = known[name].read(made)
        assert figure.value == pytest.approx(value), name
    assert known["attainable"].read(made).share == pytest.approx(0.05)
    # What is left varies as much as the time itself.
    assert known["headroom"].read(made).half_width == pytest.approx(50_000)
    texts = {name: column.text(made) for name, column in known.items() if column.text}
    assert texts == {
        "bound": "memory",
        "bound_level": "memory",
        "bound_note": "",
        "flops_by": "formula",
        "bytes_by": "formula",
        "bound_backward": "compute",
        "bound_level_backward": "",
        "bound_note_backward": "",
        "flops_by_backward": "count",
        "bytes_by_backward": "minimal",
    }


def in_run(run: Run, *records: Record) -> Run:
    cases = tuple(record.case for record in records)
    return msgspec.structs.replace(run, records=records, cases=cases)


def rows_of(run):
    return list(csv.DictReader(io.StringIO(csv_text(run))))


def test_files_have_them_where_work_or_peaks_are_known(run):
    full = timed(1e6, 2e6, 8_000_000)
    impossible = timed(100_000, 2e6, 8_000_000, name="zero")
    first, second, third = rows_of(in_run(run, timed(1e6), full, impossible))
    assert (second["flop_rate_GFLOP/s"], second["attainable_%"]) == ("2.0", "80.0")
    assert (second["headroom_ms"], second["bound"], second["flops_by"]) == (
        "0.2",
        "memory",
        "formula",
    )
    assert [third[name] for name in ("bound", "headroom_ms", "attainable_%", "bound_level")] == [
        *("impossible", "", "", "")
    ]
    assert first["bound"] == ""
    result = opperf_json.result_of(full)
    assert (result["bound"], result["headroom_ms"]) == ("memory", pytest.approx(0.2))
    assert {"bound", "headroom_ms"} <= set(opperf_json.meanings([full]))
    ours = opperf_json.result_of(timed(1e6, 2e6, 8_000_000, framework="mxnet"))
    assert set(ours) == {
        "inputs",
        "details",
        "avg_time_forward_mm",
        "p50_time_forward_mm",
        "p90_time_forward_mm",
        "p99_time_forward_mm",
    }


def test_files_without_work_or_peaks_are_as_before(run):
    plain = timed(1e6, None, 8_000_000, peaks=None)
    (row,) = rows_of(in_run(run, plain))
    assert [name for name in row if "bound" in name or "bandwidth" in name] == []
    assert "bandwidth_GB/s" not in opperf_json.result_of(plain)


def test_records_of_a_run_know_the_peaks_of_their_environment(run, header, tmp_path):
    environment = make_environment("torch", peaks=(PEAKS,))
    made = timed(1e6, 1.0, 8_000_000, peaks=None)
    made = msgspec.structs.replace(made, environment=environment.id)
    other = timed(1e6, 1.0, 8_000_000, peaks=None, device="gpu(0)")
    other = msgspec.structs.replace(other, environment=environment.id)
    path = tmp_path / "run.jsonl"
    with RunWriter.create(path, header, [made.case, other.case]) as writer:
        writer.environment(environment)
        writer.record(made)
        writer.record(msgspec.structs.replace(other, peaks=PEAKS))
    found, _ = read_run(path)
    assert [record.peaks for record in found.records] == [PEAKS, None]
    assert path.read_text().count('"bandwidths"') == 1
    built = Run(header, (made,), environments={environment.id: environment})
    assert built.records[0].peaks == PEAKS
