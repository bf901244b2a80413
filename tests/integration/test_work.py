"""Operations of one computation are the same in every framework, and as XLA counts them where its
convention is the same."""

from __future__ import annotations

import math

import msgspec
import pytest

from opperf.frameworks import load
from opperf.frameworks.base import CallExtents, Extent
from opperf.model import Case, OperatorTarget, Settings, TensorSpec, iter_tensors
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


@pytest.mark.parametrize("framework", ["numpy", "torch", "jax", "mxnet"])
@pytest.mark.parametrize("computation", CALLS)
def test_one_computation_has_the_same_operations_everywhere(computation, framework):
    calls, flops = CALLS[computation]
    name, arguments = calls[framework]
    record = record_of(framework, name, arguments)
    assert record.known_by["flops"] == record.known_by["moved_bytes"] == "formula"
    assert record.summaries["flops"].median == pytest.approx(flops)


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
