"""Waits for a core: the kernel's counters, on machines made of files, and what they say of a
median."""

import os

import msgspec
import pytest

from opperf.instruments.profilers.waits import (
    NOTABLE,
    Meter,
    Reading,
    busy_note,
    typical_share,
    waits_between,
)
from opperf.model import NoteCode, Waits

MS = 1e6
"""Nanoseconds of a millisecond."""


@pytest.fixture
def proc(tmp_path):
    """Returns a function that writes files of procfs and returns its root."""

    def write(threads=None, pressure=None, stat=None):
        for thread, text in (threads or {}).items():
            folder = tmp_path / f"self/task/{thread}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "schedstat").write_text(text)
        for name, text in {"pressure/cpu": pressure, "stat": stat}.items():
            if text is not None:
                path = tmp_path / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        return tmp_path

    return write


def test_the_kernels_counters_are_read_of_all_threads_also_of_later_ones(proc):
    ticks = os.sysconf("SC_CLK_TCK")
    root = proc(
        {7: "9000 2000000 5\n", 8: "1 0 1\n"},
        "some avg10=1.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0 total=9\n",
        f"cpu  1 2 3 4 5 6 7 {3 * ticks} 0 0\ncpu0 1\n",
    )
    meter = Meter(root)
    first = meter.read()
    assert first.waited == {7: (0.002, 5), 8: (0.0, 1)}
    assert (first.pressure_s, first.stolen_s) == (2.5, 3.0)
    proc({7: "9000 5000000 6\n", 9: "0 1000000 2\n"})
    (root / "self/task/8/schedstat").unlink()
    (root / "self/task/8").rmdir()
    assert meter.read().waited == {7: (0.005, 6), 9: (0.001, 2)}


def test_a_kernel_that_counts_nothing_is_no_error(tmp_path):
    reading = Meter(tmp_path).read()
    assert (reading.waited, reading.pressure_s, reading.stolen_s) == (None, None, None)
    waits = waits_between(reading, reading, [[MS] * 10], 1)
    assert (waits.waited_s, waits.pressure_s, waits.share) == (None, None, 0.0)


def share(samples_ms, waits_s, wall_s=None, loops=1):
    samples = [one * MS for one in samples_ms]
    return typical_share(waits_s, wall_s or loops * sum(samples) / 1e9, [samples], loops)


@pytest.mark.parametrize(
    "samples_ms, waits_s, expected",
    [
        # Each sample has a wait of 5 ms, and all agree.
        ([15.0] * 20, [0.1], pytest.approx(1 / 3)),
        # All waits are in the five samples that are longer.
        ([1.0] * 15 + [5.0] * 5, [0.02], 0.0),
        # Two threads that wait at once, in few samples.
        ([1.0] * 95 + [4.0] * 5, [0.015, 0.015], 0.0),
        # Many threads in turn, in all samples, which scatter.
        ([14.0, 15.0, 16.0] * 7, [0.02] * 16, pytest.approx(0.99, abs=0.03)),
        # Nothing waited.
        ([15.0] * 20, [0.0], 0.0),
        # Sums of threads are no more than all.
        ([15.0] * 20, [0.3, 0.3], 1.0),
        ([], [0.3], 0.0),
    ],
)
def test_the_part_of_a_typical_sample_that_is_waits(samples_ms, waits_s, expected):
    assert share(samples_ms, waits_s) == expected


def test_waits_between_the_samples_are_none_of_theirs():
    # Nine tenths of the time, a profiler's events were read.
    assert share([1.0] * 10, [0.05], wall_s=0.1) == pytest.approx(0.5)


def reading(at_s, *threads, pressure_s=0.0, stolen_s=0.0, preempted=0):
    waited = dict(enumerate(threads))
    return Reading(at_s, waited, preempted, 0, pressure_s, stolen_s)


def test_the_record_has_what_was_counted_between_two_readings():
    before = reading(1.0, (0.5, 100), pressure_s=3.0, preempted=4)
    after = reading(1.3, (0.6, 140), (0.05, 20), pressure_s=3.2, preempted=9)
    waits = waits_between(before, after, [[15 * MS] * 20], 1)
    assert waits.waited_s == pytest.approx(0.15)
    assert (waits.preempted, waits.pressure_s) == (5, pytest.approx(0.2))
    assert waits.share == pytest.approx(0.4957, abs=1e-3)
    note = busy_note("forward", waits)
    assert note.code is NoteCode.BUSY and "at least 50% were waits for a core" in note.message


def test_a_call_that_is_much_shorter_than_the_waits_has_none_typically():
    # 40 us, in which no wait of 11 ms can be.
    before, after = reading(0.0, (0.0, 0)), reading(0.3, (0.44, 40))
    assert waits_between(before, after, [[31 * MS] * 3, [0.04 * MS] * 3], 1).share == 0.0
    assert waits_between(before, after, [[0.04 * MS] * 3, [31 * MS] * 3], 1).share == 1.0


def test_wake_ups_of_a_quiet_machine_are_no_waits():
    # A thread that is woken 6000 times a second, and waits 15 us each time.
    before, after = reading(0.0, (0.0, 0)), reading(1.0, (0.09, 6000))
    waits = waits_between(before, after, [[0.15 * MS] * 6000], 1)
    assert waits.share == 0.0 and busy_note("forward", waits) is None


def test_stolen_time_is_waits_too():
    before, after = reading(0.0, (0.0, 0)), reading(1.0, (0.0, 10), stolen_s=0.3)
    assert waits_between(before, after, [[50 * MS] * 20], 1).share == pytest.approx(0.3)


def test_waits_of_two_rounds_are_merged():
    one = Waits(wall_s=1.0, waited_s=0.5, preempted=3, pressure_s=0.2, share=0.4)
    other = msgspec.structs.replace(one, wall_s=3.0, pressure_s=None, share=0.0)
    both = one.merge(other)
    assert (both.wall_s, both.waited_s, both.preempted) == (4.0, 1.0, 6)
    assert (both.pressure_s, both.share) == (None, pytest.approx(0.1))
    assert busy_note("forward", both) is None and both.share <= NOTABLE
