"""The primitives behind JAX's functions: their registry, their inputs, their calls."""

import msgspec
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

from opperf.errors import UnknownOperatorError, UnsupportedError  # noqa: E402
from opperf.frameworks import load  # noqa: E402
from opperf.frameworks.jax import primitives, steps, structures  # noqa: E402
from opperf.frameworks.literals import literal  # noqa: E402
from opperf.instruments.prepared import PreparedCase  # noqa: E402
from opperf.model import Case, Fill, Generator, Settings, TensorSpec  # noqa: E402
from opperf.rules import callers as rules_of_callers  # noqa: E402
from opperf.rules.callables import inputs_for_target  # noqa: E402
from opperf.rules.registering import NoInputs  # noqa: E402
from opperf.rules.sizes import PRESETS  # noqa: E402
from opperf.sources.selecting import Selection, select  # noqa: E402
from opperf.worker.answers import script  # noqa: E402

FRAMEWORK = load("jax")
OPERATORS = FRAMEWORK.operators()
PRIMITIVES = primitives.operators()


def tensor(*shape, dtype="float32", gradient=True):
    return TensorSpec(shape, dtype, gradient=gradient and dtype == "float32")


def whole(*shape):
    """Indices below 4."""
    return TensorSpec(shape, "int32", Fill("integers", 0.0, 4.0))


def steps_of(function, arguments):
    """The steps of the call, not of its backward pass."""
    return next(steps.steps(function, arguments))


def inputs(name, dtype="float32"):
    operator = FRAMEWORK.resolve(name)
    return inputs_for_target(FRAMEWORK, operator.target, operator, PRESETS["small"], dtype)


def saved(case):
    """The case as a run file has it."""
    return msgspec.json.decode(msgspec.json.encode(case), type=Case)


def case_of(name, arguments, mode="jit"):
    operator = FRAMEWORK.resolve(name)
    settings = Settings(device="cpu(0)", profiler="python", mode=mode)
    return saved(Case(target=operator.target, arguments=arguments, settings=settings))


def call(case):
    with FRAMEWORK.scope(case):
        return PreparedCase(case, FRAMEWORK).call()


def test_every_primitive_for_packages_that_extend_jax_is_an_operator_once():
    public = {
        one
        for one in vars(jax.extend.core.primitives).values()
        if isinstance(one, jax.extend.core.Primitive)
    }
    found = [primitives.of(one.target) for one in PRIMITIVES]
    assert public <= set(found) and len(set(found)) == len(found) > 150
    assert set(PRIMITIVES) <= set(OPERATORS)


def test_a_run_has_primitives_if_their_namespace_or_name_is_asked_for():
    assert not any(one.namespace == "primitive" for one in select(OPERATORS, Selection()))
    assert select(OPERATORS, Selection(namespaces=("primitive",))) == list(PRIMITIVES)
    assert [one.name for one in select(OPERATORS, Selection(("primitive.add",)))] == [
        "primitive.add"
    ]
    with pytest.raises(UnknownOperatorError):
        select(OPERATORS, Selection(("primitive.no_such_thing",)))


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("primitive.scatter_add", "primitive.scatter_add"),
        ("primitive.scatter-add", "primitive.scatter_add"),
        ("jax.primitive.add", "primitive.add"),
        ("add", "jnp.add"),
    ],
)
def test_names(name, found):
    assert FRAMEWORK.resolve(name).name == found


def test_a_category_is_that_of_the_function_of_the_same_purpose():
    categories = {one.name: one.category for one in PRIMITIVES}
    assert categories["primitive.dot_general"] == "gemm"
    assert categories["primitive.conv_general_dilated"] == "convolution"
    assert categories["primitive.reduce_sum"] == "reduction"
    assert categories["primitive.convert_element_type"] == "conversion"


@pytest.mark.parametrize(
    ("name", "caller"),
    [
        ("primitive.add", "jnp.add"),
        ("primitive.reduce_sum", "jnp.sum"),
        ("primitive.sort", "jnp.sort"),
        ("primitive.gather", "jnp.take"),
        ("primitive.dot_general", "jnp.matmul"),
    ],
)
def test_inputs_are_those_that_a_public_function_gives(name, caller):
    operators = [one.name for one in FRAMEWORK.inference.callers(FRAMEWORK.resolve(name))]
    assert caller in operators
    for one in inputs(name):
        assert one.origin.startswith("caller:") and one.why
        call(case_of(name, one.arguments))


