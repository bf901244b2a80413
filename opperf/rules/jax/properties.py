"""Properties of JAX's functions beside their rows: forms in bfloat16, for what models run in it,
operations and bytes without a canonical operation, integers that depend on others, and functions as
arguments; and why some primitives have no inputs: those that take a function or a device, or that
only another primitive's lowering calls."""

from __future__ import annotations

from opperf.dtypes import is_integer
from opperf.model import Fill, Function, Mapping, TensorSpec
from opperf.operations.work.sizes import COMPUTED, COPY, Formula, cut, gathered, scattered
from opperf.rules.configurations import ROWS
from opperf.rules.dependencies import (
    Asked,
    Rules,
    Unfit,
    at,
    below_number,
    extent_of,
    number_of,
    sums_to,
)
from opperf.rules.deriving import in_dtype
from opperf.rules.registering import Families
from opperf.rules.values import below

FAMILIES = Families()

PRODUCTS = "lax.dot lax.batch_matmul jnp.matmul jnp.dot jnp.einsum"
LAYERS = (
    "nn.dot_product_attention nn.softmax nn.log_softmax nn.gelu nn.silu nn.relu "
    "nn.sigmoid nn.glu nn.standardize lax.conv_general_dilated"
)
ELEMENTWISE = "jnp.add jnp.multiply jnp.where jnp.tanh lax.add lax.mul lax.rsqrt lax.logistic"
REDUCTIONS = "jnp.mean jnp.sum nn.logsumexp"
MEMORY = (
    "lax.top_k jnp.take jnp.concatenate lax.concatenate lax.gather lax.scatter "
    "lax.dynamic_update_slice lax.dynamic_update_slice_in_dim"
)

for _names in (PRODUCTS, LAYERS, ELEMENTWISE, MEMORY):
    FAMILIES.derive(in_dtype("bfloat16"), _names)
FAMILIES.derive(in_dtype("bfloat16"), REDUCTIONS, ROWS)


CLASSES: tuple[tuple[Formula, str], ...] = (
    (COPY, "jnp.conjugate jnp.imag jnp.positive jnp.real"),
    (COPY, "primitive.conj primitive.imag primitive.real"),
    (
        COMPUTED,
        "lax.rng_bit_generator lax.rng_uniform primitive.random_bits primitive.rng_bit_generator "
        "primitive.rng_uniform random.bits random.double_sided_maxwell random.generalized_normal "
        "random.loggamma random.maxwell random.pareto random.rademacher random.truncated_normal",
    ),
    (cut("operand"), "lax.dynamic_slice lax.dynamic_slice_in_dim"),
    (cut("operand"), "lax.dynamic_index_in_dim lax.index_in_dim"),
    (gathered("operand"), "lax.gather"),
    (gathered("src"), "lax.index_take"),
    (scattered("updates", 2), "lax.scatter_add lax.scatter_max lax.scatter_min"),
    (scattered("updates", 2), "lax.scatter_mul lax.scatter_sub"),
    (scattered("updates", 1), "lax.scatter"),
    (scattered("update", 1), "lax.dynamic_update_slice lax.dynamic_update_slice_in_dim"),
    (scattered("update", 1), "lax.dynamic_update_index_in_dim"),
)
"""Formulas with the names of functions, whose inputs by role are their arguments."""

WORK: dict[str, Formula] = {name: formula for formula, names in CLASSES for name in names.split()}


AXES = "ragged_dot_dimension_numbers"


def ragged_extent(asked: Asked) -> int:
    """Returns how many rows or columns the groups of a product share."""
    axes = asked.arguments.get(AXES)
    listed = axes.entries.get("lhs_ragged_dimensions") if isinstance(axes, Mapping) else None
    if not isinstance(listed, tuple) or not isinstance(listed[0], int):
        raise Unfit
    return asked.extent("lhs", listed[0])


def factored(asked: Asked) -> Fill:
    """Returns pivots, which count from zero, of the matrix before them."""
    pair = asked.arguments.get("lu_and_piv")
    if not is_integer(asked.spec.dtype) or not isinstance(pair, tuple):
        raise Unfit
    matrix = pair[0]
    if not isinstance(matrix, TensorSpec):
        raise Unfit
    return below(at(matrix.shape, -2))


CONTENTS: Rules = {
    "lax.ragged_dot": {"group_sizes": sums_to(extent_of("lhs"))},
    "lax.ragged_dot_general": {"group_sizes": sums_to(ragged_extent)},
    "lax.linalg.lu_pivots_to_permutation": {"pivots": below_number("permutation_size")},
    "jnp.repeat": {"repeats": sums_to(number_of("total_repeat_length"))},
    "scipy.linalg.lu_solve": {"lu_and_piv": factored},
    "scipy.stats.multinomial.logpmf": {"x": sums_to(number_of("n"))},
    "scipy.stats.multinomial.pmf": {"x": sums_to(number_of("n"))},
}


