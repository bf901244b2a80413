"""The values of typed arguments."""

import pytest

from opperf.errors import UsageError
from opperf.formats.param.arguments import value_of, values_of
from opperf.formats.param.schema import Spec, read_argument
from opperf.model import Device, DType, Fill, MemoryFormat, Number, TensorSpec


def value(**argument):
    return value_of(read_argument(argument, "x"), "x")


def tensor(dtype="float", shape=(2, 3), **others):
    return value(type="tensor", dtype=dtype, shape=list(shape), **others)


@pytest.mark.parametrize(
    ("argument", "found"),
    [
        ({"type": "int", "value": 3}, 3),
        ({"type": "long", "value": 2**40}, 2**40),
        ({"type": "float", "value": 1.5}, 1.5),
        ({"type": "double", "value": 2}, 2.0),
        ({"type": "float", "value": float("-inf")}, Number("-inf")),
        ({"type": "bool", "value": False}, False),
        ({"type": "str", "value": "mean"}, "mean"),
        ({"type": "str"}, ""),
        ({"type": "none"}, None),
        ({"type": "none", "value": None}, None),
        ({"type": "device", "value": "cpu"}, Device("cpu(0)")),
        ({"type": "device", "value": "cuda:1"}, Device("gpu(1)")),
        ({"type": "dtype", "value": "half"}, DType("float16")),
        ({"type": "genericlist", "value": []}, ()),
        ({"type": "int", "value": 3, "name": "rows"}, 3),
    ],
)
def test_each_type_has_its_value(argument, found):
    made = value(**argument)
    assert made == found and type(made) is type(found)


def test_lists_and_tuples_nest():
    inner = {"type": "tuple", "value": [{"type": "int", "value": 1}, {"type": "none"}]}
    tensors = {"type": "tensor", "dtype": "float", "shape": [2]}
    assert value(type="genericlist", value=[inner, tensors]) == (
        (1, None),
        TensorSpec((2,), gradient=True),
    )


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        *(("float", "float32"), ("double", "float64"), ("int", "int32"), ("long", "int64")),
        *((name, name) for name in ("float16", "bfloat16", "int8", "int16", "uint8", "bool")),
        *(("half", "float16"), ("torch.float32", "float32"), ("complex64", "complex64")),
    ],
)
def test_dtypes_have_the_names_of_param_and_of_pytorch(dtype, name):
    assert tensor(dtype).dtype == name


def test_floating_tensors_take_a_gradient_and_no_others_do():
    assert [tensor(one).gradient for one in ("float", "bfloat16", "int", "bool")] == [1, 1, 0, 0]
    assert not tensor(requires_grad=False).gradient
    assert not tensor("long", requires_grad=False).gradient


def test_opperfs_own_attributes_of_tensors():
    assert tensor(strides=[1, 2]).strides == (1, 2)
    assert tensor(strides=[3, 1]).strides == ()
    assert (
        tensor(shape=(1, 2, 3, 4), memory_format="channels_last").memory_format == "channels_last"
    )
    assert tensor(memory_format="contiguous").memory_format == ""
    assert tensor(distribution="normal", domain=[1, 2]).fill == Fill("normal", 1.0, 2.0)
    assert tensor(domain=[3, 9]).fill == Fill("uniform", 3.0, 9.0)
    assert tensor("int", domain=[3, 9]).fill == Fill("integers", 3.0, 9.0)
    assert tensor().fill == Fill()


@pytest.mark.parametrize(
    ("kind", "low", "high"), [("int", 5, 9), ("long", -3, -3), ("float", 0.5, 0.75)]
)
def test_a_drawn_number_is_in_its_range_and_the_same_each_time(kind, low, high):
    argument = read_argument({"type": kind, "value_range": [low, high]}, "x")
    drawn = {value_of(argument, f"x[{i}]") for i in range(50)}
    assert all(low <= one <= high for one in drawn)
    assert low == high or len(drawn) > 1
    assert drawn == {value_of(argument, f"x[{i}]") for i in range(50)}


def test_both_ends_of_a_range_of_whole_numbers_are_drawn():
    argument = read_argument({"type": "int", "value_range": [1, 2]}, "x")
    assert {value_of(argument, f"x[{i}]") for i in range(50)} == {1, 2}


def test_a_file_is_drawn_alike_wherever_it_is():
    argument = read_argument({"type": "int", "value_range": [0, 10**9]}, "x")
    assert value_of(argument, "/a/b.json: add.x") == value_of(argument, "c.json: add.x")


def test_numbers_are_passed_on_as_they_are():
    """PARAM does not look at them, and public configurations have an `int` of 2.5."""
    for number in (2.5, True, None):
        assert value(type="int", value=number) is number
    assert value(type="bool", value=1) is True
    assert value(type="memory_format", value="channels_last") == MemoryFormat("channels_last")


def test_named_arguments_alone_are_arguments():
    spec = Spec(kwargs={"other": {"type": "int", "value": 1}})
    assert values_of(spec, "x") == ([], {"other": 1})


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"type": "bool"}, "x: object missing required field `value`"),
        ({"type": "int"}, "x: expected either `value` or `value_range`"),
        ({"type": "int", "value": 1, "value_range": [1, 2]}, "either `value` or `value_range`"),
        ({"type": "int", "value_range": [2, 1]}, "x.value_range: 2 is more than 1"),
        ({"type": "int", "value_range": [2]}, "x.value_range: expected `array` of length 2"),
        ({"type": "str", "vale": "a"}, "unknown field `vale`; did you mean value"),
        ({"type": "device", "value": "warp:1"}, "x.value: 'warp:1' is no device"),
        ({"type": "dtype", "value": "flaot"}, "x.value: unknown dtype 'flaot'; did you mean float"),
        ({"type": "genericlist", "value": [3]}, r"x.value\[0\]: expected `object`, got `int`"),
        (
            {"type": "tuple", "value": [{"type": "int", "value": "a"}]},
            r"x.value\[0\].value: expected `.*`, got `str`",
        ),
    ],
)
def test_a_wrong_argument_is_an_error_with_its_key_path(argument, message):
    with pytest.raises(UsageError, match=message):
        value(**argument)


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"dtype": "flaot"}, "x.dtype: unknown dtype 'flaot'"),
        ({"shape": (2, -1)}, r"x.shape\[1\]: -1 is negative"),
        ({"shape": (2, "a")}, r"x.shape\[1\]: expected `int`, got `str`"),
        ({"dtype": "int", "requires_grad": True}, "a tensor of int32 has no gradient"),
        ({"strides": [1]}, "x.strides: 1 stride of 2 extents"),
        ({"strides": [1, -1]}, "x.strides: -1 is negative"),
        ({"strides": [1, 2], "memory_format": "channels_last"}, "both strides and memory_format"),
        ({"memory_format": "chanels_last"}, "x.memory_format: invalid enum value 'chanels_last'"),
        ({"distribution": "norml"}, "x.distribution: invalid enum value 'norml'"),
        ({"domain": [2, 2]}, r"x.domain: \[2, 2\) is empty"),
    ],
)
def test_a_wrong_tensor_is_an_error_with_its_key_path(others, message):
    with pytest.raises(UsageError, match=message):
        tensor(**others)


def test_lists_are_nested_at_most_as_deep_as_an_argument():
    deep = {"type": "int", "value": 1}
    for _ in range(3):
        deep = {"type": "tuple", "value": [deep]}
    assert value(**deep) == (((1,),),)
    with pytest.raises(UsageError, match="nested more than 3 deep"):
        value(type="tuple", value=[deep])
