"""The search, against frameworks that are a condition on the arguments."""

import itertools
from typing import NamedTuple

import msgspec
import pytest

from opperf.model import UNKNOWN, Kind, Operator, Parameter, TensorSpec
from opperf.rules.extents import elements
from opperf.rules.search import DEATHS, LIMIT, SLOWEST_S, index_choices, proposals, scale, search
from opperf.rules.sizes import PRESETS
from opperf.rules.values import NORMAL, below


class Outcome(NamedTuple):
    refusal: str = ""
    has_nan: bool = False
    seconds: float = 0.0
    ended: bool = False
    arguments: dict = {}  # noqa: RUF012


def operator(*parameters, variadic=None):
    made = [Parameter(name=name, kind=kind, required=True) for name, kind in parameters]
    return Operator(
        framework="fake", namespace="nd", name="op", parameters=tuple(made), variadic=variadic
    )


def framework(condition, **outcome):
    def tries(arguments):
        # Whatever is to be told from others has their first one's shape here.
        first = next((v for v in arguments.values() if isinstance(v, TensorSpec)), None)
        told = {
            name: msgspec.structs.replace(value, shape=first.shape)
            if isinstance(value, TensorSpec) and value.shape == UNKNOWN
            else value
            for name, value in arguments.items()
        }
        try:
            taken = condition(told)
        except KeyError:
            taken = False
        if not taken:
            return Outcome(refusal="shapes do not match")
        return Outcome(arguments=told, **outcome)

    return tries


UNARY = operator(("data", Kind.TENSOR))
BINARY = operator(("lhs", Kind.TENSOR), ("rhs", Kind.TENSOR))


def test_choices_come_in_the_order_of_their_sum_each_once():
    found = list(index_choices([2, 3, 2]))
    assert sorted(found) == sorted(itertools.product(range(2), range(3), range(2)))
    assert [sum(one) for one in found] == sorted(sum(one) for one in found)
    assert list(index_choices([])) == [()]


def test_proposals_are_distinct_and_not_too_many():
    many = operator(*[(f"p{i}", Kind.INT) for i in range(8)], ("data", Kind.TENSOR))
    made = [msgspec.json.encode(one) for one in proposals(many)]
    assert len(made) == len(set(made)) == LIMIT


@pytest.mark.parametrize(
    ("op", "condition"),
    [
        (UNARY, lambda a: len(a["data"].shape) == 4),
        (UNARY, lambda a: a["data"].dtype == "uint8"),
        (UNARY, lambda a: a["data"].shape[0] == a["data"].shape[-1]),
        (BINARY, lambda a: a["rhs"].shape == a["lhs"].shape[-1:]),
        (BINARY, lambda a: a["rhs"].dtype == "int32" and a["lhs"].dtype == ""),
        (BINARY, lambda a: a["lhs"].shape[-1] == a["rhs"].shape[0] and a["lhs"].shape != (4, 4)),
        (BINARY, lambda a: "rhs" not in a),
        (
            operator(("data", Kind.TENSOR), ("axes", Kind.SHAPE)),
            lambda a: sorted(a["axes"]) == list(range(3)) and len(a["data"].shape) == 3,
        ),
        (
            operator(("args", Kind.TENSORS), ("n", Kind.INT), variadic="n"),
            lambda a: a["n"] == 1 and len(a["args"]) == 3,
        ),
        (operator(("shape", Kind.SHAPE)), lambda a: len(a["shape"]) == 2),
    ],
)
def test_it_finds_what_a_framework_takes(op, condition):
    found = search(op, framework(condition))
    assert found.arguments is not None and condition(found.arguments), found
    assert found.reason == ""


def even(shape):
    return all(extent % 2 == 0 for extent in shape)


FIRST_SHAPES = {
    "a matrix, split in halves along either axis": lambda s: len(s) == 2 and s[0] < s[1],
    "a square one": lambda s: len(s) == 2 and s[0] == s[1],
    "a batch of square ones": lambda s: len(s) == 3 and s[1] == s[2],
    "images whose channels become pixels in blocks of two": lambda s: (
        len(s) == 4 and s[1] % 2**2 == 0
    ),
    "volumes": lambda s: len(s) == 5,
    "a vector of four parts": lambda s: len(s) == 1 and s[0] % 4 == 0,
    "queries, keys and values side by side, for two heads": lambda s: (
        len(s) == 3 and s[2] % (3 * 2) == 0
    ),
}
"""What operators want of their first tensor; halves of every extent as well."""


