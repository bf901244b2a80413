"""The category of each of JAX's functions, as an ordered table of rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from opperf.frameworks.jax import COLLECTIVES
from opperf.model import Operator

Rule = Callable[[Operator], bool]


def namespace(*names: str) -> Rule:
    """Functions of one of these namespaces."""
    return lambda operator: not set(names).isdisjoint(operator.namespaces)


def named(names: str) -> Rule:
    """Functions of which any name, without its module, is one of these."""
    wanted = frozenset(names.split())
    return lambda operator: any(name.rpartition(".")[2] in wanted for name in operator.names)


def in_full(names: str) -> Rule:
    """Functions of which any full name is one of these."""
    wanted = frozenset(names.split())
    return lambda operator: not wanted.isdisjoint(operator.names)


def begins(*beginnings: str) -> Rule:
    """Functions whose name, without its module, begins with one of these."""
    return lambda operator: operator.name.rpartition(".")[2].startswith(beginnings)


def parameter(name: str) -> Rule:
    """Functions with a parameter of that name."""
    return lambda operator: operator.parameter(name) is not None


def tensors(count: int) -> Rule:
    """Functions of that many arrays."""
    return lambda operator: len(operator.tensors) == count


RULES: Mapping[str, tuple[Rule, ...]] = {
    "collective": (in_full(" ".join(COLLECTIVES)),),
    "random": (namespace("random"), in_full("lax.rng_uniform lax.rng_bit_generator")),
    "fft": (namespace("jnp.fft", "scipy.fft"), in_full("lax.fft")),
    "python_function": (
        named("apply_along_axis apply_over_axes associative_scan cond custom_linear_solve"),
        named("custom_root fori_loop map scan switch while_loop platform_dependent composite"),
        named("piecewise fromfunction reduce reduce_window scatter_apply funm cg gmres bicgstab"),
        named("minimize trapezoid_of_function"),
    ),
    "sorting": (
        named("argpartition argsort lexsort partition sort sort_complex searchsorted sort_key_val"),
        named("argmax argmin nanargmax nanargmin top_k approx_max_k approx_min_k"),
        named("rankdata mode"),
    ),
    "cumulative": (
        named("cumprod cumsum nancumprod nancumsum diff ediff1d gradient unwrap cummax cummin"),
        named("cumlogsumexp cumulative_prod cumulative_sum"),
    ),
    "nn_basic": (in_full("nn.softmax nn.log_softmax nn.standardize nn.dot_product_attention"),),
    "activation": (
        in_full("nn.celu nn.elu nn.gelu nn.glu nn.hard_sigmoid nn.hard_silu nn.hard_tanh"),
        in_full("nn.identity nn.leaky_relu nn.log_sigmoid nn.mish nn.relu nn.relu6 nn.selu"),
        in_full("nn.sigmoid nn.silu nn.soft_sign nn.softplus nn.sparse_plus nn.sparse_sigmoid"),
        in_full("nn.squareplus nn.tanh nn.log1mexp"),
    ),
    "convolution": (begins("conv_"), in_full("lax.conv")),
    "indexing": (
        named("argwhere choose compress delete diag_indices diag_indices_from extract place put"),
        named("fill_diagonal flatnonzero ix_ mask_indices nonzero put_along_axis select take"),
        named("ravel_multi_index take_along_axis tril_indices tril_indices_from triu_indices"),
        named("triu_indices_from trim_zeros unravel_index where gather select_n index_take"),
        begins("dynamic_", "scatter", "slice", "index_in_dim", "select"),
    ),
    "reduction": (
        parameter("keepdims"),
        named("allclose array_equal array_equiv trace trapezoid logsumexp logmeanexp"),
        named("reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum reduce_xor"),
        named("sem"),
    ),
    "gemm": (
        named("dot einsum inner matmul matvec outer tensordot vdot vecdot vecmat multi_dot"),
        named("batch_matmul dot_general ragged_dot ragged_dot_general scaled_matmul"),
        named("scaled_dot_general"),
    ),
    "linalg": (
        namespace("jnp.linalg", "lax.linalg", "scipy.linalg", "scipy.sparse.linalg"),
        named("kron cross"),
    ),
    "image": (namespace("image"), named("map_coordinates")),
    "set": (
        named("in1d intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts"),
        named("unique_inverse unique_values"),
    ),
    "polynomial": (
        named("poly polyadd polyder polydiv polyfit polyint polymul polysub polyval"),
        in_full("jnp.roots"),
    ),
    "statistics": (
        named("bincount corrcoef cov digitize histogram histogram2d histogramdd interp convolve"),
        named("correlate histogram_bin_edges segment_max segment_min segment_prod segment_sum"),
        namespace("scipy.stats", "scipy.cluster.vq", "scipy.integrate", "scipy.optimize"),
    ),
    "signal": (namespace("scipy.signal"),),
    "window": (named("bartlett blackman hamming hanning kaiser"),),
    "joining": (
        named("append block column_stack concat concatenate dstack hstack insert stack vstack"),
    ),
    "splitting": (named("array_split dsplit hsplit split unstack vsplit"),),
    "creation": (
        named("arange empty eye full geomspace identity indices linspace logspace ones tri zeros"),
        named("empty_like full_like ones_like zeros_like vander meshgrid iota broadcasted_iota"),
        named("one_hot zeros_like_array create_token"),
    ),
    "conversion": (
        named("array asarray copy from_dlpack frombuffer astype packbits unpackbits"),
        named("convert_element_type bitcast_convert_type reduce_precision optimization_barrier"),
        named("stop_gradient with_sharding_constraint"),
    ),
    "shape": (
        named("atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_to diag diagflat"),
        named("diagonal expand_dims flip fliplr flipud moveaxis pad ravel repeat reshape resize"),
        named("matrix_transpose roll rollaxis rot90 squeeze swapaxes tile transpose tril triu"),
        named("permute_dims rev collapse broadcast broadcast_in_dim"),
        named("broadcast_to_rank"),
    ),
    "unary": (tensors(1), named("round around clip clamp nan_to_num")),
    "binary": (tensors(2),),
}
"""Category and the rules that put a function in it; the first match counts."""

OTHER = "other"
"""The category of a function that no rule knows, as a newer JAX may have."""


def category_of(operator: Operator) -> str:
    """Returns the category of an operator."""
    return next(
        (name for name, rules in RULES.items() if any(rule(operator) for rule in rules)), OTHER
    )
