"""The macros of an argument."""

import pytest

from opperf.errors import UsageError
from opperf.formats.param.schema import Spec
from opperf.sources.param.macros import MAX_CASES, expand, expand_spec, has_macro


def tensor(*shape, **others):
    return {"type": "tensor", "dtype": "float", "shape": list(shape), **others}


def number(value, macro="__range__", kind="int"):
    return {"type": kind, "value": value, macro: ["value"]}


def values(argument):
    return [one["value"] for one in expand(argument, "x")]


@pytest.mark.parametrize(
    ("argument", "found"),
    [
        (number([1, 4, 1]), [1, 2, 3, 4]),
        (number([1, 4, 2]), [1, 3]),
        (number([5, 5, 1]), [5]),
        (number([-2, 2, 2], kind="long"), [-2, 0, 2]),
        (number([0.1, 0.3, 0.1], kind="float"), [0.1, 0.2, 0.3]),
        (number([1, 2, 0.5], kind="double"), [1.0, 1.5, 2.0]),
        (number([8, 100, 2], "__geometric__"), [8, 16, 32, 64]),
        (number([1, 1000, 10], "__geometric__"), [1, 10, 100, 1000]),
        (number([0.5, 2.0, 2.0], "__geometric__", "float"), [0.5, 1.0, 2.0]),
        (number([7, 3, 9], "__list__"), [7, 3, 9]),
        (number(["sum", "mean"], kind="str"), ["sum", "mean"]),
        (number([True, False], kind="bool"), [True, False]),
        (number(["cpu", "cuda"], kind="device"), ["cpu", "cuda"]),
        ({"type": "int", "value": 3}, [3]),
    ],
)
def test_a_macro_stands_for_values(argument, found):
    assert values(argument) == found


def test_each_extent_of_a_shape_has_its_range_and_the_last_is_the_fastest():
    made = expand(tensor([1, 2, 1], 3, [4, 8, 4], __range__=["shape"]), "x")
    assert [one["shape"] for one in made] == [[1, 3, 4], [1, 3, 8], [2, 3, 4], [2, 3, 8]]
    assert all("__range__" not in one for one in made)


def test_several_attributes_of_a_tensor_are_multiplied():
    argument = {
        "type": "tensor",
        "dtype": ["float", "long"],
        "shape": [[2, 4, 2]],
        "__range__": ["shape", "dtype"],
    }
    made = [(one["dtype"], one["shape"]) for one in expand(argument, "x")]
    assert made == [("float", [2]), ("float", [4]), ("long", [2]), ("long", [4])]


def test_a_list_of_shapes_lists_each_extent():
    made = expand(tensor([64, 8], 2, __list__=["shape"]), "x")
    assert [one["shape"] for one in made] == [[64, 2], [8, 2]]


@pytest.mark.parametrize("macro", [{}, {"__range__": ["value"]}])
@pytest.mark.parametrize("kind", ["genericlist", "tuple"])
def test_ranges_inside_lists_are_expanded(kind, macro):
    inner = {"type": "tuple", "value": [number([1, 2, 1]), {"type": "int", "value": 9}]}
    made = values({"type": kind, "value": [number(["a", "b"], kind="str"), inner], **macro})
    found = [(text["value"], [one["value"] for one in pair["value"]]) for text, pair in made]
    assert found == [("a", [1, 9]), ("a", [2, 9]), ("b", [1, 9]), ("b", [2, 9])]


def test_arguments_are_multiplied_and_the_last_keyword_is_the_fastest():
    spec = Spec(args=[number([1, 2, 1])], kwargs={"p": number([3, 4, 1]), "q": number([5, 6, 1])})
    made = [
        (one.args[0]["value"], one.kwargs["p"]["value"], one.kwargs["q"]["value"])
        for one in expand_spec(spec, "x")
    ]
    assert made[:3] == [(1, 3, 5), (1, 3, 6), (1, 4, 5)] and len(made) == 8


def test_a_copy_is_taken_from_each_combination():
    first = tensor(2, [4, 8, 4], __range__=["shape"])
    second = tensor(-1, 3, __copy__=[{"shape": [0, [0, 1]]}])
    spec = Spec(
        args=[first, second], kwargs={"bias": tensor(-1, __copy__=[{"shape": [0, [1, 1]]}])}
    )
    made = list(expand_spec(spec, "x"))
    assert [one.args[1]["shape"] for one in made] == [[4, 3], [8, 3]]
    assert [one.kwargs["bias"]["shape"] for one in made] == [[3], [3]]
    assert not any(has_macro([*one.args, *one.kwargs.values()]) for one in made)


def test_a_spec_of_no_arguments_stands_for_itself():
    assert list(expand_spec(Spec(), "x")) == [Spec()]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (number([1, 10]), r"x.value: __range__ takes \[least, most, step\], not \[1, 10\]"),
        (number(3), "x.value: __range__ takes"),
        (number([True, 2, 1]), "x.value: __range__ takes"),
        (number([2, 1, 1]), r"x.value: \[2, 1, 1\] is an empty range"),
        (number([1, 2, 0]), "x.value: the step 0 is not positive"),
        (number([0, 2, 2], "__geometric__"), "least value above 0 and a factor above 1"),
        (number([1, 2, 1], "__geometric__"), "least value above 0 and a factor above 1"),
        (number([], "__list__"), "x.value: expected a list of the values to take"),
        (number("sum", kind="str"), "x.value: expected a list of the values to take"),
        (number(["a"], "__geometric__", "str"), "__geometric__ is for numbers and shapes"),
        ({"type": "int", "value": 1, "__range__": ["vale"]}, "no values of 'vale'"),
        ({"type": "int", "value": 1, "__range__": "value"}, "x.__range__: expected a list"),
        (
            {"type": "int", "value": [1], "__range__": ["value"], "__list__": ["value"]},
            "both __range__ and __list__ name 'value'",
        ),
        (number([1, MAX_CASES + 1, 1]), "x.value: 1,000,001 values or cases, of at most"),
        (number([0, 1, 1e-9], kind="float"), "x.value: 1,000,000,001 values or cases"),
        ({"value": 3}, "x: the argument has no `type`"),
        ({"type": "tensr"}, "x.type: unknown type 'tensr'; did you mean tensor"),
    ],
)
def test_a_wrong_macro_is_an_error_with_its_key_path(argument, message):
    with pytest.raises(UsageError, match=message):
        expand(argument, "x")


def test_a_product_of_too_many_is_refused_before_it_is_made():
    spec = Spec(args=[number([1, 2000, 1]), number([1, 2000, 1])])
    with pytest.raises(UsageError, match="x: 4,000,000 values or cases"):
        next(expand_spec(spec, "x"))


@pytest.mark.parametrize(
    ("copies", "message"),
    [
        ([{"shape": [0, [7, 0]]}], r"args\[7\] has no element 0 of 'shape'"),
        ([{"shape": [5, [0, 0]]}], "or this argument no element 5"),
        ([{"strides": [0, [0, 0]]}], "has no element 0 of 'strides'"),
        ([{"shape": [0, 1]}], r"expected \[INDEX, \[ARGUMENT, INDEX\]\] of 'shape'"),
        (["shape"], r"expected \[\{ATTRIBUTE"),
    ],
)
def test_a_wrong_copy_is_an_error_with_its_key_path(copies, message):
    with pytest.raises(UsageError, match=rf"x.args\[0\].__copy__: .*{message}"):
        list(expand_spec(Spec(args=[tensor(2, 3, __copy__=copies)]), "x"))
