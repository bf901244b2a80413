"""JAX's public functions as operators: names, aliases, parameters, categories, what is excluded."""

import importlib
import pkgutil

import pytest

jax = pytest.importorskip("jax")

from opperf.frameworks import load  # noqa: E402
from opperf.frameworks.jax import categories, parameters, registry  # noqa: E402
from opperf.model import Kind  # noqa: E402
from opperf.sources.selecting import Selection, select  # noqa: E402

FRAMEWORK = load("jax")
OPERATORS = {one.name: one for one in FRAMEWORK.operators() if not one.on_request}
"""Public functions; primitives have tests of their own."""
FUNCTIONS = registry.public_functions()


def labels(**selected):
    return [one.label for one in select(FRAMEWORK.operators(), Selection(**selected))]


def test_every_public_function_is_an_operator_or_excluded_for_a_reason():
    named = {name for one in OPERATORS.values() for name in one.names if name in FUNCTIONS}
    assert len(named) > 700
    refused = {name for name in FUNCTIONS if registry.exclusion(registry.canonical_names()[name])}
    assert named | refused == set(FUNCTIONS)
    assert not named & refused


def test_functions_that_compute_on_no_array_are_excluded():
    for name in ("jnp.save", "jnp.can_cast", "jnp.shape", "jnp.set_printoptions", "lax.axis_size"):
        assert registry.exclusion(name)
        assert FRAMEWORK.resolve(name) is None
    assert all(registry.EXCLUDED.values())


READ = {f"jax.{place.path}" for place in registry.PLACES}

NOT_READ = {
    "jax.nn.initializers": "its functions make functions",
    **dict.fromkeys(
        ("jax.scipy", "jax.scipy.cluster", "jax.scipy.sparse", "jax.scipy.spatial"),
        "it has modules alone",
    ),
    **dict.fromkeys(
        ("jax.scipy.interpolate", "jax.scipy.spatial.transform"), "it has classes alone"
    ),
}
"""Public modules below those that hold arrays' functions that no place is, each with the reason."""


def modules_below(path):
    module = importlib.import_module(path)
    yield path
    for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not found.name.startswith("_"):
            yield from modules_below(f"{path}.{found.name}")


@pytest.mark.parametrize("root", ["numpy", "lax", "nn", "scipy", "random", "image", "ops"])
def test_no_public_module_is_forgotten(root):
    public = set(modules_below(f"jax.{root}"))
    assert public - READ - set(NOT_READ) == set()


@pytest.mark.parametrize(
    "name, found",
    [
        ("jnp.add", "jnp.add"),
        ("jax.numpy.add", "jnp.add"),
        ("numpy.add", "jnp.add"),
        ("add", "jnp.add"),
        ("lax.add", "lax.add"),
        ("jax.lax.add", "lax.add"),
        ("jnp.abs", "jnp.absolute"),
        ("abs", "jnp.absolute"),
        ("true_divide", "jnp.true_divide"),
        ("norm", "jnp.linalg.norm"),
        ("jax.numpy.linalg.norm", "jnp.linalg.norm"),
        ("erf", "lax.erf"),
        ("scipy.special.erf", "scipy.special.erf"),
        ("jax.scipy.special.erf", "scipy.special.erf"),
        ("scipy.special.logsumexp", "nn.logsumexp"),
        ("dot_general", "lax.dot"),
        ("nn.swish", "nn.silu"),
        ("jax.random.normal", "random.normal"),
        ("scipy.stats.norm.pdf", "scipy.stats.norm.pdf"),
        ("segment_sum", "ops.segment_sum"),
    ],
)
def test_names_that_users_know(name, found):
    operator = FRAMEWORK.resolve(name)
    assert found in operator.names
    assert operator is FRAMEWORK.resolve(found)


def test_an_unknown_name_is_no_operator():
    for name in ("jnp.ad", "jnp", "jax.numpy.nothing", "nothing", ""):
        assert FRAMEWORK.resolve(name) is None


@pytest.mark.parametrize(
    "pattern, found",
    [
        ("add", ["jnp.add"]),
        ("ADD", ["jnp.add"]),
        ("jnp.add", ["jnp.add"]),
        ("lax.add", ["lax.add"]),
        ("jax.lax.add", ["lax.add"]),
        ("max", ["jnp.max"]),
        ("lax.cum*", ["lax.cumlogsumexp", "lax.cummax", "lax.cummin", "lax.cumprod", "lax.cumsum"]),
    ],
)
def test_an_exact_name_picks_no_other(pattern, found):
    assert labels(patterns=(pattern,)) == found


def test_no_two_operators_have_a_name_in_common():
    names = [name for one in OPERATORS.values() for name in one.names]
    assert len(names) == len(set(names))


