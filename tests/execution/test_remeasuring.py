"""What is measured again at the end of a run: stalls that last for all samples of a case, and times
that waits for a core are a part of."""

import json

import msgspec
import pytest

from opperf.execution import execute
from opperf.execution.execute import execute_to_file
from opperf.execution.progress import Progress
from opperf.execution.remeasuring import (
    LEAST_STALL_NS,
    MOST,
    MOST_CONTENDED,
    SUSPECT,
    find_contended,
    find_suspects,
    settle,
    settle_contended,
)
from opperf.execution.run_header import make_header
from opperf.frameworks.timing import PhaseTimes
from opperf.instruments.profilers.summary import summarise
from opperf.instruments.times import TOTAL
from opperf.model import MetricKind, Note, NoteCode, Status, Waits
from opperf.results.figures import CaseFigures
from opperf.results.possible import CALL_NS, STALLED
from opperf.results.runfile import read_run
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.worker.measure import measure
from tests.execution.test_run_header import InProcess

BOTH = ("forward", "backward")
SHORT, STALL = 4300.0, 7.78e6
"""Nanoseconds of a short kernel, and of one that waits for a core."""


@pytest.fixture
def make_record(make_case, fake):
    """Returns a record with these times, all samples alike."""
    measured = {}

    def made(forward, size=4, backward=None, recorded=None, name="relu", n=10, **settings):
        passes = ("forward",) if backward is None else BOTH
        case = make_case(name, shape=(size,), passes=passes, runs=n, **settings)
        record = measured.setdefault(case.id, measure(case, fake))
        times = {"forward": forward, "total": forward}
        if backward is not None:
            times |= {"backward": backward, "total": (recorded or forward) + backward}
        return msgspec.structs.replace(
            record,
            samples={metric: [time] * n for metric, time in times.items()},
            summaries=record.summaries
            | {metric: summarise([time] * n, "ns") for metric, time in times.items()},
        )

    return made


def suspects(*records, total=100):
    return find_suspects(records, total)


def test_a_time_that_a_larger_case_takes_a_fraction_of_is_suspicious(make_record):
    stalled, larger = make_record(STALL, 1250), make_record(SHORT, 10**6)
    assert suspects(stalled, larger) == [stalled]
    # A larger case may take as much longer as it likes.
    assert suspects(make_record(SHORT, 1250), make_record(5e8, 10**6)) == []


def test_the_ratio_decides(make_record):
    larger = make_record(5e4, 10**6)
    assert suspects(make_record(SUSPECT * 5e4, 4), larger)
    assert not suspects(make_record(0.99 * SUSPECT * 5e4, 4), larger)


def test_a_few_microseconds_are_no_stall(make_record):
    larger = make_record(SHORT, 10**6)
    assert not suspects(make_record(SHORT + 0.99 * LEAST_STALL_NS, 4), larger)
    slow = make_record(SHORT + LEAST_STALL_NS, 4)
    assert suspects(slow, larger) == [slow]
    first, second = make_record(90_000.0), make_record(5000.0)
    assert settle(first, second) is first


def test_a_case_is_compared_with_its_own_operator_and_settings_only(make_record):
    slow = make_record(5e5, 1250)
    others = [make_record(SHORT, 10**6, name="negative"), make_record(SHORT, 10**6, phase="train")]
    assert suspects(slow, *others) == []
    failed = msgspec.structs.replace(make_record(SHORT, 10**6), status=Status.FAILED)
    assert suspects(slow, failed) == []


def test_kernels_are_compared_with_calls_and_calls_not_with_kernels(make_record):
    def timed(record, kind):
        return msgspec.structs.replace(record, time_kind=kind)

    kernel = timed(make_record(5e5), MetricKind.KERNEL)
    call = timed(make_record(SHORT, profiler="python"), MetricKind.WALL)
    assert suspects(kernel, call) == [kernel]
    kernel, call = (
        timed(make_record(SHORT), MetricKind.KERNEL),
        timed(make_record(5e5, profiler="python"), MetricKind.WALL),
    )
    assert suspects(kernel, call) == []


def test_the_forward_pass_is_compared_with_itself_before_the_backward_pass(make_record):
    stalled = make_record(5e5, backward=9000.0, recorded=SHORT)
    assert suspects(stalled) == [stalled]
    assert suspects(make_record(5e5, backward=9000.0)) == []


def test_a_case_alone_is_suspicious_if_its_bytes_take_absurdly_long(make_record):
    stalled = make_record(STALL, 1250)
    assert suspects(stalled) == [stalled]
    assert suspects(make_record(0.99 * SUSPECT * CALL_NS, 0)) == []
    # Eighty megabytes in half a second.
    assert suspects(make_record(5e8, 10**7)) == []


def test_a_single_sample_and_several_rounds_are_no_matter(make_record):
    assert suspects(make_record(STALL, n=1)) == []
    assert suspects(msgspec.structs.replace(make_record(STALL), rounds=2)) == []


