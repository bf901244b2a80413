"""The vocabulary: serialising without loss, and ids that mean what they say."""

import math
import re
from pathlib import Path

import msgspec
import pytest

from opperf.model import (
    DECLARED,
    CallableTarget,
    Case,
    Device,
    DType,
    FileTarget,
    Fill,
    Function,
    Generator,
    Mapping,
    MemoryFormat,
    Note,
    NoteCode,
    Number,
    ObjectTarget,
    OperatorTarget,
    Record,
    Settings,
    SnippetTarget,
    Status,
    TensorSpec,
    display_arguments,
    iter_tensors,
    map_tensors,
    split_positional,
)


def a_case(**changes):
    case = Case(
        target=OperatorTarget("mxnet", "add_n"),
        arguments={
            "args": (TensorSpec((2, 3)), TensorSpec((2, 3), "int32", Fill("integers", 0, 5))),
            "axis": (0, 1),
            "p": 0.5,
            "flag": True,
            "mode": "both",
            "nothing": None,
            "data": TensorSpec((1,), fill=Fill("literal", data=[1.5])),
        },
    )
    return msgspec.structs.replace(case, **changes)


def test_a_case_survives_json():
    case = a_case()
    assert msgspec.json.decode(msgspec.json.encode(case), type=Case) == case


def test_a_callable_case_survives_json():
    case = a_case(target=CallableTarget("mxnet", "mxnet.ndarray.add"))
    decoded = msgspec.json.decode(msgspec.json.encode(case), type=Case)
    assert decoded == case
    assert decoded.label == "add"


def test_a_record_survives_json():
    case = a_case()
    notes = (Note("forward", NoteCode.DRIFT, "busy"), Note("", "of a later version", "new"))
    record = Record(case=case, id=case.id, status=Status.FAILED, reason="no", notes=notes)
    assert msgspec.json.decode(msgspec.json.encode(record), type=Record) == record


RELU = OperatorTarget("mxnet", "relu")
DATA = {"data": TensorSpec((2, 3))}

IDS = (
    ("5636425e858e2516", Case(RELU, DATA)),
    ("8bb88cb667a9f27a", Case(RELU, DATA, Settings(dtype="float16", threads=2))),
    ("25bfa2f799f17880", Case(RELU, DATA, Settings(mode="compiled", env={"A": "1"}, python="new"))),
)
"""Ids that are in files of users: none of them may ever change."""


@pytest.mark.parametrize(("id", "case"), IDS)
def test_the_id_is_this_very_hash_on_every_machine_and_in_every_version(id, case):
    assert case.id == id
    assert msgspec.json.decode(msgspec.json.encode(case), type=Case).id == id


def test_a_value_at_its_default_is_not_in_the_id_wherever_it_comes_from():
    text = "".join(["float", "32"])
    spelt = TensorSpec((2, 3), text, Fill("normal", float("0"), float("1")))
    assert Case(RELU, {"data": spelt}, Settings(dtype=text)).id == Case(RELU, DATA).id


def test_a_field_that_is_added_later_changes_no_id():
    class Later(TensorSpec, frozen=True, tag="tensor"):
        added: int = 0

    assert Case(RELU, {"data": Later((2, 3))}).id == Case(RELU, DATA).id
    assert Case(RELU, {"data": Later((2, 3), added=1)}).id != Case(RELU, DATA).id


def test_a_path_is_never_in_an_id():
    here, there = (FileTarget("numpy", f"{f}/kernels.py", "softmax") for f in ("/a", "b/c"))
    assert Case(here, DATA).id == Case(there, DATA).id
    assert Case(here, DATA).id != Case(FileTarget("numpy", "/a/others.py", "softmax"), DATA).id


