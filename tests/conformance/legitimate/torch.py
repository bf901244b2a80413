"""Findings of PyTorch's cases that are no faults."""

from tests.conformance.exceptions import Exempt, given, is_expanded, is_sequence
from tests.conformance.judging import (
    CONSTANT,
    CONSTANT_INPUT,
    EMPTY,
    INTEGERS,
    MASK,
    NOT_FINITE,
    OTHER_NUMBERS,
    WITHOUT_IMAGINARY_PART,
    ZERO_GRADIENT,
)
from tests.conformance.reasons import (
    BY_CHANCE,
    COARSE,
    CREATION,
    EQUAL,
    EXPANDED,
    FACTOR,
    INTEGER_VALUES,
    NEAREST,
    OVERFLOW,
    OVERWRITTEN,
    PIECEWISE,
    REAL_PART,
    ROUNDING,
    SAMPLING,
    SIGN,
    SIGNS,
    SUCCESS,
    SYMMETRIC,
    UNUSED,
    UNWRITTEN,
)

NOT_WRITTEN = (
    "empty.memory_format empty_like empty_permuted empty_quantized empty_strided new_empty "
    "new_empty_strided"
)
"""Operators whose results are memory that is not written."""

TABLE = (
    Exempt(
        CONSTANT,
        CREATION,
        "fill.Scalar fill.Tensor full full_like new_full new_ones new_zeros ones ones_like "
        "sparse_coo_tensor.size sparse_resize_and_clear zero zeros zeros_like _foreach_zero_",
    ),
    Exempt(CONSTANT, UNWRITTEN, NOT_WRITTEN, sometimes=True),
    Exempt(
        CONSTANT,
        "the bag of each index, where one counts for all: " + UNUSED,
        "embedding_bag embedding_bag.padding_idx _embedding_bag _embedding_bag_forward_only",
        place="output[[]2]",
    ),
    Exempt(
        CONSTANT,
        "bags of equal length, or the greatest elements of none: " + UNUSED,
        "embedding_bag embedding_bag.padding_idx _embedding_bag _embedding_bag_forward_only",
        place="output[[]3]",
    ),
    Exempt(CONSTANT, EXPANDED, "div.Scalar", given=is_expanded),
    Exempt(
        CONSTANT_INPUT,
        EXPANDED,
        "div.Scalar elu_backward new_zeros scatter_add",
        given=is_expanded,
        sometimes=True,
    ),
    Exempt(
        CONSTANT,
        "sixteen numbers of a parameter of the small size, all below the bound",
        "_foreach_clamp_min_.Scalar",
        sometimes=True,
    ),
    Exempt(CONSTANT, "two texts of the small size, in bfloat16", "logsumexp", sometimes=True),
    Exempt(CONSTANT_INPUT, EQUAL, "allclose equal"),
    Exempt(CONSTANT_INPUT, EQUAL, "all any", sometimes=True),
    Exempt(
        CONSTANT_INPUT, FACTOR, "quantize_per_channel quantize_per_tensor.tensors", place="scales"
    ),
    Exempt(CONSTANT_INPUT, "probabilities of one class", "kl_div", place="target", sometimes=True),
    Exempt(
        OTHER_NUMBERS,
        "there is a row for each expert of each token",
        "_grouped_mm argsort.stable bincount",
    ),
    Exempt(OTHER_NUMBERS, "numbers that share a scale", "_scaled_mm _scaled_mm_v2"),
    Exempt(OTHER_NUMBERS, "15 of 100 is the mean of the rates", "bernoulli"),
    Exempt(
        OTHER_NUMBERS,
        "the kernel of the layer that follows the border",
        "reflection_pad2d reflection_pad2d_backward",
    ),
    Exempt(
        CONSTANT, NEAREST, "grid_sampler_2d_backward grid_sampler_3d_backward", place="output[[]1]"
    ),
    Exempt(
        CONSTANT,
        SUCCESS,
        "linalg_cholesky_ex linalg_inv_ex linalg_ldl_factor_ex linalg_lu_factor_ex linalg_solve_ex",
    ),
    Exempt(CONSTANT, SIGN, "linalg_slogdet", place="output[[]0]"),
    Exempt(CONSTANT, SYMMETRIC, "q_per_channel_zero_points"),
    Exempt(
        CONSTANT, "counts of numbers that do not repeat", "unique_consecutive", given=is_sequence
    ),
    Exempt(EMPTY, "a tensor emptied is what is asked for", "set"),
    Exempt(MASK, "predicting drops nothing", "native_dropout", given=given(train=False)),
    Exempt(INTEGERS, BY_CHANCE, "all any", place="self", sometimes=True),
    Exempt(
        CONSTANT,
        "none of 16 tokens is drawn, seven times in a hundred",
        "bernoulli",
        sometimes=True,
    ),
    Exempt(
        INTEGERS,
        SYMMETRIC,
        "fake_quantize_per_channel_affine fake_quantize_per_channel_affine_cachemask "
        "quantize_per_channel",
        place="zero_point*",
    ),
    Exempt(
        INTEGERS,
        SYMMETRIC,
        "onednn::qconv1d_pointwise onednn::qconv2d_pointwise onednn::qconv2d_pointwise.tensor "
        "onednn::qconv3d_pointwise onednn::qconv_pointwise onednn::qconv_pointwise.tensor "
        "onednn::qlinear_pointwise onednn::qlinear_pointwise.binary "
        "onednn::qlinear_pointwise.binary_tensor onednn::qlinear_pointwise.tensor",
        place="w_zero_point",
    ),
    Exempt(
        INTEGERS,
        "-1 ends the classes of a sample",
        "multilabel_margin_loss multilabel_margin_loss_backward multilabel_margin_loss_forward",
        place="target",
    ),
    Exempt(
        INTEGERS,
        "bags of equal length",
        "_embedding_bag_backward _embedding_bag_dense_backward _embedding_bag_sparse_backward",
        place="bag_size",
    ),
    Exempt(WITHOUT_IMAGINARY_PART, REAL_PART, "real", place="gradient of self"),
    Exempt(
        ZERO_GRADIENT,
        PIECEWISE,
        "adaptive_max_pool2d_backward adaptive_max_pool3d_backward avg_pool2d_backward "
        "avg_pool3d_backward fractional_max_pool2d_backward fractional_max_pool3d_backward "
        "hardshrink_backward hardtanh_backward leaky_relu_backward "
        "max_pool2d_with_indices_backward "
        "max_pool3d_with_indices_backward nll_loss2d_backward nll_loss_backward "
        "reflection_pad1d_backward "
        "reflection_pad2d_backward reflection_pad3d_backward replication_pad1d_backward "
        "replication_pad2d_backward replication_pad3d_backward rrelu_with_noise_backward "
        "softshrink_backward threshold_backward",
        place="gradient of self",
    ),
    Exempt(
        ZERO_GRADIENT,
        "probabilities of a row sum to one, by which the head gradient is",
        "_sparse_softmax.int",
    ),
    Exempt(
        ZERO_GRADIENT,
        SAMPLING,
        "bernoulli bernoulli.Tensor cauchy exponential geometric log_normal normal.Tensor_Tensor "
        "normal.Tensor_float normal.float_Tensor poisson random uniform",
    ),
    Exempt(
        ZERO_GRADIENT,
        ROUNDING,
        "ceil div.Scalar_mode div.Tensor_mode floor round round.decimals sign special_round trunc",
    ),
    Exempt(ZERO_GRADIENT, SIGNS, "copysign.Tensor nextafter", place="gradient of other"),
    Exempt(
        ZERO_GRADIENT,
        OVERWRITTEN,
        "fill.Scalar fill.Tensor index_copy scatter.src scatter_reduce.two zero",
        place="gradient of self",
    ),
    Exempt(
        ZERO_GRADIENT,
        NEAREST,
        "grid_sampler_2d grid_sampler_2d_backward grid_sampler_3d grid_sampler_3d_backward",
        place="gradient of grid",
    ),
)

