"""Streams, run files and folders of milabench's layout are read into one model."""

import math

import pytest

from opperf.errors import RunFileError, UsageError
from opperf.formats.milabench.streams import observe, read_stream, warmup_of
from opperf.instruments.profilers.summary import summarise
from opperf.model import ProcessResult, Status
from opperf.results.kept import streams_of
from opperf.suites.results.run import load
from tests.environments import make_environment
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
    written,
)


def test_a_line_that_is_no_event_costs_itself_and_is_named(tmp_path):
    path = tmp_path / "bench.0.data"
    good = event("data", {"task": "train", "rate": 5.0})
    deep = "[" * 100_000
    path.write_bytes(
        "\n".join([good, "garbage", '{"no": "event"}', deep, "", "\x00", good]).encode()
        + b'\n{"event": "da'
    )
    stream = read_stream(path)
    assert [one.data["rate"] for one in stream.events] == [5.0, 5.0]
    assert [fault.partition(": ")[0] for fault in stream.faults] == [
        f"{path}:2",
        f"{path}:3",
        f"{path}:4",
        f"{path}",
        f"{path}",
    ]
    assert "1 more line" in stream.faults[3] and "cut short" in stream.faults[4]


def test_a_last_line_without_its_newline_is_whole(tmp_path):
    path = tmp_path / "bench.0.data"
    path.write_text(event("stop"))
    stream = read_stream(path)
    assert [one.event for one in stream.events] == ["stop"] and not stream.faults


def test_values_of_other_types_are_ignored(tmp_path):
    path = tmp_path / "bench.0.data"
    path.write_text(
        "\n".join(
            [
                event("config", "text"),
                event("data", {"task": "train", "rate": "fast", "loss": None}),
                event("data", {"task": "main", "gpudata": {"0": 1, "1": {"memory": "all"}}}),
                event("data", {"task": "early_stop", "progress": [float("nan"), 3]}),
                event("data", [1, 2]),
                event("error", {"type": "ValueError", "message": "two\nlines"}),
                event("end", {"return_code": "zero"}),
            ]
        )
    )
    seen = observe(read_stream(path).events)
    assert not seen.rates and not seen.losses and not seen.progress and seen.exit_code is None
    assert [(one.device, one.used_mb) for one in seen.gpus] == [("1", None)]
    assert seen.errors == ("ValueError: two lines",)


def test_a_traceback_that_was_printed_is_an_error_by_its_last_line():
    from opperf.formats.milabench.streams import Event

    printed = [
        "Traceback (most recent call last):\n",
        '  File "main.py", line 3, in <module>\n',
        "    run()\n",
        "RuntimeError: no memory\n",
        "bye\n",
    ]
    seen = observe(Event("line", line, "stderr") for line in printed)
    assert seen.errors == ("RuntimeError: no memory",)


def test_the_processes_of_a_folder_are_those_of_a_bench():
    run = load([RUNS])
    (bench,) = run.benches
    assert (bench.facts.name, bench.facts.processes, run.is_milabench) == ("benchio", 2, True)
    assert [one.result.name for one in bench.processes] == ["0", "1"]
    assert all(one.count == 9 and one.result.status is Status.OK for one in bench.processes)


def test_repeats_of_a_folder_are_attempts_at_one_case(tmp_path):
    folder = folder_of(
        tmp_path / "runs",
        first=stream_lines(rates_around(10)),
        second=stream_lines(rates_around(10), config={"tag": ["bench", "0", "R1"]}),
    )
    (bench,) = load([folder]).benches
    assert [len(found) for found in bench.attempts.values()] == [2]


@pytest.mark.parametrize(
    "lines, status, reason",
    [
        (stream_lines([1.0], code=3), Status.FAILED, "exit code 3"),
        (stream_lines([1.0], code=1, stop=True), Status.OK, ""),
        (stream_lines([1.0])[:-1], Status.CRASHED, "never said"),
        (stream_lines([1.0], code=None), Status.CRASHED, "killed"),
        (
            [
                *stream_lines([1.0], code=None),
                event("error", {"type": "TimeoutError", "message": "600 s"}, None),
            ],
            Status.TIMEOUT,
            "timeout: 600 s",
        ),
        (
            [*stream_lines([1.0]), event("message", {"message": "Job timed out: 600 s"})],
            Status.TIMEOUT,
            "timeout",
        ),
    ],
)
def test_how_a_process_of_a_folder_ended(tmp_path, lines, status, reason):
    (bench,) = load([folder_of(tmp_path / "runs", bench=lines)]).benches
    (attempt,) = bench.all
    assert attempt.record.status is status and reason in attempt.record.reason


