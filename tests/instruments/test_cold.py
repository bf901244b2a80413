"""Calls that find nothing in a cache: how much is written, and whose turn it is."""

import msgspec
import numpy as np
import pytest
from fake_framework import BACKWARD_NS

from opperf.instruments import cold, sampled_passes
from opperf.instruments.cold import COPIES, Flush, Ring, count_copies
from opperf.model import Case, NoteCode, OperatorTarget, Status, TensorSpec
from opperf.worker.measure import measure

BOTH = ("forward", "backward")


def note_on(record):
    """What is said of the cache."""
    return record.note("", NoteCode.COLD_CACHE).message


@pytest.mark.parametrize("cores", [1, 4])
def test_each_core_writes_its_share(monkeypatch, cores):
    monkeypatch.setattr(cold, "last_level_bytes", lambda: 2**20)
    monkeypatch.setattr(cold, "usable_cpus", lambda: frozenset(range(cores)))
    flush = Flush()
    assert [part.nbytes for part in flush._parts] == [3 * 2**20 // cores] * cores
    assert flush.bytes == 3 * 2**20


def test_more_is_written_than_the_cache_holds(monkeypatch):
    monkeypatch.setattr(cold, "last_level_bytes", lambda: 2**20)
    flush = Flush()
    assert flush.bytes == pytest.approx(3 * 2**20, rel=0.01)
    flush()
    flush()
    assert all(np.all(part == 2) for part in flush._parts)


def test_the_flush_is_no_part_of_the_time(fake, make_case, monkeypatch):
    monkeypatch.setattr(cold, "last_level_bytes", lambda: 2**20)
    case = make_case("relu", passes=BOTH, cache="cold", warmup=0, runs=4)
    record = measure(case, fake)
    assert record.status is Status.OK and "3 MiB are written" in note_on(record)
    # Of the phases the fake profiler is given, every other one is a flush.
    assert {name: s.median for name, s in record.summaries.items() if s.unit == "ns"} == {
        "forward": BACKWARD_NS,
        "backward": BACKWARD_NS,
        "total": 2 * BACKWARD_NS,
    }


def test_every_pass_is_flushed_before(fake, make_case, monkeypatch):
    monkeypatch.setattr(cold, "last_level_bytes", lambda: 2**20)
    monkeypatch.setattr(Flush, "__call__", lambda self: fake.calls.append("flush"))
    case = make_case("relu", passes=BOTH, cache="cold", warmup=0, runs=2, profiler="python")
    measure(case, fake)
    tail = [call for call in fake.calls if call != "wait"][-10:]
    assert tail == ["flush", "record", "call", "flush", "backward"] * 2


def test_hot_is_part_of_what_is_measured(make_case):
    hot, chilled = make_case("relu"), make_case("relu", cache="cold")
    assert hot.id != chilled.id


def test_copies_are_more_than_a_devices_cache():
    def of(elements):
        return Case(OperatorTarget("fake", "f"), {"data": TensorSpec((elements,))})

    assert count_copies(of(2**20)) * 4 * 2**20 >= 3 * cold.DEVICE_BYTES
    assert count_copies(of(2**30)) == 2 and count_copies(of(1)) == COPIES


def test_as_many_copies_as_it_takes_and_no_more():
    third = Case(
        OperatorTarget("fake", "f"), {"data": TensorSpec((cold.DEVICE_BYTES // 4,)), "axis": 1}
    )
    assert count_copies(third) == 3
    rather_more = msgspec.structs.replace(
        third, arguments={"data": TensorSpec((cold.DEVICE_BYTES // 4 - 1,))}
    )
    assert count_copies(rather_more) == 4
    assert count_copies(msgspec.structs.replace(third, arguments={})) == COPIES


class Member:
    def __init__(self, number, log):
        self.number, self.log = number, log

    def call(self):
        return self.number

    def record(self):
        self.log.append(("record", self.number))

    def backward(self):
        self.log.append(("backward", self.number))


def test_copies_take_turns_and_a_backward_pass_is_of_its_own_record():
    log = []
    members = [Member(number, log) for number in range(3)]
    ring = Ring(members)
    assert [ring.call() for _ in range(7)] == [0, 1, 2, 0, 1, 2, 0]
    gradient = ring.gradient(lambda member: member)
    for _ in range(4):
        gradient.record()
        gradient.backward()
    assert log == [(what, n) for n in (0, 1, 2, 0) for what in ("record", "backward")]


def test_a_device_without_a_way_to_flush_rotates_copies(fake, make_case, monkeypatch):
    monkeypatch.setattr(fake.processes, "supports_fork", lambda device: False, raising=False)
    monkeypatch.setattr(fake, "parse_device", str)
    case = make_case("relu", passes=BOTH, cache="cold", device="gpu(0)", warmup=0, runs=3)
    record = measure(case, fake)
    assert f"{COPIES} copies" in note_on(record) and fake.level == 0


@pytest.mark.parametrize("count", [2, 5])
def test_as_many_copies_are_made_as_it_takes(fake, make_case, monkeypatch, count):
    made = []
    tensor = fake.tensor
    monkeypatch.setattr(fake, "parse_device", str)
    monkeypatch.setattr(sampled_passes, "count_copies", lambda case: count)
    monkeypatch.setattr(fake, "tensor", lambda *given: made.append(given) or tensor(*given))
    case = make_case("relu", cache="cold", device="gpu(0)", memory=False, warmup=0, runs=1)
    assert f"{count} copies" in note_on(measure(case, fake))
    assert len(made) == count
