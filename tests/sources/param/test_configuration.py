"""The cases of a configuration: ids, targets, and what is wrong with one."""

import json
from pathlib import Path

import pytest

from opperf.errors import UsageError
from opperf.model import CallableTarget, Case, ObjectTarget, OperatorTarget
from opperf.sources.base import is_source, open_source
from opperf.sources.param.configuration import Configuration

FILES = Path(__file__).parent / "files"
"""Configurations of PARAM's own, with their licence."""

TENSOR = {"type": "tensor", "dtype": "float", "shape": [4, 4]}
RANGE = {"input_iterator": "RangeConfigIterator"}
SCHEMA = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"


def number(value, **others):
    return {"type": "int", "value": value, **others}


def ranged(*value):
    return number(list(value), __range__=["value"])


def content(name="torch.add", inputs=((TENSOR, TENSOR),), builds=None, **others):
    config = {"input": [{"args": list(one)} for one in inputs]}
    if builds is not None:
        config["build"] = [{"args": list(one)} for one in builds]
    return {name: {"config": [config], **others}}


def cases(*contents):
    merged = {name: entry for one in contents for name, entry in one.items()}
    return list(Configuration(merged, "f.json").cases())


def ids(*contents):
    return [case.source_id for case in cases(*contents)]


def test_a_range_of_param_has_33_cases_with_ids():
    source = open_source(FILES / "simple_add_range.json")
    found = list(source.cases())
    assert len(found) == 33 and len({case.source_id for case in found}) == 33
    assert [case.source_id for case in found][9:12] == [
        "torch.add|0|0|0_9",
        "torch.add|0|0|1_0",
        "torch.add|0|0|1_1",
    ]
    assert found[-1].source_id == "torch.add|1|0|1_5" and found[-1].arguments["1"] == 50
    assert found[-1].origin == f"{FILES}/simple_add_range.json: torch.add.config[1].input[1]"


def test_operators_of_the_dispatcher_have_the_overload_of_their_schema():
    found = [case.target for case in open_source(FILES / "aten_ops.json").cases()]
    assert found == [
        OperatorTarget("torch", "add", "Tensor"),
        OperatorTarget("torch", "add_", "Tensor"),
        OperatorTarget("torch", "matmul", "default"),
        OperatorTarget("torch", "mul", "Tensor"),
        OperatorTarget("torch", "sum", "dim_IntList"),
        OperatorTarget("torch", "linear", "default"),
    ]


def test_ids_are_positions_without_a_range():
    assert ids(content(inputs=[(TENSOR,), (TENSOR,)])) == ["torch.add|0|0|0", "torch.add|0|0|1"]


def test_several_builds_have_an_id_each():
    built = content("torch.nn.Linear", builds=[(number(4), number(2)), (number(4), number(3))])
    assert ids(built) == ["torch.nn.Linear|0|0|0", "torch.nn.Linear|0|1|0"]
    ranges = content(
        "torch.nn.Linear",
        inputs=[(TENSOR,), (TENSOR,)],
        builds=[(number(4), ranged(2, 3, 1))],
        build_iterator="RangeConfigIterator",
        **RANGE,
    )
    assert ids(ranges) == [
        f"torch.nn.Linear|0|0_{build}|{given}_0" for build in (0, 1) for given in (0, 1)
    ]


def test_every_config_and_operator_is_read_in_order():
    twice = content()
    twice["torch.add"]["config"] *= 2
    assert ids(twice, content("torch.mul")) == [
        "torch.add|0|0|0",
        "torch.add|1|0|0",
        "torch.mul|0|0|0",
    ]


