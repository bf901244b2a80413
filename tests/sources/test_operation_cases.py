"""Operations as operators of frameworks: which one each has, and that all get the same data."""

import numpy as np
import pytest

from opperf.errors import UnknownOperatorError, UsageError
from opperf.frameworks import is_available, load
from opperf.instruments.prepared import PreparedCase, case_scope
from opperf.model import Settings, TensorSpec, iter_tensors
from opperf.operations.names import Named
from opperf.sources.operation_cases import operation_cases
from opperf.sources.operation_names import find_operations
from opperf.sources.operation_rows import rows_of
from opperf.sources.resolving import resolve, resolve_selection
from opperf.sources.selecting import Selection

FRAMEWORKS = ("mxnet", "numpy", "torch", "jax")

PLANNED = {
    # The operator of each row, those of all rows once, by arm.
    "add": ("broadcast_add", "_npi_add", "add", "add.Tensor", "jnp.add"),
    "multiply": ("broadcast_mul", "_npi_multiply", "multiply", "mul.Tensor", "jnp.multiply"),
    "exp": ("exp", "_npi_exp", "exp", "exp", "jnp.exp"),
    "relu": ("relu", "_npx_relu", "", "relu", "nn.relu"),
    "sigmoid": ("sigmoid", "_npx_sigmoid", "", "sigmoid", "nn.sigmoid"),
    "softmax": ("softmax", "softmax", "", "softmax.int", "nn.softmax"),
    "log_softmax": ("log_softmax", "log_softmax", "", "log_softmax.int", "nn.log_softmax"),
    "matrix_product": ("dot", "_npi_matmul", "matmul", "matmul", "jnp.matmul"),
    "convolution": ("Convolution", "convolution", "", "conv2d", "lax.conv_with_general_padding"),
    "sum": ("sum", "_np_sum", "sum", "sum.dim_IntList", "jnp.sum"),
    "max": ("max", "_np_max", "max", "amax", "jnp.max"),
    "tanh": ("tanh", "_npi_tanh", "tanh", "tanh", "jnp.tanh"),
    "sqrt": ("sqrt", "_npi_sqrt", "sqrt", "sqrt", "jnp.sqrt"),
    "layer_norm": ("LayerNorm", "layer_norm", "", "layer_norm", ""),
    "dense": ("FullyConnected", "fully_connected", "", "linear", ""),
}
ARMS = (("mxnet", "nd"), ("mxnet", "np"), ("numpy", ""), ("torch", ""), ("jax", ""))


def selection(framework, **settings):
    made = Selection(
        size="small",
        settings=Settings(device="", profiler="", mode="", **settings),
        dtype_given="dtype" in settings,
    )
    return resolve_selection(made, lambda axes: resolve(framework, axes))


def planned(name, rows, namespace="", **settings):
    framework = load(name)
    return operation_cases(framework, rows, selection(framework, **settings), namespace)


@pytest.mark.parametrize("place", range(len(ARMS)), ids=[".".join(arm).rstrip(".") for arm in ARMS])
def test_the_plainest_operator_of_each_framework_is_taken(place):
    name, namespace = ARMS[place]
    if not is_available(name):
        pytest.skip(f"{name} is not installed")
    for operation, labels in PLANNED.items():
        rows = rows_of(Named(operation), Selection(size="small"))
        found = planned(name, rows[:1], namespace)
        expected = labels[place]
        assert [case.label for case in found.cases.values()] == [expected] * bool(expected)
        if not expected:
            place_of = ".".join(filter(None, (name, namespace)))
            assert found.reasons == {0: f"{place_of} has no operator of {operation}"}


def contents(name, case):
    """The numbers of each tensor of a case, in double precision, by its role."""
    framework = load(name)
    with case_scope(case, framework):
        arguments = PreparedCase(case, framework).arguments
    return {
        spec.fill.of: numbers(arguments[place])
        for place, value in case.arguments.items()
        for spec in iter_tensors(value)
    }


