"""Functions and structures as arguments of JAX's functions: they are measured, read back from a run
file, and are in scripts."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import msgspec  # noqa: E402

from opperf.errors import UnknownOperatorError  # noqa: E402
from opperf.frameworks import load  # noqa: E402
from opperf.instruments.prepared import PreparedCase  # noqa: E402
from opperf.model import (  # noqa: E402
    Case,
    Device,
    Fill,
    Function,
    Mapping,
    Number,
    OperatorTarget,
    Settings,
    TensorSpec,
)

BODY = "opperf.frameworks.jax.bodies."
JAX = load("jax")


def case(name, **arguments):
    settings = Settings(device="cpu(0)", mode="jit")
    return Case(OperatorTarget("jax", name), arguments, settings, passes=("forward",))


def called(one):
    """The arguments of a case that was read back, and the result of its call."""
    read = msgspec.json.decode(msgspec.json.encode(one), type=Case)
    assert (read, read.id) == (one, one.id)
    with JAX.scope(read):
        prepared = PreparedCase(read, JAX)
        return prepared, prepared.call()


SEQUENCE = TensorSpec((5, 3))
ROWS = Mapping({"offset_dims": (1,), "collapsed_slice_dims": (0,), "start_index_map": (0,)})
INDICES = TensorSpec((2, 1), "int32", Fill("literal", data=[[4], [1]]))


def test_a_body_of_opperf_is_called_for_each_step():
    scan = case("lax.scan", f=Function(BODY + "decayed_sum"), init=TensorSpec((3,)), xs=SEQUENCE)
    prepared, (last, steps) = called(scan)
    total = np.asarray(prepared.arguments["init"], float)
    for x in np.asarray(prepared.arguments["xs"], float):
        total = 0.9 * total + x
    np.testing.assert_allclose(last, total, rtol=1e-5)
    assert steps.shape == (5, 3)


def test_a_function_of_jax_is_found_by_its_path():
    reduced = case(
        "lax.reduce",
        operands=SEQUENCE,
        init_values=Number.of(float("-inf")),
        computation=Function("jax.lax.max"),
        dimensions=(0,),
    )
    prepared, made = called(reduced)
    np.testing.assert_array_equal(made, np.asarray(prepared.arguments["operands"]).max(0))


@pytest.mark.parametrize("path", ["jax.lax.no_such", BODY + "no_such", "os.system"])
def test_a_function_that_does_not_exist_is_named(path):
    with pytest.raises(UnknownOperatorError, match=path.rpartition(".")[2]):
        called(case("lax.map", f=Function(path), xs=SEQUENCE))


def test_functions_in_a_list_are_branches():
    branches = (Function("jax.lax.sin"), Function("jax.lax.cos"))
    index = TensorSpec((), "int32", Fill("constant", 1.0))
    prepared, made = called(
        case("lax.switch", index=index, branches=branches, operands=(TensorSpec((3,)),))
    )
    np.testing.assert_allclose(made, np.cos(prepared.arguments["operands"][0]), rtol=1e-5)


def test_a_mapping_of_fields_is_a_structure_of_jax():
    gather = case(
        "lax.gather",
        operand=SEQUENCE,
        start_indices=INDICES,
        dimension_numbers=ROWS,
        slice_sizes=(1, 3),
    )
    prepared, made = called(gather)
    np.testing.assert_array_equal(made, np.asarray(prepared.arguments["operand"])[[4, 1]])


def test_a_device_is_a_sharding_where_one_is_taken():
    prepared, made = called(case("lax.with_sharding_constraint", x=SEQUENCE, shardings=Device()))
    np.testing.assert_array_equal(made, prepared.arguments["x"])


NEWTON = case(
    "lax.while_loop",
    cond_fun=Function(BODY + "has_steps_left"),
    body_fun=Function(BODY + "newton_step"),
    init_val=Mapping(
        {
            "root": TensorSpec((3,), fill=Fill("uniform", 1.0, 2.0)),
            "number": TensorSpec((3,), fill=Fill("uniform", 1.0, 2.0)),
            "step": TensorSpec((), "int32", Fill("constant", 0.0)),
        }
    ),
)
SWITCH = case(
    "lax.switch",
    index=TensorSpec((), "int32", Fill("constant", 1.0)),
    branches=(Function("jax.lax.sin"), Function(BODY + "leak")),
    operands=(TensorSpec((3,)),),
)
GATHER = case(
    "lax.gather",
    operand=SEQUENCE,
    start_indices=INDICES,
    dimension_numbers=ROWS,
    slice_sizes=(1, 3),
)
HELD = case("lax.with_sharding_constraint", x=SEQUENCE, shardings=Device())


@pytest.mark.parametrize("one", [NEWTON, SWITCH, GATHER, HELD], ids=lambda one: one.label)
def test_a_script_makes_the_same_call_without_opperf(one):
    prepared, made = called(one)
    with JAX.scope(one):
        text = JAX.recordings.source(one, prepared.arguments, prepared.call)
    assert "opperf" not in text
    names = {}
    exec(text, names)
    for ours, theirs in zip(
        jax.tree_util.tree_leaves(made), jax.tree_util.tree_leaves(names["out"]), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize("one", [NEWTON, SWITCH, GATHER], ids=lambda one: one.label)
def test_shapes_of_results_are_known_without_a_call(one):
    _, made = called(one)
    shapes = [leaf.shape for leaf in jax.tree_util.tree_leaves(made)]
    assert JAX.inference.output_shapes(one) == shapes