@pytest.mark.parametrize(
    ("name", "builds", "target"),
    [
        ("torch.add", None, CallableTarget("torch", "torch.add")),
        ("torch.add", [], CallableTarget("torch", "torch.add")),
        (
            "torch.nn.Linear",
            [(number(4), number(2))],
            ObjectTarget("torch", "torch.nn.Linear", {"0": 4, "1": 2}),
        ),
        ("aten::mm", None, OperatorTarget("torch", "mm")),
        (
            "aten::add",
            [({"type": "str", "value": SCHEMA},)],
            OperatorTarget("torch", "add", "Tensor"),
        ),
        ("prims::add", None, OperatorTarget("torch", "prims::add")),
        ("pytorch.model.resnet", [], ObjectTarget("torch", "torchvision.models.resnet50")),
        ("pytorch:alex_net", None, ObjectTarget("torch", "torchvision.models.alexnet")),
        ("pytorch.model.vgg16", None, ObjectTarget("torch", "torchvision.models.vgg16")),
        ("numpy.add", None, CallableTarget("numpy", "numpy.add")),
        ("jax.numpy.add", None, CallableTarget("jax", "jax.numpy.add")),
        # Any importable package's layer.
        ("msgspec.Raw", None, ObjectTarget("torch", "msgspec.Raw")),
    ],
)
def test_an_operator_is_known_by_its_name(name, builds, target):
    (case,) = cases(content(name, builds=builds))
    assert case.target == target


def test_the_dtype_of_a_case_is_that_of_its_tensors():
    wide = {**TENSOR, "dtype": "double"}
    whole = {**TENSOR, "dtype": "long"}
    found = [cases(content(inputs=[args]))[0].settings.dtype for args in ((wide,), (whole,), ())]
    assert found == ["float64", "float32", "float32"]


def test_layers_are_in_the_phase_of_training_and_their_weights_take_no_gradient():
    weighted = content("torch.nn.CrossEntropyLoss", builds=[(TENSOR,)])
    (case,) = cases(weighted)
    assert case.settings.phase == "train"
    assert not case.target.arguments["0"].gradient and case.arguments["0"].gradient


def test_a_repeated_case_has_an_id_of_its_own_and_others_keep_theirs():
    (case,) = cases(content())
    again = Case(case.target, case.arguments, case.settings, repeat=1)
    assert again.id != case.id
    assert Case(case.target, case.arguments, case.settings).id == case.id


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (content(input_iterator="RangeConfigIteratr"), "unknown iterator .*did you mean RangeC"),
        (content(build_iterator="DefaultConfigIteratr"), r"f.json: torch.add.build_iterator: "),
        (content(input_data_generator="PyTorch:Default"), r"torch.add.input_data_generator: "),
        (content(build_data_generator="x"), "f.json: torch.add.build_data_generator: unknown data"),
        (content("torhc.add"), "unknown operator 'torhc.add'; did you mean torch.add"),
        (content("add"), "f.json: add: unknown operator 'add'"),
        (content("nosuchpackage.Layer"), "unknown operator 'nosuchpackage.Layer'"),
        ({"torch.add": {"confg": []}}, "f.json: torch.add: .* `confg`; did you mean config"),
        ({"torch.add": {}}, "torch.add: object missing required field `config`"),
        ({"torch.add": []}, "torch.add: expected `object`, got `array`"),
        ({"torch.add": {"config": [{"inputs": []}]}}, r"config\[0\]: .* `inputs`; did you mean in"),
        ({"torch.add": {"config": []}}, "f.json: no `input` of any operator in it"),
        ({}, "f.json: no `input`"),
        (content(inputs=[(ranged(1, 2, 1),)]), r"input\[0\]: a macro, .*set the iterator to Range"),
        (
            content(inputs=[(ranged(1, 2),)], **RANGE),
            r"input\[0\].args\[0\].value: __range__ takes",
        ),
        (content("aten::mm", builds=[(number(3),)]), r"aten::mm.config\[0\]: `build` of aten::mm"),
        (
            content("aten::mm", builds=[({"type": "str", "value": SCHEMA},)]),
            "the schema in `build` is that of aten::add",
        ),
    ],
)
def test_a_wrong_configuration_is_an_error_with_its_key_path(wrong, message):
    with pytest.raises(UsageError, match=message):
        Configuration(wrong, "f.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{\n "torch.add": {\n  "config": [],\n }\n}',
            "x.json:[34]: not JSON, .* at column (2|15)",
        ),
        ('{"torch.add": {"config": []}, "torch.add": {}}', "the key 'torch.add' is there twice"),
        ('{"torch.add": {"config": []}}\nOperator: aten.mm.default\n', "x.json:2: not JSON, extra"),
    ],
)
def test_a_file_that_is_no_json_says_where(tmp_path, text, message):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        open_source(path)


