"""Calls of execution traces."""

import json
from pathlib import Path

import pytest

from opperf.errors import UsageError
from opperf.model import CallSite, DType, Fill, Number, OperatorTarget, TensorSpec
from opperf.sources.base import open_source
from opperf.sources.traces import TraceSource
from opperf.traces.reading import read_traces
from tests.traces import making
from tests.traces.making import flat, node, relu, tensor, write


def cases(tmp_path: Path, *nodes):
    return list(TraceSource([write(tmp_path / "t.json", list(nodes))]).cases())


def arguments(tmp_path: Path, *nodes):
    (case,) = cases(tmp_path, *nodes)
    return case.arguments


@pytest.mark.parametrize("name", ("t.json", "t.json.gz", "t.tar.gz"))
@pytest.mark.parametrize("form", (lambda newer: newer, flat))
def test_topmost_calls_are_cases_with_counts(tmp_path, name, form):
    nodes = [
        relu(12, parent=10),
        node(
            10,
            "aten::block",
            2,
            "aten::block(Tensor self) -> Tensor",
            inputs=[tensor(5, 6)],
            types=["Tensor(float)"],
            shapes=[[2]],
        ),
        relu(20, parent=2),
        relu(21, parent=2),
        relu(22, parent=2, shape=(3, 4)),
    ]
    source = open_source(write(tmp_path / name, list(map(form, nodes))))
    found = [(case.target, case.arguments["self"].shape, case.count) for case in source.cases()]
    assert found == [
        (OperatorTarget("torch", "aten.block", "default"), (2,), 1),
        (OperatorTarget("torch", "aten.relu", "default"), (2, 4), 2),
        (OperatorTarget("torch", "aten.relu", "default"), (3, 4), 1),
    ]
    assert not (tmp_path.parent.parent / "escaping.json").exists()


def test_a_folder_has_a_file_per_rank(tmp_path):
    for rank in range(2):
        write(tmp_path / f"rank-{rank}.json.gz", [relu(20, parent=2)])
    (case,) = open_source(tmp_path).cases()
    assert case.count == 2


def test_where_calls_are_and_their_phase(tmp_path):
    nodes = [
        relu(30, parent=11),
        node(11, "## encoder ##", 10),
        node(10, "ProfilerStep#3", 2),
        relu(31, parent=13),
        node(13, "autograd::engine::evaluate_function: ReluBackward0", 2),
        relu(32, parent=14),
        node(14, "Optimizer.step#SGD.step", 2),
        relu(33, parent=15),
        node(15, "enumerate(DataLoader)#_Loader.__next__", 2),
    ]
    (case,) = cases(tmp_path, *nodes)
    assert case.count == 4
    assert case.sites == (
        CallSite("encoder", phase="forward"),
        CallSite("", phase="backward"),
        CallSite("Optimizer.step#SGD.step", phase="optimizer"),
        CallSite("enumerate(DataLoader)#_Loader.__next__", phase="forward"),
    )
    assert case.tags == ("backward", "forward", "optimizer")


def test_storages_that_tensors_share_stay_shared(tmp_path):
    made = arguments(
        tmp_path,
        node(
            20,
            "aten::add",
            2,
            making.ADD,
            inputs=[tensor(5, 9, 128), tensor(6, 9, 132), 1],
            types=["Tensor(float)", "Tensor(float)", "Int"],
            shapes=[[4], [4], []],
            strides=[[2], [1], []],
        ),
    )
    assert made["self"] == TensorSpec((4,), strides=(2,), offset=0, storage="s0")
    assert made["other"] == TensorSpec((4,), offset=4, storage="s0")
    assert made["alpha"] == 1


VALUES = (
    "aten::f(Tensor self, float eps=1e-05, float p=0.25, ScalarType? dtype=None, int[2] size=1, "
    "Device? device=None, MemoryFormat? memory_format=None, Generator? generator=None, "
    "str s='a', Layout? layout=None) -> Tensor"
)


def test_plain_values_are_those_of_the_schema(tmp_path):
    (case,) = cases(
        tmp_path,
        node(
            20,
            "aten::f",
            2,
            VALUES,
            inputs=[tensor(5, 9), 0.0, "inf", 6, [3, 4], "cuda:0", 2, "<Generator>", "sum", 0],
            types=[
                "Tensor(c10::BFloat16)",
                "Double",
                "Double",
                "Int",
                "GenericList[Int,Int]",
                "Device",
                "Int",
                "Generator",
                "String",
                "Int",
            ],
            shapes=[[8], [], [], [], [[], []], [], [], [], [], []],
        ),
    )
    made = case.arguments
    assert made["self"].dtype == "bfloat16" == case.settings.dtype
    assert made["eps"] == 1e-5 and "eps is 1e-05" in case.why
    assert made["p"] == Number("inf") and made["dtype"] == DType("float32")
    assert made["size"] == (3, 4) and made["s"] == "sum" and made["layout"] is None
    assert made["device"].name == "" and made["memory_format"].name == "channels_last"


