"""Calls of profilers' traces."""

import json
from pathlib import Path

import pytest

from opperf.errors import UsageError
from opperf.model import Number, OperatorTarget, TensorSpec
from opperf.sources.base import open_source
from opperf.sources.traces.kineto import parse_concrete
from opperf.sources.traces.reading import read_traces
from tests.sources.traces.making import event, relu, write

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


def test_kernels_are_those_of_the_operator_that_launched_them(tmp_path):
    path = write_events(
        tmp_path / "k.json",
        event("aten::relu", 10, 5, **RELU),
        event("cudaLaunchKernel", 11, 1, "cuda_runtime", correlation=4),
        event("kernel", 200, 70, "kernel", thread=9, correlation=4, stream=7, device=0),
        event("kernel", 300, 30, "kernel", thread=9, correlation=5, stream=7, device=0),
    )
    (case,) = open_source(path).cases()
    assert case.recorded == (70_000,)
    (trace,) = read_traces([path])
    assert [(kernel.stream, kernel.time_ns, kernel.node) for kernel in trace.kernels] == [
        (7, 70_000, 1),
        (7, 30_000, 0),
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
    assert any("1 of 2 calls with times" in remark for remark in source.remarks)


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
    ),
)
def test_values_that_are_written_as_text(text, value):
    assert parse_concrete(text) == value