@pytest.mark.skipif(jax.__version_info__ >= (0, 8), reason="newer versions have other primitives")
def test_the_tables_name_callers_of_every_primitive_that_has_inputs(monkeypatch):
    def searched(name):
        raise AssertionError("all functions are traced")

    monkeypatch.setattr(rules_of_callers, "_index", searched)
    for one in PRIMITIVES:
        made = inputs(one.name)
        assert made.reason if isinstance(made, NoInputs) else made


@pytest.mark.sweep
def test_a_primitive_that_no_table_has_a_function_for_has_the_inputs_of_one_that_calls_it(
    monkeypatch,
):
    monkeypatch.setattr(primitives, "CALLERS", {})
    assert not FRAMEWORK.inference.callers(FRAMEWORK.resolve("primitive.add_any"))
    assert isinstance(inputs("primitive.add_any"), list)


def test_other_operators_have_no_callers():
    assert FRAMEWORK.inference.callers(FRAMEWORK.resolve("jnp.add")) is None
    assert load("numpy").inference.callers(load("numpy").resolve("add")) is None


def test_an_input_that_is_the_functions_argument_has_its_contents():
    above_one = TensorSpec((8,), fill=Fill("uniform", 1.1, 3.0))
    made = steps_of(jnp.arccosh, {"x": above_one})
    assert made["primitive.acosh"]["x0"].fill == above_one.fill


def test_indices_keep_their_range_on_the_way_to_gather():
    indices = TensorSpec((64,), "int32", Fill("integers", 0.0, 100.0))
    taken = steps_of(jnp.take, {"a": tensor(100, 4), "indices": indices, "axis": 0})
    assert taken["primitive.gather"]["x1"].fill == indices.fill
    assert taken["primitive.gather"]["x1"].shape == (64, 1)


def test_the_largest_of_several_calls_counts():
    def twice(x):
        return jnp.sum(jnp.cos(x)) + jnp.cos(x[0])

    assert steps_of(twice, {"x": tensor(128)})["primitive.cos"]["x0"].shape == (128,)


def test_the_backward_pass_has_steps_too():
    def largest(x):
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (2, 2), (2, 2), "VALID")

    forward, backward = steps.steps(largest, {"x": tensor(8, 8)})
    assert "primitive.select_and_scatter_add" in backward
    assert "primitive.select_and_scatter_add" not in forward
    without = steps.steps(largest, {"x": tensor(8, 8, gradient=False)})
    assert list(without) == [forward]


def test_a_function_that_cannot_be_traced_has_no_steps():
    assert list(steps.steps(lambda x: float(x), {"x": tensor()})) == [{}, {}]


def test_what_the_backward_pass_calls_too_is_taken_from_the_call():
    [real] = [one for one in inputs("primitive.fft") if one.why.startswith("real frames")]
    assert real.arguments["fft_type"] == structures.encode(jax.lax.FftType.RFFT)


def convolve(x, kernel):
    numbers = ("NHWC", "HWIO", "NHWC")
    precision = jax.lax.Precision.HIGHEST
    return jax.lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=numbers, precision=precision
    )


def pool(x):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (2,), (2,), "VALID")


def split():
    return jax.random.key_data(jax.random.split(jax.random.key(1)))


CALLS = {
    "conv_general_dilated": (convolve, {"x": tensor(2, 8, 8, 3), "kernel": tensor(3, 3, 3, 4)}),
    "fft": (jnp.fft.rfft, {"a": tensor(16)}),
    "gather": (jnp.take, {"a": tensor(8, 3), "indices": whole(5), "axis": 0}),
    "scatter_add": (
        jax.ops.segment_sum,
        {"data": tensor(8, 3), "segment_ids": whole(8), "num_segments": 4},
    ),
    "scatter_max": (
        jax.ops.segment_max,
        {"data": tensor(8, 3), "segment_ids": whole(8), "num_segments": 4},
    ),
    "round": (jnp.round, {"a": tensor(8)}),
    "random_bits": (jax.random.bits, {"key": Generator(3), "shape": (4,)}),
    "random_split": (split, {}),
    "reduce_window_max": (pool, {"x": tensor(8)}),
    "cholesky": (jnp.linalg.cholesky, {"a": tensor(8, 8)}),
    "dot_general": (jnp.matmul, {"a": tensor(4, 8), "b": tensor(8, 2)}),
}
"""A call of a function that has the primitive among its steps."""


