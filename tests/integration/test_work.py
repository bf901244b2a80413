"""Operations of one computation are the same in every framework, and as XLA counts them where its
convention is the same."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from opperf.frameworks import load
from opperf.frameworks.base import CallExtents, Extent
from opperf.model import Case, NoteCode, OperatorTarget, Settings, TensorSpec, iter_tensors
from opperf.operations.work import table
from opperf.operations.work.sizes import Formula, Sizes
from opperf.operations.work.stand_ins import stand_in
from opperf.rules.engine import inputs_for, rules_module
from opperf.rules.registering import NoInputs
from opperf.rules.sizes import PRESETS
from opperf.rules.work import computed, work_of
from opperf.worker.measure import measure

SETTINGS = Settings(profiler="python", warmup=0, runs=1, memory=False)
X, Y, SQUARE = TensorSpec((8, 12)), TensorSpec((12, 4)), TensorSpec((8, 8))
POSITIVE = TensorSpec(
    (8, 8), fill=msgspec.structs.replace(X.fill, distribution="positive_definite")
)
POINTS = TensorSpec((8, 8), "complex64")
INDICES = TensorSpec((5,), "int32", msgspec.structs.replace(X.fill, distribution="constant"))

CALLS = {
    "exponential": (
        {
            "numpy": ("exp", {"x": X}),
            "torch": ("exp", {"self": X}),
            "jax": ("jnp.exp", {"x": X}),
            "mxnet": ("exp", {"data": X}),
        },
        96,
    ),
    "sum": (
        {
            "numpy": ("sum", {"a": X, "axis": 1}),
            "torch": ("sum.dim_IntList", {"self": X, "dim": (1,)}),
            "jax": ("jnp.sum", {"a": X, "axis": 1}),
            "mxnet": ("sum", {"data": X, "axis": 1}),
        },
        96,
    ),
    "product": (
        {
            "numpy": ("matmul", {"x1": X, "x2": Y}),
            "torch": ("mm", {"self": X, "mat2": Y}),
            "jax": ("jnp.matmul", {"a": X, "b": Y}),
            "mxnet": ("dot", {"lhs": X, "rhs": Y}),
        },
        2 * 8 * 12 * 4,
    ),
    "rows": (
        {
            "numpy": ("take", {"a": X, "indices": INDICES, "axis": 0}),
            "torch": ("index_select", {"self": X, "dim": 0, "index": INDICES}),
            "jax": ("jnp.take", {"a": X, "indices": INDICES, "axis": 0}),
            "mxnet": ("take", {"a": X, "indices": INDICES, "axis": 0}),
        },
        0,
    ),
    "cholesky": (
        {
            "numpy": ("linalg.cholesky", {"a": POSITIVE}),
            "torch": ("linalg_cholesky", {"self": POSITIVE}),
            "jax": ("jnp.linalg.cholesky", {"a": POSITIVE}),
            "mxnet": ("linalg_potrf", {"A": POSITIVE}),
        },
        8**3 / 3,
    ),
    "sort": (
        {
            "numpy": ("sort", {"a": SQUARE, "axis": -1}),
            "torch": ("sort", {"self": SQUARE, "dim": -1}),
            "jax": ("jnp.sort", {"a": SQUARE, "axis": -1}),
            "mxnet": ("sort", {"data": SQUARE, "axis": -1}),
        },
        64 * 3,
    ),
}


def record_of(framework: str, name: str, arguments: dict, settings: Settings = SETTINGS):
    loaded = load(framework)
    operator = loaded.resolve(name)
    target = OperatorTarget(framework, name) if operator is None else operator.target
    record = measure(Case(target, arguments, settings, passes=("forward",)), loaded)
    assert (record.status.value, record.reason) == ("ok", "")
    return record


OPERATIONS = {
    "exponential": "exp",
    "sum": "sum",
    "product": "matrix_product",
    "rows": "take",
    "cholesky": "cholesky",
    "sort": "sort",
}
"""The canonical operation of each computation."""


@pytest.mark.parametrize("framework", ["numpy", "torch", "jax", "mxnet"])
@pytest.mark.parametrize("computation", CALLS)
def test_one_computation_has_the_same_operations_everywhere(computation, framework):
    calls, flops = CALLS[computation]
    name, arguments = calls[framework]
    record = record_of(framework, name, arguments)
    assert record.known_by["flops"] == record.known_by["moved_bytes"] == "formula"
    assert record.summaries["flops"].median == pytest.approx(flops)
    assert record.operation == OPERATIONS[computation]


def extents_of(case: Case) -> CallExtents:
    """Extents of a case's tensors, and of one result as large as the largest."""
    counts = [
        math.prod(spec.shape) for one in case.arguments.values() for spec in iter_tensors(one)
    ]
    counts.append(max(counts, default=1))
    made: list[Extent] = []
    for count in counts:
        begin = made[-1].end + 1 if made else 1
        made.append(Extent(4 * count, begin, begin + 4 * count, count))
    return CallExtents(made[:-1], made[-1:], False)


