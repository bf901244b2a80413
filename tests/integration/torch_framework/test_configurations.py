"""Configurations of PyTorch's functions, operators and layers, as they are called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from opperf.configurations import configure, listed, load, measure, spec, tensor  # noqa: E402
from opperf.errors import UsageError  # noqa: E402
from opperf.frameworks import load as load_framework  # noqa: E402
from opperf.instruments.prepared import PreparedCase  # noqa: E402
from opperf.model import Fill, ObjectTarget, Status  # noqa: E402
from opperf.sources.completing import complete  # noqa: E402
from opperf.sources.varying import with_settings  # noqa: E402

FRAMEWORK = load_framework("torch")

FILES = Path(__file__).resolve().parents[2] / "sources" / "param" / "files"


def cases(*contents):
    merged = {name: entry for one in contents for name, entry in one.items()}
    completed = complete(FRAMEWORK, load(merged).cases())
    assert [one.refusal for one in completed] == [""] * len(completed)
    return [one.case for one in completed]


def one_case(name, *args, builds=(), **kwargs):
    (case,) = cases(configure(name, [spec(*args, **kwargs)], builds))
    return case


def prepared(case):
    with FRAMEWORK.scope(case):
        return PreparedCase(case, FRAMEWORK)


def called(case):
    with FRAMEWORK.scope(case):
        return PreparedCase(case, FRAMEWORK).call()


@pytest.mark.parametrize(
    ("case", "shape"),
    [
        (lambda: one_case("torch.add", tensor(4, 8), 3), (4, 8)),
        (lambda: one_case("torch.mm", input=tensor(4, 8), mat2=tensor(8, 2)), (4, 2)),
        (lambda: one_case("torch.cat", [tensor(4, 8), tensor(4, 2)], dim=1), (4, 10)),
        (lambda: one_case("torch.reshape", tensor(4, 8), (2, -1)), (2, 16)),
        (lambda: one_case("torch.clamp_", tensor(4, 8), 0.0, 1.0), (4, 8)),
        (lambda: one_case("torch.nn.functional.relu", tensor(4, 8)), (4, 8)),
        (lambda: one_case("aten::add", tensor(4, 8), tensor(8), 2), (4, 8)),
        (lambda: one_case("torch.nn.ReLU", tensor(4, 8)), (4, 8)),
        (lambda: one_case("torch.nn.Linear", tensor(4, 8), builds=[spec(8, 3)]), (4, 3)),
        (
            lambda: one_case(
                "torch.nn.Conv2d",
                tensor(2, 3, 8, 8, memory_format="channels_last"),
                builds=[spec(3, 5, kernel_size=(3, 3), padding=1)],
            ),
            (2, 5, 8, 8),
        ),
    ],
)
def test_a_call_is_that_of_the_configuration(case, shape):
    assert tuple(called(case()).shape) == shape


def test_arguments_of_an_operator_fill_its_schema_in_order():
    case = one_case("aten::add", tensor(4), tensor(4), 7)
    assert list(case.arguments) == ["self", "other", "alpha"]
    x, y = (prepared(case).arguments[name] for name in ("self", "other"))
    assert torch.allclose(called(case), x + 7 * y)


@pytest.mark.parametrize(
    "case",
    [
        lambda: one_case("torch.nn.functional.embedding", tensor(64, dtype="long"), tensor(9, 2)),
        lambda: one_case("torch.nn.Embedding", tensor(64, dtype="long"), builds=[spec(9, 2)]),
        lambda: one_case("torch.gather", tensor(9, 9), 0, tensor(9, 9, dtype="long")),
        lambda: one_case(
            "torch.nn.CrossEntropyLoss", tensor(64, 9), tensor(64, dtype="long"), builds=[spec()]
        ),
    ],
)
def test_indices_are_in_range(case):
    made = case()
    (indices,) = (one for _, one in made.tensors() if one.dtype == "int64")
    assert indices.fill == Fill("integers", 0.0, 9.0)
    assert torch.isfinite(called(made)).all()


def test_the_user_may_say_what_a_tensor_has():
    zeros = tensor(64, dtype="long", distribution="constant", domain=[0, 0])
    case = one_case("torch.nn.Embedding", zeros, builds=[spec(9, 2)])
    assert not prepared(case).arguments["0"].any()


def test_a_layer_has_the_dtype_of_its_input_and_weights_by_the_seed():
    case = one_case("torch.nn.Linear", tensor(4, 8, dtype="bfloat16"), builds=[spec(8, 3)])
    assert case.target == ObjectTarget("torch", "torch.nn.Linear", {"0": 8, "1": 3})
    first, second = (prepared(case).call.func for _ in range(2))
    other = prepared(with_settings(case, {"seed": 1})).call.func
    assert first.weight.dtype == torch.bfloat16 and first.weight.device.type == "cpu"
    assert torch.equal(first.weight, second.weight)
    assert not torch.equal(first.weight, other.weight)


def test_another_dtype_is_that_of_the_weights_too():
    case = one_case("torch.nn.Linear", tensor(4, 8), builds=[spec(8, 3)])
    made = prepared(with_settings(case, {"dtype": "float64"}))
    assert made.call.func.weight.dtype == made.arguments["0"].dtype == torch.float64


def test_dropout_drops_as_in_training_and_does_nothing_in_inference():
    case = one_case("torch.nn.Dropout", tensor(4096), builds=[spec(0.5)])
    assert (called(case) == 0).any()
    assert not (called(with_settings(case, {"phase": "predict"})) == 0).any()


def test_a_layer_is_measured_with_gradients_and_the_memory_of_its_output():
    content = configure("torch.nn.Linear", [spec(tensor(64, 256))], [spec(256, 128)])
    (record,) = measure(load(content), warmup=1, runs=2)
    assert record.status is Status.OK and record.case.source_id == "torch.nn.Linear|0|0|0"
    assert {"forward", "backward"} <= record.summaries.keys()
    assert record.summaries["memory_forward"].median == 64 * 128 * 4


def test_equal_cases_of_a_configuration_have_a_record_each(tmp_path):
    content = configure("torch.exp", [spec(tensor(4)), spec(tensor(4))])
    records = measure(load(content), warmup=0, runs=1, backward=False, save=tmp_path / "r.jsonl")
    assert [one.case.source_id for one in records] == ["torch.exp|0|0|0", "torch.exp|0|0|1"]
    assert len({one.id for one in records}) == 2
    assert all("backward" not in one.summaries for one in records)


def test_a_method_that_writes_finds_its_tensor_as_it_was():
    case = one_case("torch.add_", tensor(4, requires_grad=False), 1)
    made = prepared(case)
    before = made.arguments["0"].clone()
    restore = FRAMEWORK.restoring.restore(case, made.arguments, made.call)
    made.call()
    assert torch.equal(made.arguments["0"], before + 1)
    restore()
    assert torch.equal(made.arguments["0"], before)


def test_dtypes_may_be_listed():
    content = configure(
        "torch.sum",
        [spec(tensor(4), dtype=listed("float", "double") | {"type": "dtype"})],
        input_iterator="RangeConfigIterator",
    )
    assert [called(case).dtype for case in cases(content)] == [torch.float32, torch.float64]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (configure("torch.ad", [spec()]), r"torch.ad.config\[0\].input\[0\]: .*did you mean add"),
        (configure("torch.nn.Linea", [spec()], [spec(3)]), "did you mean Linear"),
        (configure("aten::ad", [spec()]), "has no operator 'ad'; did you mean add"),
        (configure("aten::mm", [spec(1, 2, 3)]), "takes 2 arguments, not 3"),
        (configure("aten::mm", [spec(z=1)]), "has no argument 'z'"),
        (configure("torch.add", [spec()], [spec(3)]), "torch.add is a function, which is not"),
    ],
)
def test_what_cannot_be_called_is_an_error_before_anything_is_measured(content, message):
    with pytest.raises(UsageError, match=message):
        measure(load(content))


@pytest.mark.parametrize("name", ["pytorch.model.resnet", "SplitTableBatchedEmbeddingBagsCodegen"])
def test_a_package_that_is_missing_is_a_skipped_record(name, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torchvision", None)
    monkeypatch.setitem(__import__("sys").modules, "fbgemm_gpu", None)
    builds = [] if "." in name else [spec(1, 9, 4, 0, False, "fp32", "exact_sgd")]
    (record,) = measure(load(configure(name, [spec(tensor(1, 3, 64, 64))], builds)))
    assert record.status is Status.SKIPPED and "pip install" in record.reason


def test_the_command_line_runs_a_file_and_selects_by_its_ids(command_here):
    content = configure("torch.exp", [spec(tensor(4)), spec(tensor(8))])
    (command_here.folder / "exp.json").write_text(json.dumps(content))
    arguments = ("-w", "0", "-r", "1", "--threads", "1", "--quiet", "-o", "o.jsonl", "-f", "jsonl")
    command_here("run", "exp.json", *arguments, "--id", "torch.exp|0|0|1")
    (found,) = load_records(command_here.folder / "o.jsonl")
    assert found["case"]["source_id"] == "torch.exp|0|0|1" and found["status"] == "ok"
    command_here("run", "exp.json", *arguments, "--overwrite", "--id", "0|0|7", code=2)


def load_records(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    planned = {line["id"]: line["case"] for line in lines if line["line"] == "case"}
    # The last one stands: a stalled case is measured again.
    records = {line["id"]: line for line in lines if line["line"] == "record"}
    return [{**line, "case": planned[name]} for name, line in records.items()]


def test_every_case_of_a_file_is_planned(command_here):
    out, _ = command_here("run", str(FILES / "simple_add_range.json"), "--list")
    assert "33 cases of 1 operator" in out
    # The same sum is in two of its inputs.
    assert out.count("0: (64, 256), 1: 40") == 2


def test_params_own_command_measures_and_appends(command_here):
    content = configure("torch.exp", [spec(tensor(4)), spec(tensor(8))])
    (command_here.folder / "exp.json").write_text(json.dumps(content))
    arguments = ("-c", "exp.json", "-w", "1", "-i", "2", "-b", "-r", "0|0|1", "-o", "out.json")
    for count in (3, 6):
        command_here("param", *arguments, "-a", "-l", "ERROR")
        lines = (command_here.folder / "out.json").read_text().splitlines()
        assert len(lines) == count
    record = json.loads(lines[-2])
    assert (record["op_name"], record["id"]) == ("torch.exp", "0|0|1")
    for metric in record["metric"].values():
        assert (len(metric["warmup.time"]), len(metric["measure.time"])) == (1, 2)
    assert sorted(path.name for path in command_here.folder.glob("*.json")) == [
        "exp.json",
        "out.json",
    ]


def test_traces_are_written_beside_the_results(command_here):
    content = configure("torch.exp", [spec(tensor(4)), spec(tensor(8))])
    (command_here.folder / "exp.json").write_text(json.dumps(content))
    command_here("param", "-c", "exp.json", "-o", "out.json", "-p", "--et", "-l", "ERROR")
    *_, trace, execution = map(
        json.loads, (command_here.folder / "out.json").read_text().splitlines()
    )
    assert trace == {"trace_file": str(command_here.folder / "out_trace.json")}
    assert execution == {"et_file": str(command_here.folder / "out_et.json")}
    events = json.loads((command_here.folder / "out_trace.json").read_text())["traceEvents"]
    names = {one.get("name") for one in events}
    assert {"[param|torch.exp|0|0|0]", "[param|torch.exp|0|0|1]", "aten::exp"} <= names
    nodes = json.loads((command_here.folder / "out_et.json").read_text())["nodes"]
    assert sum(node["name"] == "aten::exp" for node in nodes) == 2
