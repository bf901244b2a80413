"""Reading MXNet's trace: which kernels there are, how long they take, and in which call."""

from __future__ import annotations

import time

import msgspec

from opperf.frameworks.mxnet.trace import Event, kernel_intervals, now_us, parse, times_in_windows


def kernel(name, begin, end, tid=1, cat="operator"):
    return [Event("B", name, cat, begin, tid), Event("E", name, cat, end, tid)]


def written(events):
    return ",\n".join(msgspec.json.encode(event).decode() for event in events)


WHOLE = """{
    "traceEvents": [
        {"ph": "M", "args": {"name": "cpu/0"}, "pid": 0, "name": "process_name"},
        {"name": "relu", "cat": "operator", "ph": "B", "ts": 100, "pid": 0, "tid": 7},
        {"name": "relu", "cat": "operator", "ph": "E", "ts": 130, "pid": 0, "tid": 7},
        {"name": "Memory: cpu/0", "ph": "C", "ts": 110, "pid": 1, "args": {"Memory: cpu/0": 64}}


    ],
    "displayTimeUnit": "ms"
}
"""


def later(events):
    return '{\n    "traceEvents": [\n,\n\n' + written(events) + "\n\n    ],\n}\n"


def test_the_first_trace_of_a_process():
    events = parse(WHOLE)
    assert [event.ph for event in events] == ["M", "B", "E", "C"]
    assert events[1] == Event("B", "relu", "operator", 100, 7)
    assert events[3].args == {"Memory: cpu/0": 64}


def test_later_ones_have_a_comma_before_their_first_event():
    assert kernel_intervals(parse(later(kernel("exp", 5, 9)))) == [(5, 9)]


def test_traces_put_together_are_one():
    events = parse(WHOLE) + parse(later(kernel("exp", 200, 203, tid=7)))
    assert kernel_intervals(events) == [(100, 130), (200, 203)]


def test_nothing_dumped_is_no_event():
    assert parse("") == []
    assert parse('{ "traceEvents": [\n]}') == []
    assert parse('{ "traceEvents": [\n,\n\n]}') == []


def test_a_begin_and_its_end_are_an_interval():
    assert kernel_intervals(kernel("relu", 3, 8)) == [(3, 8)]


def test_the_order_in_the_file_does_not_matter():
    assert kernel_intervals(kernel("b", 20, 21)[::-1] + kernel("a", 3, 8)) == [(3, 8), (20, 21)]


def test_a_kernel_within_one_microsecond_is_there():
    assert kernel_intervals(kernel("relu", 4, 4)) == [(4, 4)]


def test_two_threads_may_run_one_operator_at_a_time():
    events = kernel("relu", 10, 50, tid=1) + kernel("relu", 20, 30, tid=2)
    assert kernel_intervals(events) == [(10, 50), (20, 30)]


def test_other_categories_are_no_kernels():
    assert kernel_intervals(kernel("MXNDArraySyncCopyToCPU", 1, 9, cat="MXNET_C_API")) == []
    assert kernel_intervals([Event("C", "Memory: cpu/0", "operator", 3)]) == []


def test_what_the_engine_does_for_itself_is_no_kernel():
    events = [
        event
        for name in (
            "DeleteVariable",
            "WaitForVar",
            "ResourceParallelRandomSetSeed",
            "ResourceRandomSetSeed",
            "SetupExec",
        )
        for event in kernel(name, 1, 9)
    ]
    assert kernel_intervals(events) == []


def test_an_operator_whose_name_resembles_housekeeping_is_a_kernel():
    assert kernel_intervals(kernel("_random_SetSeedLike", 1, 9)) == [(1, 9)]


def test_a_custom_operators_parts_are_kernels():
    events = kernel("CustomAddOne::_plus_scalar", 1, 9, cat="Custom Operator")
    assert kernel_intervals(events) == [(1, 9)]


def test_an_end_without_a_begin_is_left_out():
    assert kernel_intervals([Event("E", "relu", "operator", 4, 1), *kernel("exp", 6, 7)]) == [
        (6, 7)
    ]


def test_a_begin_without_an_end_is_left_out():
    assert kernel_intervals([Event("B", "relu", "operator", 4, 1), *kernel("exp", 6, 7)]) == [
        (6, 7)
    ]


def test_phases_are_told_apart_by_the_clock():
    forward = kernel("relu", 110, 140) + kernel("relu", 310, 350)
    backward = kernel("ImperativeBulk", 210, 260) + kernel("ImperativeBulk", 410, 420)
    events = forward + backward
    assert times_in_windows(events, [(100, 150), (300, 360)]) == [30_000.0, 40_000.0]
    assert times_in_windows(events, [(200, 270), (400, 430)]) == [50_000.0, 10_000.0]


def test_a_call_of_several_kernels_takes_all_of_them():
    events = kernel("a", 10, 20) + kernel("b", 20, 25) + kernel("c", 30, 31)
    assert times_in_windows(events, [(5, 40)]) == [16_000.0]


def test_kernels_outside_every_window_do_not_count():
    events = kernel("before", 1, 4) + kernel("inside", 12, 15) + kernel("after", 40, 90)
    assert times_in_windows(events, [(10, 20)]) == [3_000.0]


def test_no_kernel_in_any_window_is_no_time():
    assert times_in_windows(kernel("before", 1, 4), [(10, 20), (30, 40)]) == []
    assert times_in_windows([], [(10, 20)]) == []


def test_a_kernel_in_one_window_of_several_leaves_zeros():
    assert times_in_windows(kernel("a", 11, 13), [(10, 20), (30, 40)]) == [2_000.0, 0.0]


def test_a_kernel_at_the_edge_of_its_window_counts():
    assert times_in_windows(kernel("a", 10, 20), [(10, 20)]) == [10_000.0]


def test_the_clock_is_the_systems_in_microseconds():
    before = time.time_ns()
    now = now_us()
    assert before // 1000 <= now <= time.time_ns() // 1000
