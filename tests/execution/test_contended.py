"""Times of which waits for a core are a part, and what one thread says of them."""

import msgspec
import pytest

from opperf.execution.execute import execute_to_file
from opperf.execution.progress import Progress
from opperf.execution.remeasuring import MOST_CONTENDED, find_contended, settle_contended
from opperf.execution.run_header import make_header
from opperf.instruments.profilers.summary import summarise
from opperf.instruments.times import TOTAL
from opperf.model import Note, NoteCode, Status, Waits
from opperf.results.units import figure_of
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.worker.measure import measure
from tests.execution.test_run_header import InProcess

SHORT, LONG = 0.17e6, 15.85e6
BUSY = Note("forward", NoteCode.BUSY, "the machine was busy")
WAITED = Waits(wall_s=1.0, waited_s=0.9, share=0.9)


@pytest.fixture
def make_record(make_case, fake):
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


def test_what_waited_is_measured_with_one_thread_and_without_memory(make_record):
    record, quiet = make_record(LONG, notes=[BUSY]), make_record(LONG, "negative")
    (found,) = find_contended([record, quiet])
    assert found.ids == [record.id]
    assert (found.case.settings.threads, found.case.settings.memory) == (1, False)
    # Of one thread already, in several rounds, of one sample, or without a time.
    for other in (
        msgspec.structs.replace(record, samples={"forward": [LONG]}),
        make_record(LONG, notes=[BUSY], threads=1),
        msgspec.structs.replace(record, rounds=2),
        msgspec.structs.replace(record, status=Status.CRASHED),
    ):
        assert find_contended([other]) == []


def test_an_absurd_time_is_too_unless_nothing_waited(make_record):
    record = make_record(LONG)
    assert [one.ids for one in find_contended([record], [record.id])] == [[record.id]]
    unknown = make_record(LONG, waits=Waits(wall_s=1.0))
    assert find_contended([unknown], [unknown.id])
    quiet = make_record(LONG, waits=Waits(wall_s=1.0, waited_s=0.01))
    assert find_contended([quiet], [quiet.id]) == []


def test_those_that_take_the_most_time_are_measured(make_record):
    records = [make_record(LONG, f"op{n}", [BUSY], count=n) for n in range(1, MOST_CONTENDED + 4)]
    found = find_contended(records)
    assert {id for one in found for id in one.ids} == {one.id for one in records[-MOST_CONTENDED:]}


def test_a_shorter_time_of_one_thread_takes_the_place_and_stays_marked(make_record):
    first, alone = make_record(LONG, notes=[BUSY]), make_record(SHORT, notes=[BUSY])
    settled = settle_contended(first, alone)
    assert settled.id == first.id and settled.samples["forward"] == [SHORT] * 10
    (note,) = settled.notes
    assert note.message == (
        "the machine was busy: with all threads, which waited for cores, it took 15.85 ms; shown "
        "is the time with one thread, 170.0 us"
    )
    assert figure_of(settled, "forward").is_uncertain
    elsewhere = make_record(LONG, notes=[Note("backward", NoteCode.BUSY, "")])
    assert settle_contended(elsewhere, alone) is elsewhere
    for other in (make_record(0.9 * LONG), make_record(2 * LONG)):
        assert settle_contended(first, other) is first
    failed = msgspec.structs.replace(alone, status=Status.FAILED)
    assert settle_contended(first, failed) is first


class Busy(InProcess):
    """Measures beside a busy process: with all threads, each call of some operators waits."""

    def measure(self, case):
        record = super().measure(case)
        waits = case.target.name == "relu" and case.settings.threads is None
        time = LONG if waits else SHORT
        summaries = {metric: summarise([time] * 10, "ns") for metric in ("forward", TOTAL.name)}
        return msgspec.structs.replace(
            record,
            samples=dict.fromkeys(summaries, [time] * 10),
            summaries=record.summaries | summaries,
            notes=(BUSY,) if waits else (),
        )


def test_a_run_ranks_by_the_time_of_one_thread(fake, make_case, tmp_path):
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
    assert relu.summaries["forward"].median == negative.summaries["forward"].median == SHORT
    assert relu.note("forward", NoteCode.BUSY) and not negative.notes
    # What one thread took has no record or environment of its own.
    assert len(run.records) == 2 and len(run.environments) == 1
