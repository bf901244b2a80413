"""NumPy's callables: found by path, bound to arguments, known again."""

import numpy as np
import pytest

from opperf.errors import UnknownOperatorError
from opperf.frameworks import load
from opperf.frameworks.numpy import functions, signatures
from opperf.model import CallableTarget, Case, OperatorTarget, Settings

FRAMEWORK = load("numpy")


def operator(name):
    return OperatorTarget(framework="numpy", name=name)


@pytest.mark.parametrize(
    "path, name",
    [
        ("np.add", "add"),
        ("numpy.linalg.norm", "linalg.norm"),
        ("np.abs", "absolute"),
        ("np.random.normal", "random.normal"),
        ("np.random.Generator.normal", "random.Generator.normal"),
    ],
)
def test_a_path_to_an_operator_is_that_operator(path, name):
    target = FRAMEWORK.naming.callable_target(path)
    assert target == operator(name)
    assert FRAMEWORK.signature(target).name == name


def test_a_path_to_another_callable():
    target = FRAMEWORK.naming.callable_target("np.add.reduce")
    assert target == CallableTarget(framework="numpy", path="np.add.reduce")
    assert FRAMEWORK.function(target)([1, 2]) == 3
    assert FRAMEWORK.signature(target).namespace == ""


@pytest.mark.parametrize(
    "path, message",
    [
        ("nd.add", "not a name in NumPy; it has to start with one of np"),
        ("np.ad", "did you mean"),
        ("np.linalg.nrm", "has no 'nrm'"),
        ("np.pi", "not callable"),
    ],
)
def test_a_path_that_leads_nowhere(path, message):
    with pytest.raises(UnknownOperatorError, match=message):
        FRAMEWORK.naming.callable_target(path)


def test_an_operator_that_is_not_there():
    with pytest.raises(UnknownOperatorError, match="did you mean add"):
        FRAMEWORK.function(operator("addd"))


def test_the_target_of_a_callable_a_user_holds():
    assert FRAMEWORK.naming.target_of(np.add) == operator("add")
    assert FRAMEWORK.naming.target_of(np.add.reduce).path == "numpy.add.reduce"

    def mine(x):
        return x

    target = FRAMEWORK.naming.target_of(mine)
    assert target.label == "mine"
    assert [p.name for p in FRAMEWORK.signature(target, mine).parameters] == ["x"]


def bound(function, name, **arguments):
    call = functions.bind(function, signatures.parameters(name, function), arguments)
    return call.args, call.keywords


def test_arguments_go_by_position_up_to_the_first_left_out():
    assert bound(np.sum, "sum", a=1, axis=0) == ((1, 0), {})
    assert bound(np.sum, "sum", a=1, keepdims=True) == ((1,), {"keepdims": True})
    assert bound(np.linspace, "linspace", start=0, stop=1, num=5) == ((0, 1, 5), {})


def test_a_list_for_a_variadic_parameter_is_spread():
    args, keywords = bound(np.einsum, "einsum", subscripts="i,i", operands=[1, 2], optimize=True)
    assert (args, keywords) == (("i,i", 1, 2), {"optimize": True})
    assert bound(np.meshgrid, "meshgrid", xi=[1, 2]) == ((1, 2), {})


def test_a_keyword_only_parameter_goes_by_keyword():
    assert bound(np.add, "add", x1=1, x2=2, out=3) == ((1, 2, 3), {})
    assert bound(np.add, "add", x1=1, x2=2, where=True) == ((1, 2), {"where": True})


@pytest.mark.parametrize("name", ["random.normal", "random.Generator.normal"])
def test_a_case_draws_the_same_on_every_run_and_leaves_the_callers_numbers_alone(name):
    def drawn(seed):
        case = Case(operator(name), {"size": (3,)}, Settings(seed=seed))
        return FRAMEWORK.bind(case, {"size": (3,)})()

    np.random.seed(0)
    before = np.random.get_state()[2]
    np.testing.assert_array_equal(drawn(1), drawn(1))
    assert not np.array_equal(drawn(1), drawn(2))
    assert np.random.get_state()[2] == before
