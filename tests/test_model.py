"""The vocabulary: serialising without loss, and ids that mean what they say."""

import re
from pathlib import Path

import msgspec
import pytest

from opperf.model import (
    CallableTarget,
    Case,
    Fill,
    Note,
    NoteCode,
    OperatorTarget,
    Record,
    Settings,
    Status,
    TensorSpec,
    shown_arguments,
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
    notes = (Note("forward", NoteCode.NOISY, "busy"), Note("", "of a later version", "new"))
    record = Record(case=case, id=case.id, status=Status.FAILED, reason="no", notes=notes)
    assert msgspec.json.decode(msgspec.json.encode(record), type=Record) == record


def test_the_id_is_this_very_hash_on_every_machine():
    case = Case(OperatorTarget("mxnet", "relu"), {"data": TensorSpec((2, 3))})
    assert case.id == "76b0b5ae2fa17149"


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
        Settings(mode="train"),
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
    ],
)
def test_the_id_does_not_change_with_how_often_or_by_whom_it_is_measured(changes):
    assert a_case(**changes).id == a_case().id


def test_arguments_are_shown_as_users_write_them():
    assert shown_arguments(a_case()) == {
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
    noisy, dispatch = Note("forward", NoteCode.NOISY, "a"), Note("forward", "dispatch", "b")
    record = Record(case, case.id, Status.OK, notes=(noisy, dispatch))
    assert record.note("forward", NoteCode.DISPATCH) is dispatch
    assert record.note("forward", NoteCode.DISPATCH, NoteCode.NOISY) is noisy
    assert record.note("backward", NoteCode.NOISY) is None
    assert record.note("forward", NoteCode.NAN) is None