BY_DTYPE = {
    "bfloat16": (
        Exempt(CONSTANT, COARSE, "cumprod prod.dim_int", place="output"),
        Exempt(CONSTANT_INPUT, COARSE, "cumprod cumprod_backward prod prod.dim_int"),
        Exempt(
            NOT_FINITE,
            # https://github.com/pytorch/pytorch/issues/191763
            "PyTorch reads momenta in bfloat16 as if in float32, and so from beyond their end",
            "_fused_sgd_",
            sometimes=True,
        ),
        Exempt(
            NOT_FINITE,
            "PyTorch's exponential of a matrix is NaN in bfloat16",
            "linalg_matrix_exp matrix_exp matrix_exp_backward",
        ),
    ),
    "float16": (
        Exempt(
            NOT_FINITE,
            "PyTorch's exponential of a matrix is NaN in float16",
            "linalg_matrix_exp matrix_exp matrix_exp_backward",
        ),
        Exempt(
            NOT_FINITE,
            OVERFLOW,
            "batch_norm_backward native_batch_norm_backward native_layer_norm_backward",
            place="gradient of input",
        ),
    ),
    "complex64": (
        Exempt(WITHOUT_IMAGINARY_PART, UNWRITTEN, NOT_WRITTEN, sometimes=True),
        Exempt(NOT_FINITE, "exponentials of angles that are imaginary", "cos sin"),
        Exempt(
            WITHOUT_IMAGINARY_PART,
            CREATION,
            "_foreach_zero_ eye eye.m fill.Scalar fill.Tensor full full_like linspace "
            "linspace.Scalar_Tensor "
            "linspace.Tensor_Scalar linspace.Tensor_Tensor logspace logspace.Scalar_Tensor "
            "logspace.Tensor_Scalar logspace.Tensor_Tensor new_full new_ones new_zeros ones "
            "ones_like scalar_tensor sparse_coo_tensor.size sparse_resize_and_clear zero zeros "
            "zeros_like",
        ),
        Exempt(WITHOUT_IMAGINARY_PART, "sums of probabilities", "cumsum", place="output"),
        Exempt(
            WITHOUT_IMAGINARY_PART,
            "a permutation's matrix",
            "linalg_lu lu_unpack",
            place="output[[]0]",
        ),
        Exempt(
            WITHOUT_IMAGINARY_PART,
            "converted from real numbers or to them",
            "copy to.device to.dtype to.dtype_layout to.other type_as",
        ),
        Exempt(
            WITHOUT_IMAGINARY_PART,
            INTEGER_VALUES,
            "to_sparse to_sparse.sparse_dim to_sparse_bsc to_sparse_bsr to_sparse_csc "
            "to_sparse_csr",
        ),
    ),
}
"""Findings in other dtypes than float32."""

FINITE_AT_TIMES = (
    "empty empty_like empty_permuted empty_quantized empty_strided new_empty new_empty_strided"
)
"""Operators that may return NaN or infinity, and do so by chance: memory that is not written."""
