"""Calls of profilers' traces."""

import json
from pathlib import Path

import pytest

from opperf.errors import UsageError
from opperf.model import Number, OperatorTarget, TensorSpec
from opperf.sources.base import open_files, open_source
from opperf.sources.traces import TraceSource
from opperf.traces.kineto import parse_concrete
from opperf.traces.reading import read_traces
from opperf.traces.values import Unbuildable, extents_of
from tests.traces.making import event, node, relu, write

RELU = {"Input Dims": [[2, 4]], "Input type": ["float"], "Input Strides": [[4, 1]]}


def write_events(path: Path, *events, **facts) -> Path:
    path.write_text(json.dumps({"schemaVersion": 1, **facts, "traceEvents": list(events)}))
    return path


def test_calls_are_nested_by_their_times_on_a_thread(tmp_path):
    path = write_events(
        tmp_path / "k.json",
        event("aten::relu", 12, 3, **RELU),
        event("aten::outer", 10, 20, **RELU),
        event("aten::relu", 12, 3, thread=2, **RELU),
        event("ProfilerStep#1", 0, 50, "user_annotation"),
        event("nn.Module: Block_0", 5, 40, "python_function"),
    )
    outer, inner = open_source(path).cases()
    assert outer.target == OperatorTarget("torch", "aten.outer", "")
    assert outer.recorded == (20_000,) and outer.sites[0].module == "Block_0"
    assert inner.count == 1 and inner.recorded == (3000,) and inner.sites[0].module == ""
    assert inner.arguments == {"0": TensorSpec((2, 4))}


@pytest.mark.parametrize("clock", (0, 1_700_000_000_000_000))
def test_rounded_times_nest_as_the_calls_did(tmp_path, clock):
    path = write_events(
        tmp_path / "k.json",
        # Whole microseconds: the inner call seems to end later than the one around it.
        event("aten::outer", clock + 10, 5, **RELU),
        event("aten::relu", clock + 12, 4, **RELU),
        event("aten::relu", clock + 15, 5, **RELU),
    )
    outer, after = open_source(path).cases()
    assert (outer.target.name, outer.count, after.target.name, after.count) == (
        *("aten.outer", 1),
        *("aten.relu", 1),
    )


def test_kernels_are_those_of_the_operator_that_launched_them(tmp_path):
    path = write_events(
        tmp_path / "k.json",
        event("aten::relu", 10, 5, **RELU),
        event("cudaLaunchKernel", 11, 1, "cuda_runtime", correlation=4),
        event("kernel", 200, 70, "kernel", thread=9, correlation=4, stream=7, device=0),
        event("kernel", 300, 30, "kernel", thread=9, correlation=5, stream=7, device=0),
        # Without numbers, nothing says which call launched it.
        event("cudaMemsetAsync", 12, 1, "cuda_runtime"),
        event("memset", 400, 1, "gpu_memset", thread=9),
    )
    (case,) = open_source(path).cases()
    assert case.recorded == (70_000,)
    (trace,) = read_traces([path])
    assert [(kernel.stream, kernel.time_ns, kernel.node) for kernel in trace.kernels] == [
        (7, 70_000, 1),
        (7, 30_000, 0),
        (0, 1000, 0),
    ]


def test_without_shapes_it_says_how_to_record_them(tmp_path):
    source = open_source(write_events(tmp_path / "k.json", event("aten::relu", 10, 5)))
    assert list(source.cases()) == []
    assert "record_shapes=True" in source.excluded["aten.relu"]


def test_no_operator_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="no call of an operator"):
        open_source(write_events(tmp_path / "k.json", event("x", 1, 2, "other")))