@pytest.mark.parametrize("mode", ["jit", "eager"])
@pytest.mark.parametrize("name", CALLS)
def test_a_primitives_call_survives_a_run_file_and_is_written_as_a_script(name, mode):
    found = steps_of(*CALLS[name])[f"primitive.{name}"]
    case = case_of(f"primitive.{name}", found, mode)
    assert case.arguments == found and saved(case).id == case.id
    results = jax.tree_util.tree_leaves(call(case))
    assert results and all(isinstance(one, jax.Array) for one in results)
    text = script(FRAMEWORK, case)
    assert f".bind({'x0' if 'random' not in name else 'jax.random.key('}" in text
    exec(compile(text, name, "exec"), {"__name__": "script"})


def test_a_call_computes_what_the_function_does():
    found = steps_of(*CALLS["dot_general"])["primitive.dot_general"]
    case = case_of("primitive.dot_general", found)
    with FRAMEWORK.scope(case):
        prepared = PreparedCase(case, FRAMEWORK)
        left, right = prepared.arguments["x0"], prepared.arguments["x1"]
        assert jnp.allclose(prepared.call(), left @ right, rtol=1e-5)


@pytest.mark.parametrize(
    "value",
    [
        jax.lax.FftType.IRFFT,
        jax.lax.GatherScatterMode.CLIP,
        (jax.lax.Precision.HIGH, jax.lax.Precision.DEFAULT),
        jax.lax.DotAlgorithmPreset.F32_F32_F32,
        jax.lax.ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2)),
        jax.lax.ScatterDimensionNumbers((1,), (0,), (0,)),
        jax.random.key(0).dtype._impl,
        jax.lax.ge_p,
        float("inf"),
        (((1,), (0,)), ((), ())),
        None,
    ],
    ids=str,
)
def test_structured_arguments_are_encoded_and_written(value):
    framework_value = argument_of(structures.encode(value))
    assert structures.decode(framework_value) == value
    assert eval(structures.source(value, literal), {"jax": jax}) == value


def argument_of(encoded):
    """The value of an encoded argument of a case, as a call has it."""
    case = case_of("jnp.add", {"x": tensor(1), "y": tensor(1), "other": encoded})
    return PreparedCase(case, FRAMEWORK).arguments["other"]


@pytest.mark.parametrize("value", [jax.devices()[0], len, jax.make_jaxpr(lambda x: x + 1 * x)(1.0)])
def test_what_json_cannot_hold_is_refused(value):
    with pytest.raises(UnsupportedError):
        structures.encode(value)


def test_a_type_that_a_version_lacks_is_refused():
    with pytest.raises(UnsupportedError, match="no Unheard"):
        structures.decode({"type": "Unheard", "name": "OF"})


def test_a_primitive_of_other_platforms_says_which():
    elsewhere = [one for one in PRIMITIVES if FRAMEWORK.inference.missing_kernel(one, "cpu(0)")]
    for one in elsewhere:
        assert FRAMEWORK.inference.missing_kernel(one, "cpu(0)").startswith("JAX has it for ")
    assert not FRAMEWORK.inference.missing_kernel(FRAMEWORK.resolve("primitive.add"), "cpu(0)")
    assert not FRAMEWORK.inference.missing_kernel(FRAMEWORK.resolve("jnp.add"), "cpu(0)")


def test_primitives_that_take_a_computation_name_the_function_to_measure():
    assert inputs("primitive.scan") == NoInputs("it takes a computation: measure lax.scan")


@pytest.mark.sweep
@pytest.mark.parametrize(
    "operator",
    [one for one in PRIMITIVES if not FRAMEWORK.inference.missing_kernel(one, "cpu(0)")],
    ids=lambda one: one.name,
)
def test_every_primitive_with_a_lowering_is_called_or_has_a_reason(operator):
    made = inputs(operator.name)
    if isinstance(made, NoInputs):
        assert made.reason and not made.searchable
        return
    for one in made:
        for result in jax.tree_util.tree_leaves(call(case_of(operator.name, one.arguments))):
            if jnp.issubdtype(result.dtype, jnp.inexact):
                assert jnp.isfinite(result).all()
