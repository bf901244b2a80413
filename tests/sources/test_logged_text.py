"""Calls in the notation of logs of operator inputs, which reads them as they were."""

import pytest

from opperf.model import (
    Case,
    Device,
    DType,
    Fill,
    Generator,
    MemoryFormat,
    Number,
    OperatorTarget,
    TensorSpec,
)
from opperf.sources.logged_text import InputLog, log_text
from opperf.sources.param.configuration import Configuration
from opperf.sources.param.files import configuration_text, read_text

ADD = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
KEYWORDS = {("aten.add", "Tensor"): {"alpha"}}
SCHEMAS = {("aten.add", "Tensor"): ADD}


def called(arguments, name="aten.add", overload="Tensor", count=1):
    return Case(OperatorTarget("torch", name, overload), arguments, count=count)


ADDED = called(
    {"self": TensorSpec((2, 3)), "other": TensorSpec((3,), "int64"), "alpha": 2}, count=5
)

VALUES = {
    "self": TensorSpec((2, 3), "bfloat16", strides=(1, 2)),
    "tensors": (TensorSpec((4,)), TensorSpec((), "bool"), None),
    "dtype": DType("float8_e5m2"),
    "memory_format": MemoryFormat("channels_last"),
    "layout": "strided",
    "p": Number("-inf"),
    "eps": 1e-05,
    "mask": (True, False),
    "mode": "it's",
    "none": None,
}


def read_log(tmp_path, text):
    path = tmp_path / "log.txt"
    path.write_text(text)
    return list(InputLog(path).cases())


def test_a_log_has_positions_and_keywords(tmp_path):
    written = log_text([ADDED], KEYWORDS)
    assert written.text == (
        "Operator: aten.add.Tensor\ncnt: 5, ((T([2, 3], f32), T([3], i64)), {'alpha': 2})\n"
    )
    assert (written.cases, written.calls, written.changed, written.omitted) == (1, 5, 0, {})


def test_a_log_is_read_with_the_same_values(tmp_path):
    written = log_text([called(VALUES)], {})
    (read,) = read_log(tmp_path, written.text)
    assert read.arguments == VALUES and not written.changed


def test_a_configuration_is_read_with_the_same_values():
    bounded = TensorSpec((4,), "int64", Fill("integers", 3.0, 18.0))
    values = {**VALUES, "index": bounded}
    written = configuration_text([ADDED, called(values, "mylib.f", "default")], SCHEMAS)
    first, second = Configuration(read_text(written.text, "x.json")).cases()
    assert first.target == OperatorTarget("torch", "add", "Tensor") and first.count == 5
    assert first.arguments == dict(enumerate_texts(ADDED.arguments.values()))
    # Contents of booleans are said there.
    values["tensors"] = (TensorSpec((4,)), TensorSpec((), "bool", Fill("boolean")), None)
    assert second.target.name == "mylib::f" and second.arguments == values
    assert not written.changed and ADD in written.text


def enumerate_texts(values):
    return ((str(index), value) for index, value in enumerate(values))


@pytest.mark.parametrize(
    "write",
    (lambda cases: log_text(cases, KEYWORDS), lambda cases: configuration_text(cases, SCHEMAS)),
)
def test_what_cannot_be_said_is_counted(write):
    lost = [
        called({"self": TensorSpec((2,), storage="s0"), "other": TensorSpec((2,), storage="s0")}),
        called({"self": TensorSpec((2,), offset=4)}, count=3),
        called({"self": TensorSpec((2,)), "device": Device("")}),
        called({"generator": Generator(), "self": TensorSpec((2,))}),
    ]
    written = write(lost)
    assert (written.changed, written.cases, written.calls) == (4, 4, 6)
    written = write([called({"self": TensorSpec((2, 2), layout="csr")}, count=7), ADDED])
    assert written.omitted == {"a sparse tensor": 7} and written.cases == 1


def test_a_log_has_no_operator_without_an_overload():
    written = log_text([called({}, overload=""), called({}, name="a b.c")], {})
    assert written.cases == 0 and len(written.omitted) == 2


def test_a_position_behind_an_omitted_argument_is_not_another_ones():
    made = called({"0": Generator(), "1": TensorSpec((2,))})
    assert not log_text([made], {}).cases
    named = called({"self": TensorSpec((2,)), "device": Device(""), "pin": True})
    assert "((T([2], f32),), {'pin': True})" in log_text([named], {("aten.add", "Tensor"): ()}).text