def test_an_epsilon_without_a_default_is_no_zero(tmp_path):
    schema = "aten::g(Tensor self, float eps) -> Tensor"
    parts = {
        "inputs": [tensor(5, 9), 0.0],
        "types": ["Tensor(float)", "Double"],
        "shapes": [[8], []],
    }
    assert arguments(tmp_path, node(20, "aten::g", 2, schema, **parts))["eps"] == 1e-8


def test_recorded_ranges_bound_integers(tmp_path):
    parts = {"inputs": [tensor(5, 9)], "types": ["Tensor(long int)"], "shapes": [[8]]}
    made = arguments(
        tmp_path, node(20, "aten::relu", 2, making.RELU, tensor_range='{"0":[3,17]}', **parts)
    )
    assert made["self"] == TensorSpec((8,), "int64", Fill("integers", 3.0, 18.0))


def test_ranges_are_of_positions_among_all_tensors(tmp_path):
    schema = "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor"
    undefined = "Tensor(nullptr (uninitialized))"
    integers = [tensor(6, 10, size=2), tensor(7, 11, size=2)]
    made = arguments(
        tmp_path,
        node(
            20,
            "aten::index",
            2,
            schema,
            inputs=[tensor(5, 9), [[8, 0, 0, 0, 0, ""], *integers]],
            types=["Tensor(float)", f"GenericList[{undefined},Tensor(long int),Tensor(long int)]"],
            shapes=[[8, 6, 32], [[], [2], [2]]],
            tensor_range='{"2":[1,3],"3":[4,5]}',
        ),
    )
    assert made["indices"] == (
        None,
        TensorSpec((2,), "int64", Fill("integers", 1.0, 4.0)),
        TensorSpec((2,), "int64", Fill("integers", 4.0, 6.0)),
    )


def test_operators_of_one_device_become_those_of_any(tmp_path):
    schema = (
        "aten::cudnn_convolution(Tensor self, Tensor weight, int[] padding, int[] stride, int[] "
        "dilation, int groups, bool benchmark, bool deterministic, bool allow_tf32) -> Tensor"
    )
    ints = "GenericList[Int,Int]"
    (case,) = cases(
        tmp_path,
        node(
            20,
            "aten::cudnn_convolution",
            2,
            schema,
            inputs=[tensor(5, 9), tensor(6, 10), [1, 1], [2, 2], [1, 1], 1, False, False, True],
            types=["Tensor(float)", "Tensor(float)", ints, ints, ints, "Int", *["Bool"] * 3],
            shapes=[[1, 3, 8, 8], [4, 3, 3, 3], [[], []], [[], []], [[], []], *[[]] * 4],
        ),
    )
    assert case.target == OperatorTarget("torch", "aten.convolution", "default")
    assert case.arguments["input"].shape == (1, 3, 8, 8) and case.arguments["bias"] is None
    assert case.arguments["stride"] == (2, 2) and case.arguments["padding"] == (1, 1)
    assert "benchmark" not in case.arguments and "aten.cudnn_convolution" in case.why


def test_a_depthwise_convolution_has_a_group_for_each_channel(tmp_path):
    schema = (
        "aten::_conv_depthwise2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias, "
        "SymInt[2] stride, SymInt[2] padding, SymInt[2] dilation) -> Tensor"
    )
    ints = "GenericList[Int,Int]"
    made = arguments(
        tmp_path,
        node(
            20,
            "aten::_conv_depthwise2d",
            2,
            schema,
            inputs=[tensor(5, 9), tensor(6, 10), [3, 3], "<None>", [1, 1], [1, 1], [1, 1]],
            types=["Tensor(float)", "Tensor(float)", ints, "None", ints, ints, ints],
            shapes=[[1, 6, 8, 8], [12, 1, 3, 3], [[], []], [], *[[[], []]] * 3],
        ),
    )
    assert made["groups"] == 6 and made["bias"] is None and "kernel_size" not in made