@pytest.mark.parametrize("framework", ["numpy", "torch", "jax", "mxnet"])
def test_no_formula_fails_with_the_inputs_of_any_operator(framework):
    loaded = load(framework)
    rules = rules_module(loaded.rules)
    with_figures = 0
    failed: list[str] = []
    for operator in loaded.operators():
        required = {parameter.name for parameter in operator.parameters if parameter.required}
        made = inputs_for(operator, rules, PRESETS["small"], "")
        for inputs in () if isinstance(made, NoInputs) else made:
            if not required <= inputs.arguments.keys():
                continue
            passes = ("forward", "backward")
            case = Case(operator.target, inputs.arguments, SETTINGS, passes=passes)
            try:
                work = work_of(case, loaded, extents_of(case))
            except Exception as error:
                failed.append(f"{operator.label}: {error!r}")
            else:
                with_figures += work.flops is not None
    assert not failed
    assert with_figures > 900


@pytest.mark.parametrize(
    ("framework", "name"),
    [
        ("numpy", "random.Generator.multivariate_normal"),
        ("numpy", "random.Generator.shuffle"),
        ("jax", "random.orthogonal"),
        ("jax", "scipy.cluster.vq.vq"),
        ("mxnet", "sample_multinomial"),
    ],
)
def test_a_category_is_no_formula_of_what_takes_more_than_its_others(framework, name):
    loaded = load(framework)
    operator = loaded.resolve(name)
    assert operator is not None and computed(loaded, operator.target) is None


@pytest.mark.parametrize(
    ("name", "arguments", "more"),
    [
        ("jnp.add", {"x": X, "y": X}, 0),
        ("jnp.multiply", {"x": X, "y": X}, 0),
        ("jnp.matmul", {"a": X, "b": Y}, 0),
        # XLA adds n numbers in n - 1 steps.
        ("jnp.sum", {"a": X}, 1),
    ],
)
def test_operations_are_as_xla_counts_them(name, arguments, more):
    eager = record_of("jax", name, arguments)
    jit = msgspec.structs.replace(SETTINGS, mode="jit")
    compiled = record_of("jax", name, arguments, jit)
    assert (eager.known_by["flops"], compiled.known_by["flops"]) == ("formula", "count")
    assert eager.summaries["flops"].median == compiled.summaries["flops"].median + more


def test_a_part_of_an_array_is_what_is_read_of_it():
    arguments = {"operand": X, "start_index": 1, "slice_size": 2}
    record = record_of("jax", "lax.dynamic_slice_in_dim", arguments)
    assert (record.summaries["flops"].median, record.known_by["moved_bytes"]) == (0, "formula")
    assert record.moved_bytes == 2 * 2 * 12 * 4


@pytest.mark.parametrize("name", ["real", "imag", "conjugate", "positive"])
def test_copies_of_parts_of_numbers_are_no_operations(name):
    framework = load("numpy")
    operator = framework.resolve(name)
    arguments = {operator.tensors[0].name: POINTS}
    case = Case(operator.target, arguments, SETTINGS)
    assert work_of(case, framework, extents_of(case)).flops == 0


def test_a_formula_that_fails_costs_no_times_and_is_noted(monkeypatch):
    formula = Formula(lambda call: call.shape("x")[7])
    monkeypatch.setitem(table.FORMULAS, "exp", formula)
    record = record_of("numpy", "exp", {"x": X})
    assert "flops" not in record.summaries and record.known_by["moved_bytes"] == "minimal"
    (note,) = (note for note in record.notes if note.code == NoteCode.FORMULA)
    assert (
        note.message == "the formula of its operations failed: IndexError: tuple index out of range"
    )
    with pytest.raises(IndexError):
        work_of(record.case, load("numpy"), extents_of(record.case))


