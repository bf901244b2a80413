"""The search, against frameworks that are a condition on the arguments."""

import itertools
from typing import NamedTuple

import msgspec
import pytest

from opperf.model import UNKNOWN, Kind, Operator, Parameter, TensorSpec
from opperf.rules.extents import elements
from opperf.rules.search import DEATHS, LIMIT, by_rank, proposals, scaled, search
from opperf.rules.sizes import PRESETS


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
    found = list(by_rank([2, 3, 2]))
    assert sorted(found) == sorted(itertools.product(range(2), range(3), range(2)))
    assert [sum(one) for one in found] == sorted(sum(one) for one in found)
    assert list(by_rank([])) == [()]


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


def test_what_was_found_is_scaled_to_the_size():
    condition = lambda a: a["lhs"].shape[-1] == a["rhs"].shape[0]  # noqa: E731
    tries = framework(condition)
    found = search(BINARY, tries).arguments
    for size in ("small", "default", "large"):
        made = scaled(found, tries, PRESETS[size])
        wanted = PRESETS[size].extent(1024) ** 2
        assert condition(made) and wanted / 2 <= elements(made) <= wanted


def test_it_is_scaled_less_where_that_is_refused_or_slow():
    def tries(arguments):
        size = arguments["data"].size
        return Outcome(refusal="too large" if size > 50_000 else "", seconds=size / 10_000)

    made = scaled({"data": TensorSpec((4, 6), "")}, tries, PRESETS["default"])
    # A call may take a second, which is 10 000 elements here; a quarter of them at worst.
    assert 2_500 <= made["data"].size <= 10_000