def test_every_target_value_and_tensor_survives_json():
    arguments = {
        "0": Number.of(2 - 1j),
        "nested": ((1, (2.5, DType("int8"))), "x"),
        "options": Mapping({"x": TensorSpec((1,)), "deep": Mapping({"n": None})}),
        "device": Device("gpu(1)"),
        "format": MemoryFormat("channels_last"),
        "rng": Generator(3),
        "body": Function("jax.lax.add"),
        "branches": (Function("jnp.sin"), Function("jnp.cos")),
        "view": TensorSpec((2, 2), strides=(1, 2), offset=1, storage="s", device="cpu(0)"),
    }
    targets = (
        OperatorTarget("torch", "aten::add", "Tensor", "aten"),
        CallableTarget("mxnet", "nd.add"),
        FileTarget("numpy", "k.py", "f"),
        ObjectTarget("torch", "torch.nn.Linear", {"in_features": 3}),
        SnippetTarget("numpy", "x + 1", "import numpy as np"),
    )
    for target in targets:
        case = Case(target, arguments, count=3, tags=("a",))
        assert msgspec.json.decode(msgspec.json.encode(case), type=Case) == case
    assert len({Case(target, {}).id for target in targets}) == len(targets)
    assert len({target.key for target in targets}) == len(targets)


@pytest.mark.parametrize(
    ("target", "key", "label"),
    [
        (CallableTarget("mxnet", "nd.add"), "mxnet:nd:add", "add"),
        (CallableTarget("mxnet", "np.add"), "mxnet:np:add", "add"),
        (OperatorTarget("torch", "add", "Tensor", "aten"), "torch:aten:add.Tensor", "add.Tensor"),
        (FileTarget("numpy", "/x/k.py", "f"), "numpy:k.py:f", "f"),
    ],
)
def test_a_target_has_a_key_to_join_and_a_label_to_show(target, key, label):
    assert (str(target.key), target.label) == (key, label)


def test_numbers_come_back_as_they_were():
    for value in (1.5 + 2j, float("inf"), float("-inf"), 0.1):
        assert Number.of(value).value == value
    assert math.isnan(Number.of(float("nan")).value)


def test_arguments_without_a_name_are_in_their_order():
    assert split_positional({"10": "k", "axis": 1, "2": "c", "0": "a"}) == (
        ["a", "c", "k"],
        {"axis": 1},
    )


def test_every_setting_is_declared_once():
    assert tuple(DECLARED) == Settings.__struct_fields__
    assert len({one.option for one in DECLARED.values()}) == len(DECLARED)
    assert all(one.title for one in DECLARED.values())


@pytest.mark.parametrize(
    ("name", "value", "text", "arguments", "assignments"),
    [
        ("dtype", "int8", "int8", ("--dtype", "int8"), ("dtype:int8",)),
        ("threads", 4, "4", ("--threads", "4"), ("threads:4",)),
        ("threads", None, "all", ("--threads", "all"), ("threads:all",)),
        ("env", {}, "unset", (), ()),
        (
            *("env", {"A": "1", "B": ""}, "A=1 B="),
            *(("--env", "A=1", "--env", "B="), ("env:A=1", "env:B=")),
        ),
        (
            *("options", {"a.b": "true"}, "a.b=true"),
            *(("--set", "a.b=true"), ("options:a.b=true",)),
        ),
        *(
            (name, value, value, (option, value), (f"{name}:{value}",))
            for name, option, value in (
                ("autocast", "--autocast", "off"),
                ("autocast", "--autocast", "bfloat16"),
                ("memory_format", "--memory-format", "contiguous"),
                ("compile_cache", "--compile-cache", "cold"),
            )
        ),
        ("python", "", "own", (), ()),
        ("warmup", None, "", (), ()),
        ("warmup", 0, "0", ("--warmup", "0"), ("warmup:0",)),
    ],
)
def test_a_setting_is_written_as_it_is_read(name, value, text, arguments, assignments):
    setting = DECLARED[name]
    assert setting.text(value) == text
    assert setting.arguments(value) == arguments
    assert setting.assignments(value) == assignments