@pytest.mark.parametrize("wanted", FIRST_SHAPES)
def test_first_tensors_of_every_kind_are_tried(wanted):
    taken = FIRST_SHAPES[wanted]
    found = search(UNARY, framework(lambda a: taken(a["data"].shape) and even(a["data"].shape)))
    assert found.arguments is not None


def test_a_single_number_and_a_picture_of_three_colours_are_tried():
    def found(condition):
        return search(UNARY, framework(lambda a: condition(a["data"].shape))).arguments

    assert found(lambda shape: shape == (1,))
    assert found(lambda shape: len(shape) == 3 and shape[2] == 3 and even(shape[:2]))


OTHER_SHAPES = {
    "the same": ((2, 4, 6, 6), (2, 4, 6, 6)),
    "told by the framework": ((2, 4, 6, 6), UNKNOWN),
    "one for each channel": ((2, 4, 6, 6), (4,)),
    "one for each column": ((2, 4, 6, 6), (6,)),
    "one for each image": ((2, 4, 6, 6), (2,)),
    "a single number": ((2, 4, 6, 6), (1,)),
    "four images": ((2, 4, 6, 6), (4, 4, 6, 6)),
    "the matrix transposed": ((2, 4), (4, 2)),
    "four rows": ((2, 4), (4, 4)),
    "one for each column of a matrix": ((2, 4), (4,)),
    "a matrix beside a square": ((4, 4), (2, 4)),
    "one for each element of a vector": ((8,), (8,)),
}
"""What operators want of their second tensor beside the first one."""


@pytest.mark.parametrize("wanted", OTHER_SHAPES)
def test_what_the_shapes_of_others_may_have_to_do_with_the_first(wanted):
    first, other = OTHER_SHAPES[wanted]
    made = ((one["lhs"].shape, one["rhs"].shape) for one in proposals(BINARY) if "rhs" in one)
    assert (first, other) in made


def test_no_other_shapes_are_tried_beside_images():
    made = {
        one["rhs"].shape
        for one in proposals(BINARY)
        if one["lhs"].shape == (2, 4, 6, 6)
        if "rhs" in one
    }
    matrix_whatever_the_first_is = (2, 4)
    listed = {other for first, other in OTHER_SHAPES.values() if first == (2, 4, 6, 6)}
    assert made - {matrix_whatever_the_first_is} == listed


@pytest.mark.parametrize(
    ("weights", "tensors"),
    [
        *(pytest.param(n, n, id=f"{n} summed") for n in (1, 2, 3)),
        pytest.param(1, 2, id="SGD: weight and gradient"),
        pytest.param(2, 4, id="SGD of two weights"),
        pytest.param(1, 3, id="with momentum"),
        pytest.param(1, 4, id="with momentum and a copy in full precision"),
    ],
)
def test_lists_are_counted_by_weights_as_well_as_by_tensors(weights, tensors):
    many = operator(("args", Kind.TENSORS), ("n", Kind.INT), variadic="n")
    tries = framework(lambda a: (a["n"], len(a["args"])) == (weights, tensors))
    assert search(many, tries).arguments is not None


def test_a_list_begins_with_the_first_shape_and_goes_on_with_the_others():
    many = operator(("args", Kind.TENSORS))
    made = [one["args"] for one in proposals(many)]
    assert all(UNKNOWN not in [spec.shape for spec in args] for args in made)
    assert all(len({spec.shape for spec in args[1:]}) <= 1 for args in made)
    assert any((args[0].shape, args[1].shape) == ((2, 4), (4,)) for args in made if len(args) > 1)
    assert {len(args) for args in made} == {1, 2, 3, 4}


def test_a_counter_that_is_not_required_is_not_given():
    counted = [Parameter("args", Kind.TENSORS, True), Parameter("n", Kind.INT, False, "1")]
    many = Operator("fake", "nd", "op", parameters=tuple(counted), variadic="n")
    assert all(list(one) == ["args"] for one in proposals(many))