def test_a_function_of_two_names_is_one_operator():
    for operator in OPERATORS.values():
        function = FUNCTIONS[operator.name].function
        assert registry.operator_of(function) is operator
    assert registry.operator_of(jax.numpy.abs) is OPERATORS["jnp.absolute"]
    assert registry.operator_of(lambda x: x) is None


def test_the_path_of_every_operator_is_its_function():
    for name in OPERATORS:
        module, _, short = registry.path_of(name).rpartition(".")
        assert getattr(importlib.import_module(module), short) is FUNCTIONS[name].function


def test_namespaces_are_those_of_all_its_names():
    assert set(labels(namespaces=("jnp.fft",))) == {
        name for name in OPERATORS if name.startswith("jnp.fft.")
    }
    assert "nn.logsumexp" in labels(namespaces=("scipy.special",))
    assert "scipy.stats.norm.pdf" in labels(namespaces=("scipy.stats",))


@pytest.mark.parametrize(
    "name, parameter, kind, required",
    [
        ("jnp.add", "x", Kind.TENSOR, True),
        ("jnp.sum", "a", Kind.TENSOR, True),
        ("jnp.sum", "axis", Kind.SHAPE, False),
        ("jnp.sum", "out", Kind.OTHER, False),
        ("jnp.where", "condition", Kind.TENSOR, True),
        ("jnp.concatenate", "arrays", Kind.TENSORS, True),
        ("jnp.einsum", "operands", Kind.TENSORS, True),
        ("jnp.reshape", "shape", Kind.SHAPE, True),
        ("jnp.zeros", "shape", Kind.SHAPE, True),
        ("jnp.zeros", "dtype", Kind.ENUM, False),
        ("jnp.linspace", "num", Kind.INT, False),
        ("jnp.zeros_like", "a", Kind.TENSOR, True),
        ("lax.top_k", "k", Kind.INT, True),
        ("lax.conv_general_dilated", "window_strides", Kind.SHAPE, True),
        ("lax.conv_general_dilated", "feature_group_count", Kind.INT, False),
        ("nn.softmax", "x", Kind.TENSOR, True),
        ("nn.one_hot", "x", Kind.TENSOR, True),
        ("nn.one_hot", "dtype", Kind.ENUM, False),
        ("random.normal", "key", Kind.OTHER, False),
        ("random.normal", "shape", Kind.SHAPE, False),
        ("image.resize", "image", Kind.TENSOR, True),
        ("image.resize", "antialias", Kind.BOOL, False),
        ("scipy.special.logsumexp", "keepdims", Kind.BOOL, False),
    ],
)
def test_parameters(name, parameter, kind, required):
    found = FRAMEWORK.resolve(name).parameter(parameter)
    assert (found.kind, found.required) == (kind, required)


def test_dtypes_are_choices():
    assert OPERATORS["jnp.zeros"].parameter("dtype").choices == FRAMEWORK.dtypes


def test_private_parameters_are_none():
    for operator in OPERATORS.values():
        for one in operator.parameters:
            assert not one.name.startswith("_"), operator.name
            # An address differs from process to process.
            assert " at 0x" not in f"{one.default}{one.declared}", operator.name


@pytest.mark.parametrize(
    "name, category",
    [
        ("jnp.add", "binary"),
        ("jnp.sqrt", "unary"),
        ("lax.exp", "unary"),
        ("jnp.sum", "reduction"),
        ("jnp.transpose", "shape"),
        ("lax.conv_general_dilated", "convolution"),
        ("jnp.linalg.svd", "linalg"),
        ("jnp.matmul", "gemm"),
        ("lax.dot_general", "gemm"),
        ("jnp.fft.rfft", "fft"),
        ("random.normal", "random"),
        ("nn.relu", "activation"),
        ("nn.softmax", "nn_basic"),
        ("jnp.sort", "sorting"),
        ("jnp.cumsum", "cumulative"),
        ("jnp.take", "indexing"),
        ("lax.scan", "python_function"),
    ],
)
def test_categories(name, category):
    assert FRAMEWORK.resolve(name).category == category


def test_every_category_of_the_table_has_an_operator():
    assert set(categories.RULES) <= {one.category for one in OPERATORS.values()}


def test_the_tables_hold_no_name_that_no_function_has():
    held = {
        (one.name, parameter.name) for one in OPERATORS.values() for parameter in one.parameters
    }
    held |= {(alias, name) for one, name in held for alias in OPERATORS[one].aliases}
    names = {name for _, name in held}
    assert set(parameters.BY_NAME) <= names
    assert {pair for pair in parameters.OF_ONE if pair[0] in OPERATORS} - held == set()


def test_runners_have_every_category_of_functions():
    from opperf.jax_operations import RUNNERS

    assert set(RUNNERS) == {one.category for one in FRAMEWORK.operators() if not one.on_request}
    assert RUNNERS["unary"].__name__ == "run_unary_operators_benchmarks"