WITHOUT_OPERATIONS = frozenset(
    {
        *("broadcast_in_dim", "convert_element_type", "copy", "expand_dims", "pad", "reshape"),
        *("slice", "squeeze", "stop_gradient", "symbolic_zeros", "transpose"),
    }
)
"""Primitives that compute nothing."""


def counted_of_gradient(function, *inputs) -> float:
    """Operations of a function's traced gradient: one for each element that is computed, or added
    to others."""
    import jax

    results, gradient = jax.vjp(function, *inputs)

    def counted(program) -> float:
        total = 0.0
        for equation in program.eqns:
            name = equation.primitive.name
            if name in WITHOUT_OPERATIONS:
                continue
            inner = [own.jaxpr for own in equation.params.values() if hasattr(own, "jaxpr")]
            added = name.startswith(("reduce_", "scatter"))
            place = equation.invars[-1 if name.startswith("scatter") else 0]
            sized = place if added else equation.outvars[0]
            total += sum(map(counted, inner)) if inner else float(sized.aval.size)
        return total

    return counted(jax.make_jaxpr(gradient)(results).jaxpr)


def normalised(x, centre=True):
    import jax.numpy as jnp

    off = x - x.mean(1, keepdims=True) if centre else x
    return off / jnp.sqrt(jnp.square(off).mean(1, keepdims=True) + 1e-5)


ROWS = 32 * 8

GRADIENTS = {
    # What is linear, or has one derivative for each element, is as it is counted.
    "add": (lambda jax: jax.numpy.add, ("x", "y"), ROWS, 1),
    "multiply": (lambda jax: jax.numpy.multiply, ("x", "y"), ROWS, 1),
    "negative": (lambda jax: jax.numpy.negative, ("x",), ROWS, 1),
    "exp": (lambda jax: jax.numpy.exp, ("x",), ROWS, 1),
    "log": (lambda jax: jax.numpy.log, ("x",), ROWS, 1),
    "sum": (lambda jax: jax.numpy.sum, ("x",), 1, 1),
    "transpose": (lambda jax: jax.numpy.transpose, ("x",), ROWS, 1),
    "broadcast": (lambda jax: lambda x: jax.numpy.broadcast_to(x, (3, 32, 8)), ("x",), 3 * ROWS, 1),
    # Of several ways to compute them, a framework may take a longer one.
    "sum_of_squares": (lambda jax: lambda x: (x * x).sum(), ("x",), 1, 3),
    "tanh": (lambda jax: jax.numpy.tanh, ("x",), ROWS, 3),
    "softmax": (lambda jax: jax.nn.softmax, ("x",), ROWS, 2),
    "log_softmax": (lambda jax: jax.nn.log_softmax, ("x",), ROWS, 2),
    "layer_norm": (lambda jax: normalised, ("data",), ROWS, 2),
    "rms_norm": (lambda jax: lambda x: normalised(x, centre=False), ("data",), ROWS, 2),
    "cumsum": (lambda jax: lambda x: jax.numpy.cumsum(x, 1), ("x",), ROWS, 1),
}
"""Functions with their inputs by role, the elements of their results, and how many times more or
fewer operations their gradients have than by formula."""


@pytest.mark.parametrize("operation", GRADIENTS)
def test_gradients_have_as_many_operations_as_jax_traces(operation):
    jax = pytest.importorskip("jax")
    function, roles, result, times = GRADIENTS[operation]
    inputs = {role: stand_in((32, 8), np.dtype("float32"), gradient=True) for role in roles}
    sizes = Sizes(lambda: inputs, (ROWS,) * len(roles), (result,), differentiated=len(roles))
    formula = table.FORMULAS[operation]
    found = formula.backward(sizes, formula.flops(sizes))
    values = [jax.numpy.linspace(0.1, 1.0, ROWS).reshape(32, 8) for _ in roles]
    counted = counted_of_gradient(function(jax), *values)
    assert counted / times <= found <= counted * times