def values_tried(kind, **others):
    """The values that a plain parameter of a kind is given, beside images."""
    parameters = (Parameter("data", Kind.TENSOR, True), Parameter("p", kind, **others))
    op = Operator("fake", "nd", "op", parameters=parameters)
    return {one.get("p") for one in proposals(op) if one["data"].shape == (2, 4, 6, 6)}


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        # An axis, a number of groups, a block of two, a number of heads.
        (Kind.INT, {0, 1, 2, 4}),
        # A probability, a factor that leaves all as it is, and one that does not.
        (Kind.FLOAT, {0.5, 1.0, 2.0}),
        (Kind.BOOL, {False, True}),
        # For one thing, and for a pair.
        (Kind.FLOATS, {(0.5,), (0.5, 0.5)}),
        (Kind.STRING, {"float32"}),
        (
            Kind.SHAPE,
            {
                (1, 1),  # a window of one pixel
                (2, 2),  # a block of two by two
                (2, 4, 6, 6),  # the shape itself
                (0,),  # an axis
                (1, 1, 1, 1),  # a step along each axis
                (0, 0, 0, 0),  # the beginning
                (0, 1, 2, 3),  # the axes in order
            },
        ),
    ],
)
def test_values_that_plain_parameters_are_tried_with(kind, values):
    assert values_tried(kind, required=True) == values


def test_words_are_tried_one_after_the_other():
    assert values_tried(Kind.ENUM, required=True, choices=("avg", "max")) == {"avg", "max"}


@pytest.mark.parametrize("default", ["[]", "()", "None"])
def test_a_shape_that_is_nothing_by_default_is_left_out_first_and_then_tried(default):
    tried = values_tried(Kind.SHAPE, required=False, default=default)
    assert {None, (2, 2)} <= tried
    axes = Parameter("axes", Kind.SHAPE, False, default)
    op = Operator("fake", "nd", "op", parameters=(Parameter("data", Kind.TENSOR, True), axes))
    assert list(next(proposals(op))) == ["data"]


@pytest.mark.parametrize(("kind", "default"), [(Kind.SHAPE, "(1, 1)"), (Kind.INT, "None")])
def test_what_has_a_default_is_left_out(kind, default):
    assert values_tried(kind, required=False, default=default) == {None}


def test_a_value_that_is_left_out_leaves_those_after_it():
    parameters = (
        Parameter("data", Kind.TENSOR, True),
        Parameter("axes", Kind.SHAPE, False, "()"),
        Parameter("k", Kind.INT, True),
    )
    op = Operator("fake", "nd", "op", parameters=parameters)
    assert list(next(proposals(op))) == ["data", "k"]


def test_a_vector_and_a_single_number_have_a_window_too():
    op = operator(("data", Kind.TENSOR), ("kernel", Kind.SHAPE))
    windows = {len(one["kernel"]) for one in proposals(op) if one["data"].shape == (8,)}
    assert 0 not in windows and 1 in windows


def test_what_makes_its_output_is_asked_for_a_matrix():
    op = operator(("shape", Kind.SHAPE))
    assert {"shape": (2, 4)} in list(proposals(op))


def test_whole_numbers_are_in_range_of_two_and_take_no_gradient():
    dtypes = {}
    for one in proposals(UNARY):
        spec = one["data"]
        dtypes.setdefault(spec.dtype, set()).add((spec.fill, spec.gradient))
    assert dtypes.pop("") == {(NORMAL, True)}
    assert set(dtypes) >= {"int32", "int64", "int8", "uint8", "bool"}
    assert all(found == {(below(2), False)} for found in dtypes.values())


def test_the_second_tensor_may_be_indices_into_the_first_and_the_other_way_round():
    made = {(one["lhs"].dtype, one["rhs"].dtype) for one in proposals(BINARY) if "rhs" in one}
    assert {("", ""), ("", "int32"), ("int32", ""), ("int32", "int32"), ("int8", "int8")} <= made


def test_shapes_that_the_framework_told_are_kept():
    found = search(BINARY, framework(lambda a: a["lhs"].shape == a["rhs"].shape))
    shapes = [spec.shape for spec in found.arguments.values()]
    assert UNKNOWN not in shapes and len(set(shapes)) == 1