def test_times_of_one_trace_are_joined_to_the_calls_of_another(tmp_path):
    write(tmp_path / "rank-0.json", [relu(20, parent=2), relu(21, parent=2)])
    timed = {**RELU, "Record function id": 20}
    write_events(tmp_path / "rank-0.trace.json", event("aten::relu", 10, 5, **timed))
    source = open_source(tmp_path)
    (case,) = source.cases()
    assert case.count == 2 and case.recorded == (5000,)
    assert any("times of 1 of 2 calls are in" in remark for remark in source.remarks)


def test_files_that_are_named_together_are_joined_as_in_a_folder(tmp_path):
    recorded = write(tmp_path / "et.json", [relu(20, parent=2)])
    timed = event("aten::relu", 10, 5, **RELU, **{"Record function id": 20})
    ((path, source),) = open_files([recorded, write_events(tmp_path / "kineto.json", timed)])
    (case,) = source.cases()
    assert (path, case.count, case.recorded) == (recorded, 1, (5000,))


def test_steps_and_kernels_are_joined_too(tmp_path):
    step = node(19, "ProfilerStep#4", 2)
    write(tmp_path / "et.json", [step, relu(20, parent=19), relu(21, parent=19)])
    write_events(
        tmp_path / "kineto.json",
        event("ProfilerStep#4", 0, 50, "user_annotation", **{"Record function id": 19}),
        event("aten::relu", 1, 5, **RELU, **{"Record function id": 20}),
        event("aten::relu", 10, 5, **RELU, **{"Record function id": 21}),
        event("cudaLaunchKernel", 11, 1, "cuda_runtime", correlation=4),
        event("kernel", 20, 7, "kernel", correlation=4, stream=7, device=0),
        distributedInfo={"rank": 3, "world_size": 4},
    )
    (trace,) = read_traces([tmp_path])
    assert (trace.rank, trace.world_size, trace.nodes[19].time_ns) == (3, 4, 50_000)
    assert [(kernel.node, kernel.time_ns) for kernel in trace.kernels] == [(21, 7000)]
    assert trace.nodes[21].recorded_ns == 7000
    assert TraceSource([tmp_path]).program.recorded_step.median == 50_000


def test_the_dtype_of_a_list_of_tensors_is_assumed_and_said(tmp_path):
    inputs = {
        "Input Dims": [[[2, 4], [3, 4]], []],
        "Input type": ["TensorList", "Scalar"],
        "Input Strides": [[[4, 1], [1, 3]], []],
        "Concrete Inputs": ["", "0"],
    }
    path = write_events(
        tmp_path / "k.json",
        event("aten::cat", 1, 5, **inputs),
        event("aten::stack", 10, 5, **{"Input Dims": [5], "Input type": ["TensorList"]}),
    )
    source = open_source(path)
    (case,) = source.cases()
    assert case.arguments == {"0": (TensorSpec((2, 4)), TensorSpec((3, 4), strides=(1, 3))), "1": 0}
    assert "dtype of tensors in lists is not in the trace" in case.why
    assert "without their shapes" in source.excluded["aten.stack"]


@pytest.mark.parametrize(
    "text, value",
    (
        ("3", 3),
        ("0.5", 0.5),
        ("1.", 1.0),
        ("True", True),
        ("", None),
        ("[1, 2]", (1, 2)),
        ("[]", ()),
        ("inf", Number("inf")),
        ("nan", Number("nan")),
        ("cpu", "cpu"),
        ("[" * 10_000 + "]" * 10_000, ("[" * 9_999 + "]" * 9_999,)),
    ),
)
def test_values_that_are_written_as_text(text, value):
    assert parse_concrete(text) == value


def test_a_number_of_more_bits_than_pytorch_has_is_a_reason():
    with pytest.raises(Unbuildable, match="an integer of the value '1000"):
        parse_concrete("1" + "0" * 30)


@pytest.mark.parametrize("extents", [[True, 2], [2.0], [-1], ["2"], None])
def test_extents_are_integers(extents):
    assert extents_of([2, 0]) == (2, 0)
    with pytest.raises(Unbuildable):
        extents_of(extents)