def test_a_file_of_a_folder_that_is_no_stream_is_named(tmp_path):
    folder = folder_of(tmp_path / "runs", good=stream_lines([1.0, 1.0]), bad=["nothing", "here"])
    run = load([folder])
    assert [one.facts.name for one in run.benches] == ["bench"]
    assert any("bad.data" in warning for warning in run.warnings)


def test_a_folder_without_streams_is_refused(tmp_path):
    with pytest.raises(RunFileError, match="no stream of milabench's"):
        load([folder_of(tmp_path / "runs", bad=["nothing"])])


def test_a_run_of_no_suite_is_refused(tmp_path):
    path = written(tmp_path / "run.jsonl", run_of([], []))
    with pytest.raises(RunFileError, match="of no suite"):
        load([path])


def test_streams_lie_beside_the_run_file_and_a_missing_one_is_named(tmp_path):
    case = script_case()
    path = tmp_path / "run.jsonl"
    folder = streams_of(path)
    folder.mkdir()
    (folder / "there.data").write_text("\n".join(stream_lines([4.0] * 30)))
    (folder / "lost.jsonl").write_text("")
    rate = summarise([4.0] * 20, "items/s")
    results = tuple(
        ProcessResult(name=name, status=Status.OK, stream=f"{name}.data", warmup=10, rate=rate)
        for name in ("there", "gone")
    )
    record = record_of(case, processes=results)
    written(path, run_of([facts_of(record)], [record]))
    run = load([path])
    there, gone = run.benches[0].processes
    assert len(there.rates) == 20 and gone.observed is None
    lost, missing = run.warnings
    assert missing == "the stream gone.data is not there; its record is used"
    assert lost.startswith(f"{folder / 'lost.jsonl'}: no record")


def test_runs_of_one_machine_are_repeats_and_of_others_refused(tmp_path):
    record = record_of(script_case(), rates_around(10))
    other = make_environment("program", cpu="Another CPU")
    same = [
        written(tmp_path / f"{name}.jsonl", run_of([facts_of(record)], [record])) for name in "ab"
    ]
    (bench,) = load(same).benches
    assert len(bench.all) == 2
    different = written(tmp_path / "c.jsonl", run_of([facts_of(record)], [record], other))
    with pytest.raises(UsageError, match="by cpu"):
        load([same[0], different])


def test_benches_with_an_equal_case_share_its_record(tmp_path):
    record = record_of(script_case(), rates_around(10))
    run = suite(tmp_path, [facts_of(record, name="a"), facts_of(record, name="b")], [record])
    assert [len(bench.all) for bench in run.benches] == [1, 1]


def test_the_warm_up_ends_where_rates_get_no_higher():
    assert warmup_of([1, 2, 3, 4, 5] + [10] * 40) == 15
    assert warmup_of([10] * 40) == 10
    assert warmup_of(range(1, 20)) == 9
    assert warmup_of([]) == warmup_of([5.0]) == 0
    # One that ends it is of it, whatever else there is.
    assert warmup_of([10] * 11) == 10 and warmup_of([1, 2, *[10] * 30], skip=2) == 12


def test_a_loss_that_is_no_number_is_read_from_a_run_file(tmp_path):
    result = ProcessResult(name="0", status=Status.OK, losses=(1.0, math.nan))
    record = record_of(script_case(), processes=(result,))
    run = suite(tmp_path, [facts_of(record)], [record])
    first, second = run.benches[0].processes[0].losses
    assert first == 1.0 and math.isnan(second)


def test_cases_of_other_parts_of_a_run_were_not_to_run(tmp_path):
    here, there = (record_of(script_case(name), rates_around(10)) for name in "ab")
    benches = [facts_of(here, name="a"), facts_of(there, name="b"), facts_of(here, there, name="c")]
    run = suite(tmp_path, benches, [here])
    assert [bench.was_to_run for bench in run.benches] == [True, False, True]
    assert run.benches[2].facts.cases == (here.id,)


def test_parts_of_a_run_that_measured_other_frameworks_are_of_one_machine(tmp_path):
    paths = []
    for name in ("torch", "jax"):
        record = record_of(script_case(name), rates_around(10))
        run = run_of([facts_of(record, name=name)], [record], make_environment(name))
        paths.append(written(tmp_path / f"{name}.jsonl", run))
    assert [bench.facts.name for bench in load(paths).benches] == ["torch", "jax"]