def test_the_most_absurd_are_measured_again_and_not_all(make_record):
    records = [make_record(STALL * n, name=f"op{n}") for n in range(1, 20)]
    assert {r.id for r in suspects(*records, total=19)} == {r.id for r in records[-MOST:]}
    assert len(suspects(*records, total=200)) == 10


def test_the_second_measurement_decides(make_record):
    stalled, short = make_record(STALL), make_record(SHORT)
    settled = settle(stalled, short)
    assert settled.samples["forward"] == settled.samples["total"] == [SHORT] * 10
    assert settled.summaries["forward"] == short.summaries["forward"]
    assert settled.summaries["memory"] == stalled.summaries["memory"]
    note = settled.note("forward", NoteCode.STALL)
    assert note.message == ("the first measurement stalled: it took 7.780 ms, the second 4.300 us")
    for second in (stalled, make_record(1.01 * STALL / STALLED), make_record(2 * STALL)):
        assert settle(stalled, second) is stalled
    failed = msgspec.structs.replace(short, status=Status.CRASHED)
    assert settle(stalled, failed) is stalled


def test_times_below_the_clocks_steps_are_no_stall(make_record):
    zero = make_record(0.0)
    assert settle(zero, zero) is zero and suspects(zero) == []


def test_each_pass_is_settled_by_itself(make_record):
    first = make_record(STALL, backward=9000.0, recorded=5000.0)
    second = make_record(SHORT, backward=9100.0)
    settled = settle(first, second)
    assert settled.samples["forward"] == [SHORT] * 10
    assert settled.samples["backward"] == [9000.0] * 10
    # The passes were timed together with the backward pass.
    assert settled.samples["total"] == first.samples["total"]
    assert [note.metric for note in settled.notes if note.code is NoteCode.STALL] == ["forward"]


class Scripted:
    """A timer whose times are those of a script: one list of times for each operator, of which each
    measurement of a case takes the next."""

    kind = MetricKind.KERNEL
    resolution_ns = 1.0

    def __init__(self, fake, script):
        self.fake, self.script = fake, script

    def trace(self, phases, count, loops=1):
        for phase in phases:
            phase()
        times = [self.script[self.fake.bound].pop(0)] * count
        return [PhaseTimes(times, times, times) for _ in phases]


@pytest.fixture
def scripted_run(fake, make_case, monkeypatch, tmp_path):
    """Runs operators of a script of times; returns the worker and the run."""

    def ran(script, sizes=(4,), **settings):
        script = {name: list(times) for name, times in script.items()}
        monkeypatch.setattr(
            fake.profilers, "own", lambda: {"native": lambda _: Scripted(fake, script)}
        )
        cases = tuple(
            make_case(name, shape=(size,), runs=10, **settings) for name in script for size in sizes
        )
        worker, path = InProcess(fake), tmp_path / "run.jsonl"
        head = make_header(Plan(cases, {}), Selection(), "run")
        run = execute_to_file(path, head, cases, cases, worker, Progress(), lambda: 0.0)
        return worker, run

    return ran


def test_a_stall_of_all_samples_is_found_and_measured_again_at_the_end(scripted_run, tmp_path):
    worker, run = scripted_run({"relu": [STALL, SHORT], "negative": [SHORT]})
    relu, negative = run.records
    assert relu.samples["forward"] == [SHORT] * 10 and relu.note("forward", NoteCode.STALL)
    assert negative.notes == () and worker.measured == [relu.id, negative.id, relu.id]
    assert {"memory", TOTAL.name} <= set(relu.summaries)
    # The file has one record of the case, and counts it once.
    kept, warnings = read_run(tmp_path / "run.jsonl")
    assert (len(kept.records), warnings) == (2, []) and kept.closing.counts == {"ok": 2}


def test_what_is_slow_twice_is_slow(scripted_run, tmp_path):
    worker, run = scripted_run({"relu": [STALL, STALL]})
    (record,) = run.records
    assert len(worker.measured) == 2 and record.notes == ()
    # The second measurement changed nothing, and has no line in the file.
    lines = (tmp_path / "run.jsonl").read_text().splitlines()
    assert [json.loads(line)["line"] for line in lines].count("record") == 1
    assert record.samples["forward"] == [STALL] * 10


def test_a_run_without_absurd_times_measures_nothing_again(scripted_run):
    worker, _ = scripted_run({"relu": [SHORT, 5 * SHORT, 9 * SHORT]}, sizes=(4, 100, 1000))
    assert len(worker.measured) == 3


def test_a_run_whose_cases_are_all_measured_is_only_closed(scripted_run, tmp_path, fake):
    _, run = scripted_run({"relu": [STALL, STALL]})
    worker = InProcess(fake)
    again = execute_to_file(
        tmp_path / "run.jsonl", run, run.cases, (), worker, Progress(), lambda: 0.0
    )
    assert worker.measured == [] and again.records == run.records


ALONE, LONG = 0.17e6, 15.85e6
"""Nanoseconds of a call of one thread, and of one whose threads wait for cores."""

