"""How the derivatives of canonical operations are computed from their references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from opperf.operations.uses import CanonicalOperation

Way = Literal["exact", "complex", "differences"]
"""By a difference over a whole step, which is exact for polynomials of degree two; by a step along
the imaginary axis, which has no error; by central differences over two small steps."""

NEVER: Final = frozenset(
    {
        *("bitwise_not", "ceil", "floor", "isfinite", "isinf", "isnan", "isneginf", "isposinf"),
        *("leading_zeros", "logical_not", "ones_in_bits", "ones_like", "quantize_symmetric"),
        *("rint", "round_half_away", "round_to", "round_to_bits", "sign", "signbit", "trunc"),
        *("zeros_like", "isreal", "bitwise_and", "bitwise_or", "bitwise_xor", "equal"),
        *("floor_divide", "gcd", "greater", "greater_equal", "heaviside", "lcm", "left_shift"),
        *("less", "less_equal", "logical_and", "logical_or", "logical_xor", "not_equal"),
        *("right_shift", "same_elements", "allclose", "isclose", "all", "any", "count_nonzero"),
        *("exclusive_or", "all_finite", "shares_memory", "full_like", "full_of_each", "isin"),
        *("argmax", "argmin", "argsort", "searchsorted", "histogram", "histogram_of_points"),
        *("bincount", "flat_nonzero", "nonzero", "unravel_index", "one_hot", "bitcast"),
        *("ravel_multi_index", "shape", "size", "diag_indices_from", "indices_of_elements"),
        *("arange_like", "frexp", "fake_quantize", "matrix_rank", "set_difference"),
        *("set_exclusive_or", "set_intersection", "set_union", "unique", "unique_runs"),
        *("unique_slices", "combinations", "cast", "bernoulli_numbers", "mode"),
    }
)
"""Operations whose results are integers, steps or constants."""

WITHOUT: Final = frozenset({"creation", "sampling", "optimizers"})
"""Modules of operations that make tensors, draw them, or change weights by gradients themselves."""

YET: Final = frozenset({"difference", "gradient", "interpolate", "vandermonde"})
"""Operations of such a module that have a derivative all the same."""

EXACT: Final = frozenset(
    {
        *("degrees", "dequantize", "divided_by_root_of_width", "identity", "negative", "radians"),
        *("square", "add", "multiply", "subtract", "sum_of_many", "mean", "moments", "sum"),
        *("sum_of_squares", "sums_of_squares", "var", "cumsum", "trace", "difference"),
        *("gradient", "covariance", "diagonal_matrix", "diagonal_of_matrix", "pack_triangle"),
        *("unpack_triangle", "matrix_times_own_transpose", "cross_product", "dot"),
        *("inner_product", "kronecker_product", "outer_product", "vector_dot", "vector_products"),
        *("convolve", "correlate", "tensordot", "matrix_product", "convolution", "deconvolution"),
        *("im2col", "col2im", "dense", "embedding", "take", "pick", "gather", "where"),
        *("slice_axis", "slice", "slice_like", "concatenate", "stack", "transpose", "flip"),
        *("squeeze", "expand_dims", "broadcast_like", "reshape_like", "broadcast", "reshape"),
        *("swapaxes", "broadcast_axes", "split", "rollaxis", "sliding_windows", "diagonal"),
        *("diagonal_embedding", "roll", "moveaxis", "rot90", "repeat", "tile", "diag", "diagflat"),
        *("tril", "triu", "flatten", "depth_to_space", "space_to_depth", "pixel_shuffle"),
        *("pixel_unshuffle", "channel_shuffle", "hstack", "vstack", "dstack", "column_stack"),
        *("block_diagonal", "crop", "pad", "as_strided", "upsample_linear", "upsample_nearest"),
        *("upsample_cubic", "squared_error_loss", "sequence_last", "sequence_mask"),
        *("sequence_reverse", "take_along_last", "dropout_inference"),
    }
)
"""Operations that are polynomials of degree two at most in all their inputs together."""

COMPLEX: Final = frozenset(
    {
        *("arccosh", "arctanh", "correlation_coefficients", "cosh", "cumprod", "determinant"),
        *("divide", "exp", "expm1", "hypot", "inverse", "log", "log10", "log1p", "log2"),
        *("logaddexp", "logaddexp2", "matrix_power", "polynomial", "power", "prod"),
        *("reciprocal", "rsqrt", "sinh", "solve", "sqrt", "tensor_inverse", "tensor_solve"),
        "vandermonde",
    }
)
"""Operations whose references are analytic, and take complex numbers."""


MATRICES: Final[Mapping[str, str]] = {
    "cholesky": "symmetric",
    "eigenvalues_of_symmetric": "symmetric",
    "inverse_from_cholesky": "lower",
    "solution_from_cholesky": "lower",
}
"""Operations that read one half of a matrix, with what the other half is: gradients differ in how
they share elements between the halves."""


def way_of(operation: CanonicalOperation) -> Way | None:
    """Returns how an operation's derivative is computed; None if it has none."""
    if operation.name in NEVER or (operation.module in WITHOUT and operation.name not in YET):
        return None
    ways: Mapping[Way, frozenset[str]] = {"exact": EXACT, "complex": COMPLEX}
    return next((way for way, names in ways.items() if operation.name in names), "differences")