def test_a_setting_without_a_value_is_an_option_alone():
    memory = DECLARED["memory"]
    assert [memory.text(value) for value in (True, False)] == ["yes", "no"]
    assert [memory.arguments(value) for value in (True, False)] == [(), ("--no-memory",)]


@pytest.mark.parametrize(
    ("spec", "steps", "reach"),
    [
        (TensorSpec((2, 3, 4)), (12, 4, 1), 24),
        (TensorSpec((3, 4), strides=(1, 3), offset=2), (1, 3), 14),
        (TensorSpec((5, 4), strides=(0, 1)), (0, 1), 4),
        (TensorSpec(()), (), 1),
        (TensorSpec((0, 3), offset=2), (3, 1), 2),
    ],
)
def test_where_a_tensors_elements_lie(spec, steps, reach):
    assert (spec.steps, spec.reach) == (steps, reach)


def test_the_id_does_not_depend_on_the_order_of_arguments():
    forwards = Case(OperatorTarget("mxnet", "f"), {"a": 1, "b": 2})
    backwards = Case(OperatorTarget("mxnet", "f"), {"b": 2, "a": 1})
    assert forwards.id == backwards.id


@pytest.mark.parametrize(
    "settings",
    [
        Settings(device="gpu(0)"),
        Settings(dtype="float16"),
        Settings(profiler="python"),
        Settings(threads=1),
        Settings(phase="train"),
        Settings(mode="compiled"),
        Settings(env={"A": "1"}),
        Settings(python="new"),
        Settings(cache="cold"),
    ],
)
def test_the_id_changes_with_what_is_measured(settings):
    assert a_case(settings=settings).id != a_case().id


@pytest.mark.parametrize(
    "changes",
    [
        {"settings": Settings(warmup=0, runs=1, seed=5, timeout_s=1.0)},
        {"origin": "elsewhere"},
        {"tags": ("x",)},
        {"passes": ("forward",)},
        {"category": "y"},
        {"count": 9},
    ],
)
def test_the_id_does_not_change_with_how_often_or_by_whom_it_is_measured(changes):
    assert a_case(**changes).id == a_case().id


def test_arguments_are_shown_as_users_write_them():
    assert display_arguments(a_case()) == {
        "args": [[2, 3], [2, 3]],
        "axis": [0, 1],
        "p": 0.5,
        "flag": True,
        "mode": "both",
        "nothing": None,
        "data": [1],
    }


def test_tensors_of_lists_are_found():
    assert [name for name, _ in a_case().tensors()] == ["args", "args", "data"]


def test_every_code_of_a_note_is_documented():
    page = (Path(__file__).parents[1] / "docs" / "measuring.md").read_text()
    table = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`(\w+)`", " ".join(table))) == {code.value for code in NoteCode}


def test_a_note_is_found_by_its_metric_and_code():
    case = a_case()
    noisy, dispatch = Note("forward", NoteCode.DRIFT, "a"), Note("forward", "dispatch", "b")
    record = Record(case=case, id=case.id, status=Status.OK, notes=(noisy, dispatch))
    assert record.note("forward", NoteCode.DISPATCH) is dispatch
    assert record.note("forward", NoteCode.DISPATCH, NoteCode.DRIFT) is noisy
    assert record.note("backward", NoteCode.DRIFT) is None
    assert record.note("forward", NoteCode.NAN) is None


def test_every_tensor_of_an_argument_is_changed():
    spec, other = TensorSpec((2,)), TensorSpec((3, 4))
    nested = (1, spec, (other, "a"), Mapping({"key": (spec, None)}))
    changed = map_tensors(nested, lambda one: TensorSpec((*one.shape, 5)))
    assert [one.shape for one in iter_tensors(changed)] == [(2, 5), (3, 4, 5), (2, 5)]
    assert map_tensors(changed, lambda one: TensorSpec(one.shape[:-1])) == nested
    assert map_tensors("plain", lambda one: spec) == "plain"
