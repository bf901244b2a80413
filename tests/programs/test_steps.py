"""Times of steps in a program's process, on a device that finishes later than the host."""

import json
import os
import sys
from types import SimpleNamespace

import pytest

from opperf.programs.child.steps import Channel, Steps, item_count


class Device:
    """A device that works on what was queued only when it is asked to."""

    def __init__(self):
        self.queued_ms = self.done_ms = 0.0
        self.waits = 0
        self.cuda = SimpleNamespace(
            is_initialized=lambda: True, Event=self.event, synchronize=self.synchronize
        )

    def event(self, enable_timing):
        assert enable_timing
        one = SimpleNamespace(at_ms=None)
        one.record = lambda: setattr(one, "at_ms", self.queued_ms)
        one.query = lambda: one.at_ms <= self.done_ms
        one.elapsed_time = lambda end: end.at_ms - one.at_ms
        return one

    def synchronize(self):
        self.waits += 1
        self.done_ms = self.queued_ms


class Loss:
    """A loss on the device, which may not be read before the device is done."""

    shape = ()
    device = SimpleNamespace(type="cuda")

    def __init__(self, machine, value):
        self.machine, self.value = machine, value

    def detach(self):
        return self

    def item(self):
        assert self.machine.done_ms == self.machine.queued_ms
        return self.value


@pytest.fixture
def written():
    """A channel, and a function that returns what was written to it since."""
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)

    def take():
        try:
            return [json.loads(line) for line in os.read(ours, 1 << 20).splitlines()]
        except BlockingIOError:
            return []

    yield Channel(theirs), take
    os.close(ours)
    os.close(theirs)


@pytest.fixture
def machine(monkeypatch):
    found = Device()
    monkeypatch.setitem(sys.modules, "torch", found)
    return found


def test_steps_on_a_device_have_its_times_and_nothing_waits_before_the_end(written, machine):
    channel, take = written
    steps = Steps(channel)
    steps.begin()
    for number in range(5):
        steps.items = 8
        machine.queued_ms += 2.0
        steps.keep_loss(Loss(machine, 1.0 / (number + 1)))
        steps.end()
    assert take() == [] and machine.waits == 0
    # The device has come to the third step.
    machine.done_ms = 6.0
    machine.queued_ms += 2.0
    steps.end()
    assert [event["rate"] for event in take()] == [4000.0] * 3
    steps.finish()
    assert machine.waits == 1
    rest = take()
    assert [event["batch_id"] for event in rest if "rate" in event] == [4, 5, 6]
    assert [event["loss"] for event in rest if "loss" in event] == [1.0, 1 / 2, 1 / 3, 1 / 4, 1 / 5]


def test_steps_without_a_device_are_written_as_they_end(written):
    channel, take = written
    steps = Steps(channel)
    steps.counts_items, steps.length = True, 9
    steps.begin()
    steps.items = 4
    steps.keep_loss(0.5)
    steps.end()
    rate, progress, loss = take()
    assert rate["rate"] == pytest.approx(4 / rate["elapsed"]) and rate["units"] == "items/s"
    assert progress == {"task": "train", "progress": [1, 9]}
    assert loss["loss"] == 0.5
    # Without items it is no step of this loader.
    steps.end()
    assert take() == []


def test_many_steps_are_written_together(written, monkeypatch):
    channel, take = written
    writes = []
    write = channel.write_lines
    monkeypatch.setattr(
        channel, "write_lines", lambda lines: (writes.append(len(lines)), write(lines))
    )
    steps = Steps(channel)
    for _ in range(201):
        steps.end()
    steps.finish()
    # The first ones are written one by one.
    assert sum(writes) == 200 and writes[:20] == [1] * 20 and len(writes) < 100
    assert [event["batch_id"] for event in take()] == list(range(1, 201))


def test_only_the_last_loss_of_a_step_is_kept_and_only_numbers_are(written):
    channel, take = written
    steps = Steps(channel)
    for loss in (1.0, True, "x", [1.0], SimpleNamespace(shape=(2,), item=None), 2.0):
        steps.keep_loss(loss)
    steps.finish()
    assert [event["loss"] for event in take()] == [2.0]


def test_a_fork_writes_nothing(written):
    channel, take = written
    child = os.fork()
    if child == 0:
        channel.event("data", {})
        os._exit(0)
    os.waitpid(child, 0)
    assert take() == []
    channel.event("stop", None)
    assert take() == [{"$event": "stop", "$data": None}]


@pytest.mark.parametrize(
    ("batch", "count"),
    [
        (SimpleNamespace(shape=(6, 3)), 6),
        (SimpleNamespace(shape=()), 1),
        ((SimpleNamespace(shape=(6, 3)), SimpleNamespace(shape=(6,))), 6),
        ({"ids": SimpleNamespace(shape=(5, 9))}, 5),
        ([[1, 2, 3], [4, 5, 6]], 3),
        (["a", "b"], 2),
        ([1, 2, 3, 4], 4),
        ("text", 1),
        (7, 1),
        ([], 0),
    ],
)
def test_the_items_of_a_batch_are_counted(batch, count):
    assert item_count(batch) == count
