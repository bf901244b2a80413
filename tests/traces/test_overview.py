"""Contents of traces: operators, steps, tensors, gaps and trees."""

from opperf.traces import outline as outline_module
from opperf.traces.outline import Row, outline_of
from opperf.traces.overview import (
    Gap,
    Idle,
    Span,
    idle_of,
    idle_of_kernels,
    idle_of_threads,
    overview_of,
)
from opperf.traces.tensors import Total, history_of, total_of
from tests.reports.trace_reports import execution_trace, profile
from tests.traces.making import collective, event, node, relu, tensor

SHAPES = {"Input Dims": [[2, 4]], "Input type": ["float"], "Input Strides": [[4, 1]]}


def test_operators_have_calls_distinct_calls_and_bytes():
    trace = execution_trace(
        relu(10, 2),
        relu(11, 2),
        relu(12, 2, shape=(8, 4)),
        relu(13, 12),
        collective(14, "allreduce"),
        node(15, "triton_poi", 2, kernel_backend="triton"),
    )
    found = overview_of(trace)
    (use,) = found.operators
    assert use.operator == "aten.relu.default" and use.phases == ("forward",)
    assert (use.calls, use.distinct, use.input_bytes) == (3, 2, 2 * 32 + 128)
    assert found.calls == 5 and found.nodes == 8 and found.time_ns == -1
    assert [(refused.operator, refused.calls) for refused in found.refused] == [
        ("allreduce", 1),
        ("triton_poi", 1),
    ]


def test_a_step_has_the_calls_of_all_threads_until_the_next_one():
    trace = execution_trace(
        relu(9, 2),
        node(10, "ProfilerStep#1", 2),
        node(11, "## step 5 ##", 10),
        relu(12, 11),
        relu(13, 3),
        node(3, "[pytorch|profiler|execution_trace|thread]", 1),
        node(20, "ProfilerStep#2", 2),
        relu(21, 20),
    )
    found = [(step.label, step.calls, step.operators_ns) for step in overview_of(trace).steps]
    assert found == [("ProfilerStep#1", 2, -1), ("ProfilerStep#2", 1, -1)]


def test_a_step_that_had_not_ended_is_in_no_other_one():
    # Its label, 30, would have been written last.
    trace = execution_trace(node(10, "ProfilerStep#1", 2), relu(11, 10), relu(31, 30), relu(32, 9))
    assert [step.calls for step in overview_of(trace).steps] == [2]


def test_times_are_those_of_kernels_where_there_are_any():
    trace = profile(
        event("ProfilerStep#1", 0, 10, "user_annotation"),
        event("aten::relu", 1, 3, **SHAPES),
        event("cudaLaunchKernel", 2, 1, "cuda_runtime", correlation=4),
        event("kernel", 30, 7, "kernel", correlation=4, stream=7, device=0),
        event("aten::relu", 20, 2, **SHAPES),
    )
    found = overview_of(trace)
    assert found.time_ns == 9000
    (step,) = found.steps
    # The later call began after the end of the step.
    assert (step.calls, step.operators_ns, step.time_ns) == (1, 7000, 10_000)


def test_tensors_are_counted_with_their_storages():
    trace = execution_trace(
        relu(10, 2, outputs=[tensor(20, 30, 4, 8)]),
        node(
            11,
            "aten::relu",
            2,
            "aten::relu(Tensor self) -> Tensor",
            inputs=[tensor(21, 30, 16, 8)],
            types=["Tensor(float)"],
            shapes=[[8]],
        ),
    )
    # 8 elements of 4 bytes from outside, and a storage of which 24 are used.
    assert total_of(trace) == Total(3, 2, 32 + 96, 1, 32)
    assert total_of(profile(event("aten::relu", 0, 1, **SHAPES))) is None


def test_a_tensor_has_who_made_and_who_uses_it():
    trace = execution_trace(
        relu(10, 2, outputs=[tensor(20, 30)]),
        relu(12, 2),
        node(
            11,
            "aten::relu",
            2,
            "aten::relu(Tensor self) -> Tensor",
            inputs=[tensor(20, 30)],
            types=["Tensor(float)"],
            shapes=[[8]],
            outputs=[tensor(22, 30)],
        ),
    )
    found = history_of(trace, 20)
    assert [(use.node, use.is_output, use.argument) for use in found.uses] == [
        (10, True, "0"),
        (11, False, "self"),
    ]
    assert found.maker.node == 10 and found.sharing == (22,)
    assert history_of(trace, 1012).maker is None
    assert history_of(trace, 77) is None


def test_gaps_are_what_no_span_covers():
    found = idle_of([Span(50, 10, 3), Span(0, 10, 1), Span(5, 20, 2), Span(52, 2, 4)])
    assert found == Idle(4, 60, 35, 1, (Gap(25, 25, 2, 3),))
    assert found.idle_ns == 25


def test_gaps_are_by_thread_and_by_device():
    kernel = {"stream": 7, "device": 0}
    trace = profile(
        event("aten::relu", 0, 3, **SHAPES),
        event("aten::relu", 10, 3, **SHAPES),
        event("aten::relu", 4, 2, thread=2, **SHAPES),
        event("gloo:all_reduce", 3, 7, "user_annotation"),
        event("k", 0, 5, "kernel", correlation=1, **kernel),
        event("k", 4, 5, "kernel", correlation=2, **{**kernel, "stream": 8}),
        event("k", 11, 5, "kernel", correlation=3, **kernel),
    )
    threads = idle_of_threads(trace)
    assert [(idle.spans, idle.idle_ns) for idle in threads.values()] == [(2, 7000), (1, 0)]
    assert [idle.idle_ns for idle in idle_of_kernels(trace)[1].values()] == [2000]


def test_a_tree_unites_nodes_of_one_name():
    trace = execution_trace(
        node(10, "ProfilerStep#1", 2),
        relu(11, 10),
        relu(12, 11),
        node(13, "ProfilerStep#2", 2),
        relu(14, 13),
    )
    rows = outline_of(trace, 4)
    assert rows[2:] == [Row("ProfilerStep#*", 2, 2, 10, 2, -1), Row("aten::relu", 3, 2, 11, 2, -1)]
    assert outline_of(trace, 1, root=11) == [Row("aten::relu", 0, 1, 12, 0, -1)]
    assert [row.depth for row in outline_of(trace, 2)] == [0, 1]


def test_many_names_below_one_place_are_one_row(monkeypatch):
    monkeypatch.setattr(outline_module, "MOST_CHILDREN", 2)
    trace = execution_trace(*(node(10 + i, f"label{i}", 2) for i in range(4)), relu(20, 11))
    rows = outline_of(trace, 3)[2:]
    assert [(row.name, row.nodes) for row in rows] == [
        ("label0", 1),
        ("label1", 1),
        ("2 other names", 2),
    ]


def test_a_deep_trace_takes_one_walk():
    depth = 20_000
    nodes = [node(10 + i, f"label{i}", 9 + i if i else 2) for i in range(depth)]
    leaves = [relu(10 + depth + i, 10 + i) for i in range(depth)]
    trace = execution_trace(*nodes, *leaves)
    assert overview_of(trace).calls == depth
    assert outline_of(trace, 3)[0].calls == depth


def test_an_operator_that_is_its_own_parent_is_topmost_each_time():
    trace = execution_trace(relu(16, 16), relu(15, 16))
    assert [[own.id for own in trace.topmost()] for _ in range(2)] == [[16], [16]]
