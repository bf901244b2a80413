"""Why some of JAX's primitives have no inputs: those that take a function or a device, or that only
another primitive's lowering calls. The others have the inputs that public functions give them."""

from __future__ import annotations

from collections.abc import Mapping

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


NOT_BENCHMARKED: Mapping[str, str] = {
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
    **_all(
        "reduce_window",
        _COMPUTATION.format("lax.reduce_window, or primitive.reduce_window_sum and its like"),
    ),
    **_all("select_and_scatter", _COMPUTATION.format("primitive.select_and_scatter_add")),
    **_all(
        "call call_exported closed_call composite core_call cudnn_fusion custom_jvp_call "
        "custom_lin custom_partitioning custom_transpose_call custom_vjp_call custom_vmap_call jit "
        "linear_call remat2 checkpoint remat_opt run_state",
        _COMPUTATION.format("the function that is called, or what it consists of"),
    ),
    **_all(
        "device_put inspect_sharding layout_constraint mesh_cast reshard sharding_constraint",
        _SHARDING,
    ),
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
"""Primitives that are not measured on their own, each with the reason."""