def test_contents_without_nan_are_preferred():
    def tries(arguments):
        positive = arguments["data"].fill.distribution == "uniform"
        return Outcome(arguments=arguments, has_nan=not positive)

    assert search(UNARY, tries).arguments["data"].fill.low > 0


def test_inputs_that_give_nan_are_better_than_none():
    found = search(UNARY, framework(lambda a: True, has_nan=True))
    assert found.arguments is not None


def recorded(tries):
    """The same, and what it was called with."""
    tried = []
    return lambda arguments: tried.append(arguments) or tries(arguments), tried


def test_proposals_are_counted_up_to_the_one_that_is_taken():
    assert search(UNARY, framework(lambda a: True)).proposals == 1
    tries, tried = recorded(framework(lambda a: a["data"].shape == (2, 8, 3)))
    assert search(UNARY, tries).proposals == len(tried) > 1


def test_what_gives_nan_is_tried_with_other_contents_and_no_other_shape():
    tries, tried = recorded(framework(lambda a: True, has_nan=True))
    first = search(UNARY, tries).arguments
    again = tried[1 : 1 + 3]
    assert {one["data"].shape for one in again} == {first["data"].shape} == {(2, 4)}
    fills = [one["data"].fill for one in [first, *again]]
    assert len(set(fills)) == 4 and fills[0] == NORMAL
    probability, above_one, definite = fills[1:]
    assert 0 < probability.low < probability.high < 1 < above_one.low
    assert definite.distribution == "positive_definite"


def test_contents_are_changed_in_lists_and_not_those_of_indices():
    op = operator(("args", Kind.TENSORS), ("index", Kind.TENSOR), ("axis", Kind.INT))

    def tries(arguments):
        taken = arguments["index"].dtype == "int32" if "index" in arguments else False
        if not taken:
            return Outcome(refusal="expected indices")
        normal = any(spec.fill == NORMAL for spec in arguments["args"])
        return Outcome(arguments=arguments, has_nan=normal)

    found = search(op, tries).arguments
    first, *rest = found["args"]
    assert first.fill.distribution == "uniform" and all(spec.fill == below(2) for spec in rest)
    assert found["index"].fill == below(2) and found["axis"] == 1


@pytest.mark.parametrize("end", [Outcome(refusal="refused"), Outcome(has_nan=True)])
def test_contents_that_are_refused_or_give_nan_as_well_are_passed_over(end):
    def tries(arguments):
        fill = arguments["data"].fill
        if fill == NORMAL:
            return Outcome(arguments=arguments, has_nan=True)
        return Outcome(arguments=arguments) if fill.low > 1 else end

    assert search(UNARY, tries).arguments["data"].fill.low > 1


def test_contents_that_end_the_process_are_the_last_of_their_shape():
    def tries(arguments):
        if arguments["data"].fill == NORMAL:
            return Outcome(arguments=arguments, has_nan=True)
        return Outcome(refusal="SIGFPE", ended=True)

    tries, tried = recorded(tries)
    found = search(UNARY, tries)
    # NaN was better than none, and the first one's is as good as any.
    assert found.arguments == {"data": TensorSpec((2, 4), "", NORMAL, gradient=True)}
    of_first = [one for one in tried if one["data"].shape == (2, 4) and one["data"].dtype == ""]
    assert len(of_first) == 2


def test_the_reason_says_what_was_tried():
    found = search(UNARY, framework(lambda a: False))
    assert found.arguments is None
    assert f"none of {found.proposals} proposals" in found.reason
    assert "shapes do not match" in found.reason


def test_an_operator_that_ends_the_process_is_given_up():
    tried = []

    def tries(arguments):
        tried.append(arguments)
        return Outcome(refusal="the process was ended by SIGSEGV", ended=True)

    found = search(UNARY, tries)
    assert len(tried) == found.deaths == DEATHS
    assert found.arguments is None and "SIGSEGV" in found.reason


def test_a_shape_that_ended_the_process_is_not_tried_again():
    many = operator(("args", Kind.TENSORS))

    def tries(arguments):
        first = arguments["args"][0]
        if first.shape == (2, 4):
            return Outcome(refusal="SIGSEGV", ended=True)
        return (
            Outcome(refusal="expected a vector")
            if len(first.shape) != 1
            else Outcome(arguments=arguments)
        )

    tries, tried = recorded(tries)
    found = search(many, tries)
    assert found.arguments["args"][0].shape == (8,) and found.deaths == 1
    assert [one["args"][0].shape for one in tried].count((2, 4)) == 1
    assert found.proposals == len(tried)


