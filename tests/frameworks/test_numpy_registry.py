"""NumPy's public functions as operators: what is one, what is not, and by which names."""

import pkgutil
import warnings
from types import ModuleType

import numpy as np
import pytest

from opperf.frameworks import load
from opperf.frameworks.numpy import excluded, registry, signatures
from opperf.model import Kind

OPERATORS = {operator.name: operator for operator in registry.operators()}
FUNCTIONS = registry.public_functions()


def test_every_function_is_an_operator_or_excluded_for_a_reason():
    named = set(registry.by_name())
    assert named | {n for n, f in FUNCTIONS.items() if excluded.reason(n, f.function)} == set(
        FUNCTIONS
    )
    assert not any(excluded.reason(name, FUNCTIONS[name].function) for name in named)


def test_every_ufunc_of_np_is_an_operator():
    ufuncs = {name for name, value in vars(np).items() if isinstance(value, np.ufunc)}
    public = {name for name in ufuncs if not name.startswith("_")}
    assert public
    assert not public - set(registry.by_name())


@pytest.mark.parametrize("holder, prefix", [(np.linalg, "linalg."), (np.fft, "fft.")])
def test_every_function_of_a_namespace_is_an_operator(holder, prefix):
    names = {n for n in holder.__all__ if registry.is_function(getattr(holder, n))}
    assert names
    assert {prefix + name for name in names} <= set(registry.by_name())


def test_the_count_is_plausible_against_what_np_holds():
    held = [n for n in dir(np) if not n.startswith("_") and registry.is_function(getattr(np, n))]
    kept = [name for name in held if name in registry.by_name()]
    assert len(kept) > 0.75 * len(held)
    assert len(OPERATORS) > len(kept) - 30


WITHOUT_OPERATORS = (
    *("array_api", "compat", "conftest", "core", "ctypeslib", "distutils", "doc", "dtypes"),
    *(
        "dual",
        "exceptions",
        "f2py",
        "lib",
        "ma",
        "math",
        "matlib",
        "matrixlib",
        "polynomial",
        "rec",
    ),
    *("setup", "testing", "tests", "typing", "version"),
)
"""Modules without operators: of other arrays, and those that offer functions of `np`."""


def test_every_public_module_is_read_or_excluded():
    files = {module.name for module in pkgutil.iter_modules(np.__path__)}
    offered = {name for name in np.__all__ if isinstance(getattr(np, name), ModuleType)}
    modules = {name for name in files | offered if not name.startswith("_")}
    read = {place.namespace for place in registry.PLACES}
    assert modules
    assert not modules - read - set(WITHOUT_OPERATORS)


@pytest.mark.parametrize(
    "alias, name",
    [
        ("abs", "absolute"),
        ("bitwise_not", "invert"),
        ("conj", "conjugate"),
        ("true_divide", "divide"),
        ("amax", "max"),
        ("around", "round"),
        ("random.ranf", "random.random_sample"),
    ],
)
def test_aliases_are_folded(alias, name):
    operator = load("numpy").resolve(alias)
    assert name in operator.names
    assert alias in operator.names
    assert operator is load("numpy").resolve(name)


def test_a_function_by_what_its_documentation_says_is_what_it_says():
    rng = np.random.default_rng(0)
    array = rng.random((4, 5))
    for name, operator in OPERATORS.items():
        if operator.namespace != "np":
            continue
        function = FUNCTIONS[name].function
        for alias in operator.aliases:
            other = FUNCTIONS[alias].function
            if other is not function:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    np.testing.assert_array_equal(other(array), function(array))


def test_a_mention_of_an_alias_in_another_section_is_no_alias():
    assert "random.uniform" in OPERATORS


def test_every_operator_has_parameters_and_a_category():
    for operator in OPERATORS.values():
        assert operator.category in registry.RULES, operator.name
        assert operator.parameters or operator.namespace == "random", operator.name
        assert operator.framework == "numpy"


def test_ufuncs_tell_their_inputs():
    add = OPERATORS["add"]
    assert [p.name for p in add.parameters if p.required] == ["x1", "x2"]
    assert {p.kind for p in add.parameters if p.required} == {Kind.TENSOR}
    assert [p.name for p in OPERATORS["exp"].parameters if p.required] == ["x"]


@pytest.mark.parametrize(
    "name, parameter, kind, required",
    [
        ("sum", "a", Kind.TENSOR, True),
        ("sum", "axis", Kind.INT, False),
        ("concatenate", "arrays", Kind.TENSORS, True),
        ("einsum", "operands", Kind.TENSORS, True),
        ("einsum", "subscripts", Kind.STRING, True),
        ("resize", "new_shape", Kind.SHAPE, True),
        ("zeros", "shape", Kind.SHAPE, True),
        ("zeros", "dtype", Kind.ENUM, False),
        ("random.gamma", "shape", Kind.FLOAT, True),
        ("random.Generator.normal", "size", Kind.SHAPE, False),
        ("random.Generator.multivariate_normal", "cov", Kind.TENSOR, True),
        ("rot90", "m", Kind.TENSOR, True),
        ("polyder", "m", Kind.INT, False),
    ],
)
def test_parameters(name, parameter, kind, required):
    found = OPERATORS[name].parameter(parameter)
    assert (found.kind, found.required) == (kind, required)


def test_functions_that_compute_on_no_array_are_excluded():
    for name in ("save", "loadtxt", "array2string", "can_cast", "seterr", "setbufsize", "shape"):
        assert name in FUNCTIONS
        assert name not in registry.by_name()
        assert excluded.reason(name, FUNCTIONS[name].function)


DROPPED = {"interpolation", "newshape"}
"""Parameters of NumPy 1 that NumPy 2 has no more."""


def test_the_tables_hold_no_name_that_no_function_has():
    parameters = {p.name for o in OPERATORS.values() for p in o.parameters}
    assert set(signatures.ANYWHERE) - parameters <= DROPPED
    drawn = {p.name for o in OPERATORS.values() if o.namespace == "random" for p in o.parameters}
    assert not set(signatures.DRAWN) - drawn
    for name, parameter in (key.split(":") for key in signatures.OF_ONE):
        functions = [o for n, o in OPERATORS.items() if name in (n, n.rpartition(".")[2])]
        assert any(o.parameter(parameter) for o in functions), name
    assert all(excluded.NAMES.values())
