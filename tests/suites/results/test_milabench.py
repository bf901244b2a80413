"""Milabench's figures are its own to the last digit, and its layout is written and read."""

import math

import msgspec
import numpy as np
import pytest

from opperf.comparison.suites.score_report import milabench_report
from opperf.errors import RunFileError
from opperf.formats.milabench.writing import files_of
from opperf.model import ProcessResult, Status
from opperf.reports.formats import RUN, format_named
from opperf.reports.writing import write
from opperf.results.kept import streams_of
from opperf.suites.results.run import load
from tests.suites.results.making import (
    RUNS,
    event,
    facts_of,
    folder_of,
    rates_around,
    record_of,
    run_of,
    script_case,
    stream_lines,
    suite,
)


def trimmed(values):
    """The values without the lowest and the highest, where there are five or more."""
    ordered = np.sort(values)
    return ordered[1:-1] if len(ordered) >= 5 else ordered


def test_rates_are_pooled_and_trimmed(tmp_path):
    first, second = [1.0, 5.0, 9.0, 7.5], [100.0, 3.25, 8.0]
    folder = folder_of(
        tmp_path / "runs",
        a=stream_lines(first, config={"plan": {"method": "njobs", "n": 2}}),
        b=stream_lines(second, tag="1", config={"plan": {"method": "njobs", "n": 2}}),
    )
    (row,) = load([folder]).milabench_figures().rows
    kept = trimmed(first + second)
    assert row.perf == np.mean(kept) and row.std == np.std(kept) / np.mean(kept)
    assert row.sem == np.std(kept) / len(kept) ** 0.5 / np.mean(kept)
    assert row.score == row.perf and (row.n, row.fail) == (2, 0)


def test_figures_of_its_own_run_by_an_independent_calculation():
    import json

    events = [
        json.loads(line) for path in RUNS.glob("*.data") for line in path.read_text().splitlines()
    ]
    data = [one["data"] for one in events if one["event"] == "data"]
    rates = trimmed([one["rate"] for one in data if "rate" in one])
    memories = {}
    for one in data:
        for device, state in one.get("gpudata", {}).items():
            if state["load"]:
                memories.setdefault(device, []).append(state["memory"][0])
    figures = load([RUNS]).milabench_figures()
    (row,) = figures.rows
    assert row.perf == np.mean(rates)
    assert row.peak_memory == max(max(trimmed(found)) for found in memories.values())
    assert figures.score == np.exp(np.log(np.mean(rates) + 1))


def test_the_score_is_the_sum_over_devices_times_the_share_of_successes(tmp_path):
    plan = {"method": "per_gpu"}
    streams = {
        f"d{device}": stream_lines(
            [10.0 + device, 11.0, 13.0],
            tag=f"D{device}",
            config={"device": device, "devices": [device], "plan": plan},
            code=device,
        )
        for device in (0, 1)
    }
    (row,) = load([folder_of(tmp_path / "runs", **streams)]).milabench_figures().rows
    sums = np.mean([10.0, 11.0, 13.0]) + np.mean([11.0, 11.0, 13.0])
    assert (row.n, row.fail, row.ngpu) == (2, 1, 1)
    assert row.score == sums * (1 - 1 / 2)


def test_the_total_is_of_the_scores_plus_one_and_what_did_not_run_counts_zero(tmp_path):
    folder = folder_of(
        tmp_path / "runs",
        a=stream_lines([4.0, 4.0], name="a", config={"weight": 2.0}),
        b=stream_lines([9.0, 9.0], name="b", config={"weight": 3.0}),
        # Without its end it is passed over.
        c=stream_lines([7.0, 7.0], name="c", config={"weight": 5.0})[:-1],
    )
    figures = load([folder]).milabench_figures()
    weights = np.array([2.0, 3.0, 5.0])
    scores = np.array([4.0, 9.0, 0.0])
    assert figures.score == np.exp(np.sum(np.log(scores + 1) * weights) / np.sum(weights))
    assert math.isnan(figures.rows[2].n) and figures.failure_rate == 0.0 and figures.passes
    assert figures.ignored == [str(folder / "c.data")]


def test_the_maximum_of_the_memory_is_dropped_and_idle_samples_do_not_count(tmp_path):
    def gpu(used, load, power=100.0):
        return {"0": {"memory": [used, 1000.0], "load": load, "power": power}}

    used = [500.0, 600.0, 900.0, 400.0, 550.0]
    samples = [(gpu(one, 0.5, 100.0 + i), 10.0 + i) for i, one in enumerate(used)]
    samples.append((gpu(990.0, 0.0), 15.0))
    folder = folder_of(tmp_path / "runs", a=stream_lines([2.0, 2.0], gpus=samples))
    (row,) = load([folder]).milabench_figures().rows
    assert row.peak_memory == 600.0
    assert row.median_watt == np.percentile([101.0, 102.0, 103.0], 50)
    powers = [101.0, 102.0, 103.0, 104.0, 100.0]
    assert row.energy_kj == pytest.approx(sum(powers) / 1000)
    assert row.perf_watt == pytest.approx(2.0 / (row.energy_kj / 5.0))