@pytest.mark.parametrize("text", ["", "[1]", "{}", '{"a": 1}', '{"add": [{"inputs": {}}]}'])
def test_other_files_of_json_are_no_configurations(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    assert not is_source(path)


def test_a_file_is_known_by_its_content(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text(json.dumps(content()))
    assert is_source(path)


def test_a_folder_is_no_package_of_layers(tmp_path, monkeypatch):
    (tmp_path / "folder_of_notes").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match="unknown operator 'folder_of_notes.Layer'"):
        cases(content("folder_of_notes.Layer"))


def test_one_wrong_case_is_left_out_with_its_reason():
    wrong = (TENSOR, {**TENSOR, "dtype": "flaot"})
    untyped = (TENSOR, {"value": 1})
    macro = (ranged(1, 2, 1),)
    source = Configuration(
        {
            **content(inputs=[(TENSOR, TENSOR), wrong, untyped, macro, (TENSOR, number(2.5))]),
            **content("torhc.mul"),
            **content("torch.mul"),
        },
        "f.json",
    )
    assert [case.source_id for case in source.cases()] == [
        "torch.add|0|0|0",
        "torch.add|0|0|4",
        "torch.mul|0|0|0",
    ]
    begin = "torch.add.config[0].input"
    assert list(source.excluded) == [
        f"{begin}[1].args[1].dtype",
        f"{begin}[2].args[1]",
        f"{begin}[3]",
        "torhc.mul",
    ]
    (warning,) = source.warnings
    assert warning.startswith(f"omitted: f.json: {begin}[1]") and warning.endswith("and 3 more")


def test_keys_of_other_tools_are_ignored_and_their_count_is_the_cases():
    config = content()
    (spec,) = config["torch.add"]["config"][0]["input"]
    spec |= {"count": 12, "size": 64}
    spec["args"][0] = {**TENSOR, "size": 64}
    (case,) = cases(config)
    assert case.count == 12
    (plain,) = cases(content())
    assert case.id == plain.id and plain.count == 1


def test_what_is_ignored_and_what_is_guessed_is_said_once():
    config = content(inputs=[(TENSOR, number(2.5)), (TENSOR, number(2.0))], size=3)
    first, second = config["torch.add"]["config"][0]["input"]
    first |= {"count": 12, "size": 64}
    second["args"][0] = {**TENSOR, "name": "x", "device": "cuda"}
    source = Configuration(config, "f.json")
    begin = "torch.add.config[0].input"
    assert source.warnings == ()
    assert source.remarks == [
        "f.json: keys without a meaning here are ignored: size, device (3 places: torch.add.size, "
        f"{begin}[0].size, {begin}[1].args[0].device)",
        "f.json: arguments of type int that are no integers are passed as they are, as PARAM "
        f"passes them: {begin}[0].args[1] (2.5)",
    ]
    assert [case.arguments["1"] for case in source.cases()] == [2.5, 2.0]
    assert Configuration(content(), "f.json").remarks == []


@pytest.mark.parametrize("key", ["input_iterator", "build_data_generator"])
def test_a_name_that_is_an_object_is_refused(key):
    config = content()
    config["torch.add"][key] = {"name": "x"}
    with pytest.raises(UsageError, match=rf"torch.add.{key}: expected `str \| null`, got `object`"):
        Configuration(config, "f.json")


def test_a_wrong_build_costs_its_own_cases():
    builds = [(number("x"), number(4)), (number(4), number(4)), (number(2), {"type": "itn"})]
    source = Configuration(content("torch.nn.Linear", [(TENSOR,)], builds), "f.json")
    assert [case.source_id for case in source.cases()] == ["torch.nn.Linear|0|1|0"]
    begin = "torch.nn.Linear.config[0].build"
    assert list(source.excluded) == [f"{begin}[0].args[0].value", f"{begin}[2].args[1].type"]