def test_calls_that_differ_only_in_where_tensors_are_kept_are_one(tmp_path):
    def add(identity, offset, alpha, kind, device="cuda:0"):
        return node(
            identity,
            "aten::add",
            2,
            making.ADD,
            inputs=[tensor(5, 9, offset, device=device), tensor(6, 10, device=device), alpha],
            types=["Tensor(float)", "Tensor(float)", kind],
            shapes=[[4], [4], []],
        )

    nodes = [add(20, 0, 1, "Int"), add(21, 128, 1, "Int"), add(22, 0, 1, "Int", "cuda:1")]
    others = [add(23, 0, 1.0, "Double"), add(24, 0, 1, "Int", "cpu")]
    (trace,) = read_traces([write(tmp_path / "t.json", nodes + others)])
    assert len(trace.calls) == 3
    assert [case.count for case in TraceSource([tmp_path / "t.json"]).cases()] == [4, 1]


def test_what_cannot_be_a_case_is_counted_with_the_reason(tmp_path):
    nodes = [
        node(20, "record_param_comms", 2, collective_name="allreduce"),
        node(21, "triton_poi_fused_0", 2, kernel_backend="triton", kernel_file="x.py"),
        node(
            22,
            "aten::h",
            2,
            "aten::h(Stream s) -> ()",
            inputs=["<Stream>"],
            types=["Stream"],
            shapes=[[]],
        ),
        relu(23, parent=2),
    ]
    source = TraceSource([write(tmp_path / "t.json", nodes)])
    assert [case.count for case in source.cases()] == [1]
    assert "several processes" in source.excluded["allreduce"]
    assert "Triton" in source.excluded["triton_poi_fused_0"]
    assert "type Stream" in source.excluded["aten.h"]


def test_one_call_that_cannot_be_built_leaves_the_others(tmp_path):
    bad = relu(20, parent=2)
    bad["inputs"]["types"] = ["Tensor(made_up)"]
    source = TraceSource([write(tmp_path / "t.json", [bad, relu(21, parent=2)])])
    assert [case.count for case in source.cases()] == [1]
    assert source.excluded == {"aten.relu": "1 call: a tensor of the type made_up"}


@pytest.mark.parametrize(
    "change",
    (
        lambda nodes: nodes[0].update(ctrl_deps=99),
        lambda nodes: nodes[0].update(ctrl_deps=nodes[0]["id"]),
        lambda nodes: nodes.append(relu(21, parent=22)) or nodes.append(node(22, "x", 21)),
        lambda nodes: nodes.append(relu(20, parent=2, shape=(9,))),
        lambda nodes: nodes.append({"id": "x", "name": 5}),
        lambda nodes: nodes.append(
            {
                "id": 77,
                "name": "aten::relu",
                "ctrl_deps": 2,
                "attrs": [5, {"name": "op_schema", "value": making.RELU}],
                "inputs": {"values": [[1]], "types": [None], "shapes": 3},
            }
        ),
    ),
)
def test_hostile_nodes_cost_no_others(tmp_path, change):
    nodes = [relu(20, parent=2)]
    change(nodes)
    found = list(TraceSource([write(tmp_path / "t.json", nodes)]).cases())
    assert any(case.arguments["self"].shape == (2, 4) for case in found)


@pytest.mark.parametrize("shape", ([1 << 70], [-1], ["x"], [1] * 65, 5, [None]))
def test_a_shape_out_of_range_is_a_reason(tmp_path, shape):
    bad = relu(20, parent=2)
    bad["inputs"]["shapes"] = [shape]
    source = TraceSource([write(tmp_path / "t.json", [bad, relu(21, parent=2)])])
    assert len(list(source.cases())) == 1 and "shape" in source.excluded["aten.relu"]


def test_a_trace_without_a_call_says_so(tmp_path):
    with pytest.raises(UsageError, match="no call of an operator in it"):
        TraceSource([write(tmp_path / "t.json", [])])


def test_calls_without_schemas_are_the_reason_that_there_are_none(tmp_path):
    old = {name: value for name, value in flat(relu(20)).items() if name != "op_schema"}
    with pytest.raises(UsageError, match="no call of an operator.*1 call without op_schema"):
        TraceSource([write(tmp_path / "t.json", [old], "1.0.1")])


def test_a_folder_without_a_trace_says_so(tmp_path):
    (tmp_path / "x.json").write_text(json.dumps({"a": 1}))
    with pytest.raises(UsageError, match="is a folder; name a file in it"):
        open_source(tmp_path)
