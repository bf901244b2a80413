"""Cases measured side by side."""

import math
import threading

import msgspec
import psutil
import pytest

from opperf.errors import OutputError
from opperf.execution import execute as module
from opperf.execution import workers as lanes
from opperf.execution.execute import NoFile, Rounds, execute
from opperf.execution.executor import LOCAL, Task, open_executor
from opperf.execution.progress import Progress
from opperf.execution.workers import WORKER_BYTES, Lanes, Workers, lane_count
from opperf.machine.pinning import NONE, Pinning
from opperf.model import Record, Settings, Status
from tests.execution.test_run_header import ENVIRONMENT, Full, Logged

WAIT_S = 30
"""Longest wait for another thread: a failure's price, and no limit of what is tested."""


@pytest.fixture
def cases(make_case):
    counted = Settings(profiler="instructions")
    names = ("relu", "add", "negative", "relu", "add", "negative")
    return [
        msgspec.structs.replace(
            make_case(name), settings=msgspec.structs.replace(counted, seed=place)
        )
        for place, name in enumerate(names)
    ]


@pytest.fixture
def room(monkeypatch):
    """A machine with these cores, and memory for this number of workers; fewer by the limits of a
    container."""

    def make(cores, workers, quota=64, limit=math.inf):
        monkeypatch.setattr(lanes, "whole_cpus", lambda machine: quota)
        monkeypatch.setattr(lanes, "free_memory", lambda machine: limit * WORKER_BYTES)
        memory = psutil.virtual_memory()._replace(available=workers * WORKER_BYTES + 1)
        monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
        pinning = Pinning(NONE)
        pinning.usable = frozenset(range(cores))
        return pinning

    return make


@pytest.mark.parametrize(
    ("cores", "workers", "number"), [(1, 9, 1), (4, 9, 4), (4, 3, 3), (4, 0, 1), (64, 64, 6)]
)
def test_as_many_as_there_are_cores_memory_and_cases(room, cases, cores, workers, number):
    assert lane_count(cases, room(cores, workers)) == number


def test_a_container_has_its_limits(room, cases):
    assert lane_count(cases, room(4, 9, quota=3)) == 3
    assert lane_count(cases, room(4, 9, limit=2.5)) == 2
    assert lane_count(cases, room(4, 9, limit=0.0)) == 1


def test_an_error_of_one_loses_no_record_of_another(cases, monkeypatch):
    """Both end before either is looked at."""

    def first_fails(case):
        if case.id == cases[0].id:
            raise OutputError("no space left")
        return Record(case=case, id=case.id, status=Status.OK)

    wait = module.wait
    monkeypatch.setattr(module, "wait", lambda running, return_when: wait(running))

    class Two:
        lanes = 2
        measure = staticmethod(first_fails)
        environment = staticmethod(lambda case: ENVIRONMENT)
        kill = staticmethod(lambda: None)

    schedule = Rounds(cases[:2])
    with pytest.raises(OutputError, match="no space left"):
        execute(schedule, Two(), NoFile(), Progress())
    assert list(schedule.records) == [cases[1].id]


def test_one_where_a_figure_depends_on_what_else_runs(room, cases, make_case):
    pinning = room(4, 4)
    assert lane_count([*cases, make_case("relu")], pinning) == 1
    assert lane_count([], pinning) == 1


def test_threads_of_a_process_take_turns(room, cases):
    threads = msgspec.structs.replace(cases[0].settings, threads=2)
    wide = [msgspec.structs.replace(case, settings=threads) for case in cases]
    assert lane_count(wide, room(2, 9)) == 2


class InThreads(Workers):
    """Workers of which none has a process. Each case waits until another thread measures one."""

    made = []

    def __init__(self, interpreters, pinning):
        super().__init__(interpreters, pinning)
        self.threads, self.is_killed = set(), False
        self.made.append(self)

    def environment(self, case):
        return ENVIRONMENT

    def measure(self, case):
        self.threads.add(threading.get_ident())
        self.meeting.wait(WAIT_S)
        return Record(case=case, id=case.id, status=Status.OK)

    def kill(self):
        self.is_killed = True
        # As the end of a process ends the wait for its answer.
        self.meeting.abort()


@pytest.fixture
def two(monkeypatch):
    monkeypatch.setattr(lanes, "Workers", InThreads)
    monkeypatch.setattr(InThreads, "made", [])
    InThreads.meeting = threading.Barrier(2)
    with Lanes(Workers(), Pinning(NONE), 2) as made:
        yield made


def test_two_are_measured_at_once_and_all_are_kept(cases, two):
    log, schedule = [], Rounds(cases)
    execute(schedule, two, NoFile(), Logged(log))
    assert schedule.records.keys() == {case.id for case in cases}
    assert [label for what, label in log if what == "begin"] == [case.label for case in cases]
    assert len(log) == 2 * len(cases)
    first, second = (one.threads for one in InThreads.made)
    assert len(first) == len(second) == 1 and first != second


def test_what_cannot_be_kept_ends_the_others(cases, two):
    with pytest.raises(OutputError, match="no space left"):
        execute(Rounds(cases), two, Full([]), Progress())
    assert all(one.is_killed for one in InThreads.made)


def test_an_interrupt_ends_what_is_being_measured(cases, two):
    """The threads wait for each other, and the second one never begins."""

    class BegunOnce(Rounds):
        def visits(self, extend):
            yield cases[0]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(BegunOnce(cases), two, NoFile(), Progress())
    assert all(one.is_killed for one in InThreads.made)


def test_one_lane_is_the_workers_themselves():
    pinning = Pinning(NONE)
    with Workers() as workers, open_executor(LOCAL, Task(()), workers, pinning) as measuring:
        assert measuring is workers