def test_without_a_tensor_there_is_no_shape_to_avoid():
    op = operator(("n", Kind.INT))
    found = search(op, lambda arguments: Outcome(refusal="SIGSEGV", ended=True))
    assert found.deaths == found.proposals == DEATHS
    assert found.reason.startswith(f"{DEATHS} of {DEATHS} proposals")


def test_inputs_that_give_nan_are_kept_when_others_end_the_process():
    def tries(arguments):
        if arguments["data"].shape == (2, 4):
            return Outcome(arguments=arguments, has_nan=True)
        return Outcome(refusal="SIGSEGV", ended=True)

    found = search(UNARY, tries)
    assert found.arguments["data"].shape == (2, 4) and found.deaths == DEATHS


def test_an_operator_without_tensors_is_asked_once_if_it_has_no_parameters():
    tries, tried = recorded(framework(lambda a: False))
    found = search(operator(), tries)
    assert tried == [{}] and found.reason.startswith("none of 1 proposals")


def test_what_was_found_is_scaled_to_the_size():
    condition = lambda a: a["lhs"].shape[-1] == a["rhs"].shape[0]  # noqa: E731
    tries = framework(condition)
    found = search(BINARY, tries).arguments
    for size in ("small", "default", "large"):
        made = scale(found, tries, PRESETS[size])
        wanted = PRESETS[size].extent(1024) ** 2
        assert condition(made) and wanted / 2 <= elements(made) <= wanted


def test_it_is_scaled_less_where_that_is_refused_or_slow():
    def tries(arguments):
        size = arguments["data"].size
        return Outcome(refusal="too large" if size > 50_000 else "", seconds=size / 10_000)

    made = scale({"data": TensorSpec((4, 6), "")}, tries, PRESETS["default"])
    # A call may take a second, which is 10 000 elements here; a quarter of them at worst.
    assert 2_500 <= made["data"].size <= 10_000


def test_the_size_that_is_wanted_is_divided_by_four_until_it_is_taken():
    tries, tried = recorded(framework(lambda a: a["data"].size <= 100))
    made = scale({"data": TensorSpec((4, 6), "")}, tries, PRESETS["small"])
    sizes = [one["data"].size for one in tried if one["data"].size > 24 * 2]
    # 64 x 64, and a quarter of it, and so on; the axes are of whole extents.
    assert sizes == pytest.approx([4096, 1024, 256, 64], rel=0.1)
    assert made["data"].size == sizes[-1]


@pytest.mark.parametrize(
    ("poor", "stays"),
    [
        ({"refusal": "too large"}, True),
        ({"has_nan": True}, True),
        ({"seconds": SLOWEST_S * 1.01}, True),
        ({"seconds": SLOWEST_S}, False),
    ],
)
def test_what_is_refused_or_slow_or_gives_nan_at_every_size_stays_small(poor, stays):
    def tries(arguments):
        # Twice the elements show which extents can change.
        large = arguments["data"].size > 2 * 24
        return Outcome(arguments=arguments, **(poor if large else {}))

    found = {"data": TensorSpec((4, 6), "")}
    assert (scale(found, tries, PRESETS["small"]) == found) is stays


def test_extents_that_cannot_change_stay_and_so_does_what_is_large_enough():
    found = {"data": TensorSpec((4, 6), ""), "axis": 1}
    assert scale(found, framework(lambda a: a == found), PRESETS["default"]) == found
    large = {"data": TensorSpec((64, 64), "")}
    tries, tried = recorded(framework(lambda a: True))
    assert scale(large, tries, PRESETS["small"]) == large
    assert [one["data"].size for one in tried] == [2 * 4096] * 2


def test_small_plain_values_grow_with_what_they_count():
    found = {"weight": TensorSpec((4, 2), ""), "units": 4}
    tries = framework(lambda a: a["weight"].shape[0] == a["units"] and a["weight"].shape[1] == 2)
    made = scale(found, tries, PRESETS["small"])
    assert made == {"weight": TensorSpec((2048, 2), ""), "units": 2048}