BUSY = Note("forward", NoteCode.BUSY, "the machine was busy")
WAITED = Waits(wall_s=1.0, waited_s=0.9, share=0.9)


@pytest.fixture
def make_contended(make_case, fake):
    """Returns a record with these times, all samples alike."""

    def made(forward, name="relu", notes=(), waits=WAITED, count=1, **settings):
        case = msgspec.structs.replace(make_case(name, **settings), count=count)
        record = measure(case, fake)
        summaries = {metric: summarise([forward] * 10, "ns") for metric in ("forward", TOTAL.name)}
        return msgspec.structs.replace(
            record,
            samples=dict.fromkeys(summaries, [forward] * 10),
            summaries=record.summaries | summaries,
            notes=tuple(notes),
            waits={"forward": waits},
        )

    return made


def test_what_waited_is_measured_with_one_thread_and_without_memory(make_contended):
    record, quiet = make_contended(LONG, notes=[BUSY]), make_contended(LONG, "negative")
    ((case, ids),) = find_contended([record, quiet])
    assert ids == [record.id]
    assert (case.settings.threads, case.settings.memory) == (1, False)
    # Of one thread already, in several rounds, of one sample, or without a time.
    for other in (
        msgspec.structs.replace(record, samples={"forward": [LONG]}),
        make_contended(LONG, notes=[BUSY], threads=1),
        msgspec.structs.replace(record, rounds=2),
        msgspec.structs.replace(record, status=Status.CRASHED),
    ):
        assert find_contended([other]) == []


def test_an_absurd_time_is_too_unless_nothing_waited(make_contended):
    record = make_contended(LONG)
    assert [ids for _, ids in find_contended([record], [record.id])] == [[record.id]]
    unknown = make_contended(LONG, waits=Waits(wall_s=1.0))
    assert find_contended([unknown], [unknown.id])
    quiet = make_contended(LONG, waits=Waits(wall_s=1.0, waited_s=0.01))
    assert find_contended([quiet], [quiet.id]) == []


def test_those_that_take_the_most_time_are_measured(make_contended):
    records = [
        make_contended(LONG, f"op{n}", [BUSY], count=n) for n in range(1, MOST_CONTENDED + 4)
    ]
    found = find_contended(records)
    assert {id for _, ids in found for id in ids} == {one.id for one in records[-MOST_CONTENDED:]}


def test_a_shorter_time_of_one_thread_takes_the_place_and_stays_marked(make_contended):
    first, alone = make_contended(LONG, notes=[BUSY]), make_contended(ALONE, notes=[BUSY])
    settled = settle_contended(first, alone)
    assert settled.id == first.id and settled.samples["forward"] == [ALONE] * 10
    (note,) = settled.notes
    assert note.message == (
        "the machine was busy: with all threads, which waited for cores, it took 15.85 ms; shown "
        "is the time with one thread, 170.0 us"
    )
    assert CaseFigures(settled).figure("forward").is_uncertain
    elsewhere = make_contended(LONG, notes=[Note("backward", NoteCode.BUSY, "")])
    assert settle_contended(elsewhere, alone) is elsewhere
    for other in (make_contended(0.9 * LONG), make_contended(2 * LONG)):
        assert settle_contended(first, other) is first
    failed = msgspec.structs.replace(alone, status=Status.FAILED)
    assert settle_contended(first, failed) is first


class Busy(InProcess):
    """Measures beside a busy process: with all threads, each call of some operators waits."""

    def measure(self, case):
        record = super().measure(case)
        waits = case.target.name == "relu" and case.settings.threads is None
        time = LONG if waits else ALONE
        summaries = {metric: summarise([time] * 10, "ns") for metric in ("forward", TOTAL.name)}
        return msgspec.structs.replace(
            record,
            samples=dict.fromkeys(summaries, [time] * 10),
            summaries=record.summaries | summaries,
            notes=(BUSY,) if waits else (),
        )


def test_a_run_ranks_by_the_time_of_one_thread(fake, make_case, tmp_path, monkeypatch):
    # In tests it is off: see `waits_are_measured_once`.
    monkeypatch.setattr(execute, "find_contended", find_contended)
    cases = tuple(make_case(name) for name in ("relu", "negative"))
    worker = Busy(fake)
    head = make_header(Plan(cases, {}), Selection(), "run")
    run = execute_to_file(
        tmp_path / "run.jsonl", head, cases, cases, worker, Progress(), lambda: 0.0
    )
    # Absurd beside the other, it is measured with all threads again first.
    assert worker.measured[:3] == [cases[0].id, cases[1].id, cases[0].id]
    assert len(worker.measured) == 4
    relu, negative = run.records
    assert relu.summaries["forward"].median == negative.summaries["forward"].median == ALONE
    assert relu.note("forward", NoteCode.BUSY) and not negative.notes
    # What one thread took has no record or environment of its own.
    assert len(run.records) == 2 and len(run.environments) == 1