def test_price_over_score(tmp_path):
    folder = folder_of(tmp_path / "runs", a=stream_lines([4.0, 4.0]))
    run = load([folder])
    report = milabench_report(run, 100.0)
    assert report.data["rpp"] == 100.0 / run.milabench_figures().score
    assert report.data["rpp"] == 100.0 / np.exp(np.log(4.0 + 1))


def test_a_run_is_written_in_its_layout_and_read_again(tmp_path):
    records = [
        record_of(script_case("a"), rates_around(10), wall_s=3.0),
        record_of(script_case("b"), rates_around(20), Status.TIMEOUT, "no end after 9 s"),
    ]
    benches = [
        facts_of(records[0], name="a", weight=2.0, group="g", tags=("t",)),
        facts_of(records[1], name="b"),
    ]
    folder = tmp_path / "out"
    write(run_of(benches, records), folder, "milabench")
    assert sorted(path.name for path in folder.iterdir()) == ["a.0.data", "b.0.data"]
    again = load([folder])
    (a, b) = again.benches
    assert (a.facts.weight, a.facts.group, a.facts.tags) == (2.0, "g", ("t",))
    assert a.processes[0].observed.rates == tuple(rates_around(10))
    assert b.processes[0].result.status is Status.TIMEOUT
    with pytest.raises(Exception, match="exists"):
        write(run_of(benches, records), folder, "milabench")


def test_stored_streams_are_written_as_they_came(tmp_path):
    lines = stream_lines([3.0, 4.0], losses=[float("nan")], config={"extra": "kept"})
    (tmp_path / "own.data").write_text("\n".join(lines))
    result = ProcessResult(name="0", status=Status.OK, stream="own.data")
    record = record_of(script_case("bench"), processes=(result,))
    files = files_of(run_of([facts_of(record)], [record]), tmp_path)
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "bench.0.data").write_bytes(files["bench.0.data"])
    (bench,) = load([tmp_path / "again"]).benches
    seen = bench.processes[0].observed
    assert seen.rates == (3.0, 4.0) and math.isnan(seen.losses[0])
    assert seen.config["extra"] == "kept"


def test_a_run_without_programs_has_no_such_layout(run_without_programs):
    with pytest.raises(RunFileError, match="no program"):
        files_of(run_without_programs, None)
    assert format_named("milabench", RUN).folder


@pytest.fixture
def run_without_programs():
    return run_of([], [])


def test_what_a_process_printed_is_beside_its_stream(tmp_path):
    lines = [event("line", "hello\n", "stdout"), event("line", "bye", "stderr")]
    (tmp_path / "own.data").write_text("\n".join([*stream_lines([3.0])[:-1], *lines]))
    result = ProcessResult(name="0", status=Status.OK, stream="own.data")
    record = record_of(script_case("bench"), processes=(result,))
    files = files_of(run_of([facts_of(record)], [record]), tmp_path)
    assert files["bench.0.stdout"] == b"hello\n" and files["bench.0.stderr"] == b"bye\n"


def test_runs_of_opperf_have_its_figures_with_the_weights_and_devices_of_the_run(tmp_path):
    results = []
    streams_of(tmp_path / "run.jsonl").mkdir()
    for device, rates in (("0", [10.0, 10.0]), ("1", [20.0, 20.0])):
        lines = stream_lines(rates, config={"plan": {"method": "per_gpu"}})
        (streams_of(tmp_path / "run.jsonl") / device).write_text("\n".join(lines))
        results.append(ProcessResult(name=device, device=device, status=Status.OK, stream=device))
    record = record_of(script_case(method="per_gpu", processes=2), processes=tuple(results))
    run = suite(tmp_path, [facts_of(record, weight=3.0, config={"name": "bench"})], [record])
    (row,) = run.milabench_figures().rows
    assert (row.score, row.weight, row.enabled) == (30.0, 3.0, True)


def test_rounds_of_a_record_are_repeats(tmp_path):
    record = record_of(script_case("a"), rates_around(10))
    other = msgspec.structs.replace(record.processes[0], node="n2")
    nodes = msgspec.structs.replace(record, processes=(*record.processes, other))
    files = files_of(run_of([facts_of(nodes, name="a")], [nodes]), None)
    assert sorted(files) == ["a.0.data", "a.n2.0.data"]
    again = msgspec.structs.replace(record, processes=record.processes * 3)
    files = files_of(run_of([facts_of(again, name="a")], [again]), None)
    assert sorted(files) == ["a.0.R1.data", "a.0.R2.data", "a.0.data"]
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (bench,) = load([tmp_path]).benches
    assert [len(found) for found in bench.attempts.values()] == [3]
