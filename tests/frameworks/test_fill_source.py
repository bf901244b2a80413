"""What a script makes: every tensor by its name, copies of others behind what they copy."""

import numpy as np
import pytest

from opperf.frameworks import fill, fill_source
from opperf.model import Case, Fill, OperatorTarget, TensorSpec

NORMAL = Fill("normal")
COPY = Fill("normal", of="weight32")


def case(**arguments):
    return Case(OperatorTarget(framework="any", name="update"), arguments)


@pytest.mark.parametrize(
    ("place", "name"), [("data", "data"), ("data.3", "data3"), ("lambda", "lambda_")]
)
def test_names(place, name):
    assert fill_source.variable(place) == name


def test_a_copy_comes_behind_what_it_copies():
    made = case(
        weight=TensorSpec((2,), "float16", COPY),
        grad=TensorSpec((2,), "float16", NORMAL),
        weight32=TensorSpec((2,), "float32", NORMAL),
        lr=0.1,
        out=TensorSpec((2,), "float16", Fill("same", data="weight")),
    )
    found = fill_source.tensors(made, {name: object() for name in made.arguments})
    assert [name for name, _, _ in found] == ["grad", "weight32", "weight"]
    assert fill_source.numbers_of(found[-1][1]) == "weight32"
    assert fill_source.numbers_of(found[0][1]) == ""


def test_tensors_of_a_list_go_by_their_places():
    spec = TensorSpec((2,), "float32", NORMAL)
    made = case(data=(spec, 1, TensorSpec((2,), "float16", Fill("normal", of="data.0"))))
    first, second = np.zeros(2), np.zeros(2)
    found = fill_source.tensors(made, {"data": [first, 1, second]})
    assert [(name, array is second) for name, _, array in found] == [
        ("data0", False),
        ("data2", True),
    ]
    assert fill_source.numbers_of(found[1][1]) == "data0"


@pytest.mark.parametrize("distribution", sorted(fill_source.EXPRESSIONS))
def test_an_expression_has_the_shape_of_what_is_made(distribution):
    data = [[1.0, 2.0, 3.0, 4.0]] * 4 if distribution == "literal" else None
    spec = TensorSpec((4, 4), "float32", Fill(distribution, 0.0, 4.0, data=data))
    scope = {"np": np}
    exec(fill_source.GENERATOR, scope)
    written = np.asarray(eval(fill_source.expression(spec), scope))
    assert written.shape == fill.values(spec, 0).shape
    assert np.isfinite(written.astype(float)).all()