BODIES = "opperf.frameworks.jax.bodies"
"""Module of opperf's own functions that JAX's take. Planning without JAX must not import it."""


def body(name: str) -> Function:
    """One of opperf's own functions."""
    return Function(f"{BODIES}.{name}")


INDEX, SPECTRUM = "int32", "complex64"
"""Dtypes of indices and of spectra: JAX has no wider ones unless it is asked for them."""

PREFIX = "primitive."

_DEVICES = "works inside a function that is mapped over several devices"
_COMPUTATION = "it takes a computation: measure {}"
_SHARDING = "places an array on devices, and computes nothing"
_PYTHON = "calls Python or foreign code of the program's own"
_SHAPES = "is for shapes that are not known before a program is exported"
_TRACING = "marks a program for its transformation, and computes nothing"
_TYPES = "changes the type of an array, not its numbers"
_LOWERED = "only the lowering of another primitive calls it: measure {}"
_CUDNN = "calls cuDNN's attention: measure nn.dot_product_attention with implementation='cudnn'"
_FLOAT8 = "calls cuDNN's attention in float8, which no public function of JAX has"
_TOKENS = "takes or makes tokens, which order effects and have no numbers"


def _all(names: str, reason: str) -> dict[str, str]:
    return dict.fromkeys((PREFIX + name for name in names.split()), reason)


NOT_BENCHMARKED: dict[str, str] = {
    **_all(
        "all_gather all_gather_invariant all_gather_reduced all_to_all axis_index pbroadcast "
        "pgather pmax pmin ppermute precv psend psum psum_invariant pvary ragged_all_to_all "
        "reduce_scatter unreduced_psum unreduced_reduce_scatter full_to_shard shard_to_full "
        "shard_map xla_pmap reduced_vary_cast vary_unreduced_cast",
        _DEVICES,
    ),
    **_all("scan", _COMPUTATION.format("lax.scan")),
    **_all("while", _COMPUTATION.format("lax.while_loop")),
    **_all("cond", _COMPUTATION.format("lax.cond")),
    **_all("custom_linear_solve", _COMPUTATION.format("lax.custom_linear_solve")),
    **_all("reduce", _COMPUTATION.format("lax.reduce, or primitive.reduce_sum and its like")),
    **_all("reduce_window", _COMPUTATION.format("lax.reduce_window, primitive.reduce_window_sum")),
    **_all("select_and_scatter", _COMPUTATION.format("primitive.select_and_scatter_add")),
    **_all(
        "call call_exported closed_call composite core_call cudnn_fusion custom_jvp_call "
        "custom_lin custom_partitioning custom_transpose_call custom_vjp_call custom_vmap_call jit "
        "linear_call remat2 checkpoint remat_opt run_state",
        _COMPUTATION.format("the function that is called, or what it consists of"),
    ),
    **_all("device_put inspect_sharding layout_constraint mesh_cast", _SHARDING),
    **_all("reshard sharding_constraint", _SHARDING),
    **_all("debug_callback debug_print ffi_call io_callback pure_callback", _PYTHON),
    **_all("dim_as_value dimension_size shape_assertion broadcast_to", _SHAPES),
    **_all("dce_sink name platform_index tie unreachable", _TRACING),
    **_all("from_edtype to_edtype", _TYPES),
    **_all("after_all create_token", _TOKENS),
    **_all("geqrf geqp3", _LOWERED.format("primitive.qr")),
    **_all("eigh_jacobi", _LOWERED.format("primitive.eigh")),
    **_all("iota_2x32_shape threefry2x32", _LOWERED.format("primitive.random_bits")),
    **_all("eq_to", _LOWERED.format("primitive.sort")),
    **_all("empty", "makes a number without contents, and computes nothing"),
    **_all("bias_bwd bias_fwd", "checks the bias of cuDNN's attention, and computes nothing"),
    **_all("select_and_gather_add", "only jax.jvp of lax.reduce_window calls it: measure that"),
    **_all("scaled_matmul", _LOWERED.format("nn.scaled_matmul")),
    **_all("scaled_matmul_wrapper", "nn.scaled_matmul does nothing but call it: measure that"),
    **_all(
        "dot_product_attention_bwd dot_product_attention_bwd_wrapper dot_product_attention_fwd "
        "dot_product_attention_fwd_wrapper",
        _CUDNN,
    ),
    **_all(
        "dot_product_attention_fp8_bwd dot_product_attention_fp8_bwd_wrapper "
        "dot_product_attention_fp8_fwd dot_product_attention_fp8_fwd_wrapper",
        _FLOAT8,
    ),
}
"""Primitives without a measurement of their own, each with the reason."""