def numbers(tensor):
    if isinstance(tensor, np.ndarray):
        return tensor.astype("float64")
    if type(tensor).__module__ == "torch":
        return tensor.detach().double().numpy()
    # MXNet's bfloat16 is read through a wider dtype.
    wide = tensor.astype("float32")
    return np.asarray(wide.asnumpy() if hasattr(wide, "asnumpy") else wide).astype("float64")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("operation", ["add", "matrix_product", "softmax", "where"])
def test_all_frameworks_have_the_same_contents_to_the_bit(operation, dtype):
    rows = rows_of(Named(operation), Selection(size="small"))[:2]
    every = {}
    for name in filter(is_available, FRAMEWORKS):
        if dtype in load(name).dtypes:
            for place, case in planned(name, rows, dtype=dtype).cases.items():
                every.setdefault(place, {})[name] = contents(name, case)
    assert all(len(found) > 1 for found in every.values())
    for found in every.values():
        first, *others = found.values()
        for other in others:
            assert other.keys() == first.keys()
            for role, array in first.items():
                np.testing.assert_array_equal(array, other[role])


def test_contents_are_drawn_by_role_and_usual_cases_are_not():
    (row, *_) = rows_of(Named("add"), Selection(size="small"))
    specs = {role: value for role, value in row.roles.items() if isinstance(value, TensorSpec)}
    assert {role: spec.fill.of for role, spec in specs.items()} == {"x": "x", "y": "y"}


def test_shapes_and_values_are_set_by_role_and_others_follow():
    asked = Selection(size="small", shapes={"x": (32, 48)})
    shapes = [
        tuple(spec.shape for spec in row.roles.values() if isinstance(spec, TensorSpec))
        for row in rows_of(Named("matrix_product"), asked)
    ]
    assert shapes[0] == ((32, 48), (48, 32))
    swept = Selection(size="small", swept_shapes={"data": (8, "n")}, sweeps={"n": (16, 32)})
    rows = rows_of(Named("softmax"), swept)
    assert {row.point["n"]: row.roles["data"].shape for row in rows} == {16: (8, 16), 32: (8, 32)}
    with pytest.raises(UsageError, match="matrix_product has no tensor 'data'; it has: x, y"):
        rows_of(Named("matrix_product"), Selection(shapes={"data": (4, 4)}))
    with pytest.raises(UsageError, match="softmax has no input 'axes'; did you mean axis"):
        rows_of(Named("softmax"), Selection(values={"axes": 1}))


@pytest.mark.parametrize(
    "word, found",
    [
        ("matrix_product", Named("matrix_product")),
        ("matmul", Named("matrix_product")),
        ("conv2d", Named("convolution", 4)),
        ("linear", Named("dense")),
        ("FullyConnected", Named("dense")),
        ("torch.mm", Named("matrix_product", 2)),
    ],
)
def test_operations_are_found_by_the_fields_names_and_by_operators(word, found):
    assert find_operations([word]) == [found]


def test_unknown_names_are_one_line_with_near_ones():
    with pytest.raises(UnknownOperatorError, match="no operation is called 'sofmax'; did you mean"):
        find_operations(["sofmax"])
    with pytest.raises(UsageError, match="unknown category of operations 'layer'; did you mean"):
        find_operations([], ["layer"])


def test_a_framework_without_the_dtype_says_so():
    rows = rows_of(Named("add"), Selection(size="small"))[:1]
    with pytest.raises(UsageError, match="dtype 'bfloat16'"):
        planned("numpy", rows, dtype="bfloat16")


def test_indices_that_are_bounded_are_still_those_of_the_row():
    rows = rows_of(Named("take"), Selection(size="small"))
    found = planned("numpy", rows)
    assert (len(found.cases), found.reasons) == (len(rows), {})
    assert [spec.fill.of for _, spec in found.cases[0].tensors()] == ["data", "indices"]
