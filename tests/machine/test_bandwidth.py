"""The rate of copies, with a clock of the test's own."""

import itertools

from opperf.machine import topology


def test_the_fastest_copy_counts_in_proportion_to_the_bytes(monkeypatch):
    monkeypatch.setattr(topology, "LARGEST", 1000)
    # A clock whose first interval is long, as if something had disturbed it.
    times = itertools.chain([0, 900], itertools.count(1000, 10))
    monkeypatch.setattr(topology.time, "perf_counter_ns", lambda: next(times))
    monkeypatch.setattr(topology.time, "perf_counter", lambda: 0.0)
    assert topology.copy_ns(1000) == 10.0
    times = itertools.count(0, 10)
    # Of more bytes than are copied, by their number.
    assert topology.copy_ns(4000) == 40.0
    times = itertools.count(0, 10)
    assert topology.copy_ns(1) > 0
