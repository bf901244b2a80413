"""The formula of each canonical operation: of its own, or of its class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from opperf.operations.table import ALL
from opperf.operations.work import layers, matrices
from opperf.operations.work.sizes import (
    COMPUTED,
    COPIES,
    COPY,
    CREATION,
    ELEMENTWISE,
    REDUCTION,
    SUM,
    SUMS_OF_TWO,
    Formula,
    Sizes,
    by_factor,
    cut,
    gathered,
    log2,
    nothing,
    per_element,
    scattered,
    without,
)


def _sorted(call: Sizes) -> float:
    """n log2 n comparisons along an axis of n."""
    return call.widest * log2(call.along("x", call.get("axis")))


def _of_sets(call: Sizes) -> float:
    both = call.size("x") + call.size("y")
    return both * log2(both)


SORT, SETS = Formula(_sorted, nothing), Formula(_of_sets)

CLASSES: tuple[tuple[Formula, str], ...] = (
    (SUMS_OF_TWO, "add subtract"),
    (
        COPY,
        "identity conjugate real imag bitcast cast atleast_1d atleast_2d atleast_3d "
        "block_diagonal column_stack dstack hstack vstack pad_sequences flatten "
        "depth_to_space pixel_shuffle pixel_unshuffle space_to_depth channel_shuffle concatenate "
        "stack transpose flip squeeze expand_dims unstack reshape swapaxes split rollaxis roll "
        "moveaxis rot90 pad diagflat diagonal_embedding diagonal_matrix tril triu "
        "unpack_lu pack_triangle unpack_triangle sequence_mask sequence_reverse shuffle "
        "dropout_inference fill_diagonal insert as_strided put_along_last index_update scatter",
    ),
    (
        COPIES,
        "broadcast broadcast_together broadcast_axes meshgrid repeat tile sliding_windows "
        "combinations",
    ),
    (
        CREATION,
        "zeros_like ones_like full full_like full_of_each eye tri arange linspace "
        "indices arange_like tril_indices triu_indices diag_indices_from indices_of_elements "
        "shape size shares_memory one_hot",
    ),
    (
        COMPUTED,
        "logspace bartlett_window blackman_window hamming_window hann_window "
        "general_hamming_window kaiser_window fourier_frequencies real_fourier_frequencies "
        "bernoulli_numbers",
    ),
    (SUM, "sum nansum sum_of_many segment_reduce"),
    (
        REDUCTION,
        "all any count_nonzero exclusive_or logsumexp lower_median lower_nanmedian max mean min "
        "min_and_max nanmean nanprod prod ptp sum_of_squares moments std var all_finite "
        "sums_of_squares cumlogsumexp cummax cummin cumprod cumsum mode median nanquantile "
        "quantile cumulative_trapezoid trapezoid norm average argmax argmin kth_smallest "
        "same_elements allclose flat_nonzero nonzero bincount histogram histogram_of_points "
        "unique_runs unique_slices sum_of_powers vector_norm distance distance_of_rows "
        "pad_gradient",
    ),
    (SORT, "argsort sort top_k unique"),
    (SETS, "isin set_difference set_exclusive_or set_intersection set_union"),
    (cut("x"), "diag diagonal diagonal_of_matrix"),
    (cut("data"), "crop slice slice_axis slice_like delete sequence_last retain_rows boolean_mask"),
    (gathered("data"), "gather take_along_last advanced_indexing pick take"),
    (gathered("weight"), "embedding"),
    (gathered("choices"), "choose"),
    (COPY._replace(bytes=without("like")), "broadcast_like reshape_like"),
    (scattered("values", 1), "advanced_assignment index_copy put place scatter_rows slice_assign"),
    (scattered("values", 2), "index_add scatter_elements"),
    (
        ELEMENTWISE,
        "where masked_fill unravel_index ravel_multi_index vandermonde difference gradient "
        "interpolate gelu gelu_tanh hard_sigmoid hard_swish hard_tanh relu6 selu silu "
        "alpha_dropout dropout celu elu glu hard_shrink soft_shrink leaky_relu outer_product "
        "kronecker_product khatri_rao_product lars_rates lamb_move",
    ),
)
"""Classes of operations with those of them that no module stands for."""

OF_MODULES: Mapping[str, Formula] = {
    **dict.fromkeys(("unary", "binary", "special", "distributions"), ELEMENTWISE),
    "optimizers": layers.UPDATE,
    "sampling": COMPUTED,
}
"""Classes of all others of a module of references."""

OWN: Mapping[str, Formula] = {
    # Two products and a difference for each element.
    "cross_product": Formula(lambda call: 3.0 * call.result, by_factor("x", "y")),
    "trace": Formula(lambda call: float(min(call.shape("x")[-2:])), nothing),
    "sum_of_log_diagonal": Formula(lambda call: 2.0 * call.size("x") / call.shape("x")[-1]),
    "scaled_outer_product": Formula(lambda call: 2.0 * call.result),
    "searchsorted": Formula(
        lambda call: call.size("values") * log2(call.shape("ordered")[-1]), nothing
    ),
    "random_choice": COMPUTED,
    "random_categorical": Formula(per_element("probabilities"), nothing),
}


def _made() -> Iterator[tuple[str, Formula]]:
    for operation in ALL:
        if operation.module in OF_MODULES:
            yield operation.name, OF_MODULES[operation.module]
    for formula, names in CLASSES:
        yield from dict.fromkeys(names.split(), formula).items()
    for table in (matrices.FORMULAS, layers.FORMULAS, OWN):
        yield from table.items()


FORMULAS: Mapping[str, Formula] = dict(_made())
"""The formula of each operation that has one."""
