"""Results as PARAM's benchmarks write them."""

import json
import math

import pytest

from opperf.formats.param.arguments import device_name, value_of, written_argument
from opperf.formats.param.lines import case_line, param_text
from opperf.formats.param.schema import read_argument
from opperf.model import (
    SCHEMA_VERSION,
    CallableTarget,
    Case,
    Closing,
    Device,
    DType,
    Header,
    MemoryFormat,
    Number,
    ObjectTarget,
    OperatorTarget,
    Record,
    Run,
    Settings,
    Status,
    TensorSpec,
)
from opperf.sources.param.configuration import Configuration
from tests.environments import make_environment
from tests.results.conftest import summary

ADD = Case(
    CallableTarget("torch", "torch.add"),
    {"0": TensorSpec((2, 3), gradient=True), "1": 3, "alpha": 0.5},
    Settings(warmup=1, runs=2),
    source_id="torch.add|0|0|1_2",
)

ENVIRONMENT = make_environment(hostname="here")


def lines(*records):
    run = Run(
        Header(schema=SCHEMA_VERSION, started="begin", options={"command": "opperf run x"}),
        records,
        Closing(finished="end", elapsed_s=1.0, counts={}),
        {ENVIRONMENT.id: ENVIRONMENT},
        tuple(record.case for record in records),
    )
    return [json.loads(line) for line in param_text(run).splitlines()]


def measured(case, **others):
    return Record(
        case=case,
        id=case.id,
        status=Status.OK,
        samples={"forward": [1e6, 2e6], "backward": [4e6], "total": [5e6]},
        warmup={"forward": [7e6]},
        summaries={"memory_forward": summary(2**20, "B"), "memory": summary(3 * 2**20, "B")},
        **others,
    )


def test_a_run_is_its_options_its_records_and_its_end():
    first, record, last = lines(measured(ADD))
    assert first["start_time"] == "begin" and last == {"finish_time": "end"}
    assert (
        first["run_options"] | {"warmup": 1, "iteration": 2, "device": "cpu"}
        == first["run_options"]
    )
    assert first["sys_info"]["pytorch_version"] == "1.2.3"
    assert first["sys_info"]["hostname"] == "here"
    assert (record["op_name"], record["id"]) == ("torch.add", "0|0|1_2")


def test_times_are_in_ms_for_each_pass():
    _, record, _ = lines(measured(ADD))
    assert record["metric"] == {
        "forward": {
            "warmup.time": [7.0],
            "warmup.gpu.memory": [],
            "measure.time": [1.0, 2.0],
            "measure.gpu.memory": [],
        },
        "backward": {
            "warmup.time": [],
            "warmup.gpu.memory": [],
            "measure.time": [4.0],
            "measure.gpu.memory": [],
        },
    }


def test_what_programs_found_is_beside_the_times_and_their_files_are_lines():
    profiled = Record(
        case=ADD,
        id=ADD.id,
        status=Status.OK,
        samples={"forward": [1e6], "ncu_time": [5.0], "ncu_time_backward": [7.0]},
        profiles={"perf record": "opperf-perf-record-1.data"},
    )
    _, line, file, _ = lines(profiled)
    assert line["metric"]["forward"]["measure.ncu_time"] == [5.0]
    assert file == {
        "perf_record_file": "opperf-perf-record-1.data",
        "start_run_id": "0|0|1_2",
        "end_run_id": "0|0|1_2",
    }


def test_memory_is_in_mib_on_a_gpu():
    case = Case(ADD.target, ADD.arguments, Settings(device="gpu(1)"), source_id=ADD.source_id)
    first, record, _ = lines(measured(case))
    assert first["run_options"]["device"] == "cuda:1"
    found = [record["metric"][name]["measure.gpu.memory"] for name in ("forward", "backward")]
    assert found == [[1.0], [3.0]]


def test_a_case_without_numbers_says_why():
    skipped = Record(case=ADD, id=ADD.id, status=Status.SKIPPED, reason="no torchvision")
    _, record, _ = lines(skipped)
    assert record["metric"] == {}
    assert (record["status"], record["reason"]) == ("skipped", "no torchvision")


ARGUMENTS = {
    "0": TensorSpec((2,), "bfloat16", gradient=True),
    "1": TensorSpec((2, 2), "int64", strides=(1, 2)),
    "2": ((1, 2.5), None, True),
    "3": "mean",
    "device": Device("gpu(1)"),
    "dtype": DType("float64"),
}


@pytest.mark.parametrize(
    "target",
    [
        CallableTarget("torch", "torch.add"),
        ObjectTarget("torch", "torch.nn.Linear", {"0": 3, "bias": False}),
        OperatorTarget("torch", "add", "Tensor"),
        OperatorTarget("torch", "mm", "default"),
        OperatorTarget("torch", "prims::add", "default"),
    ],
)
def test_a_line_can_be_a_configuration_again(target):
    line = case_line(Case(target, ARGUMENTS))
    config = {"input": [line["config"]["input"]]}
    if line["config"]["build"] is not None:
        config["build"] = [line["config"]["build"]]
    (again,) = Configuration({line["op_name"]: {"config": [config]}}).cases()
    assert again.arguments == ARGUMENTS
    default = OperatorTarget(target.framework, target.name) if _is_default(target) else target
    assert again.target in (target, default)


def _is_default(target):
    return isinstance(target, OperatorTarget) and target.overload == "default"


def test_infinity_can_be_read_again_and_a_complex_number_is_text():
    arguments = {"0": Number.of(float("-inf")), "1": Number.of(1 + 2j)}
    assert case_line(Case(ADD.target, arguments))["config"]["input"]["args"] == [
        {"type": "float", "value": float("-inf")},
        {"type": "str", "value": "(1+2j)"},
    ]


@pytest.mark.parametrize(
    ("device", "name"),
    [("cpu(0)", "cpu"), ("gpu(0)", "cuda:0"), ("gpu(1)", "cuda:1"), ("cpu", "cpu")],
)
def test_devices_have_pytorchs_names(device, name):
    assert device_name(device) == name


@pytest.mark.parametrize(
    "value",
    [
        TensorSpec((2, 3), "float64", strides=(1, 2)),
        TensorSpec((2, 3, 4, 4), memory_format="channels_last", gradient=True),
        TensorSpec((4,), "int64"),
        None,
        True,
        3,
        2.5,
        Number.of(math.inf),
        "mean",
        (1, (2.0, "x")),
        Device("gpu(1)"),
        DType("int32"),
        MemoryFormat("preserve"),
    ],
)
def test_an_argument_is_read_as_it_was_written(value):
    written = json.loads(json.dumps(written_argument(value)))
    assert value_of(read_argument(written, "x"), "x") == value
