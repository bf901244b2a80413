"""The category of each operator: by its name, else by its tags, else by its schema."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

from opperf.frameworks.torch import schemas
from opperf.model import Kind, Operator

NAMES: Mapping[str, str] = {
    "activation": (
        "celu elu elu_ gelu glu glu_jvp hardshrink hardsigmoid hardswish hardtanh *gelu "
        "leaky_relu log_sigmoid log_sigmoid_forward log_softmax mish prelu relu relu6 rrelu "
        "rrelu_with_noise* selu sigmoid silu softmax softplus softshrink special_log_softmax "
        "special_softmax threshold glu_backward_jvp"
    ),
    "attention": (
        "*scaled_dot_product* *multi_head* *transform_bias* *triton_multi* _*_attention_forward "
        "_*_attention_backward"
    ),
    "convolution": (
        "conv1d conv2d conv3d conv_depthwise3d conv_tbc convolution* *_convolution "
        "*_convolution_relu *_convolution_add_relu mkldnn_reorder_conv* slow_conv3d* "
        "slow_conv_dilated* thnn_conv2d miopen_depthwise_convolution col2im im2col"
    ),
    "transpose_convolution": (
        "conv_transpose* slow_conv_transpose* *_convolution_transpose mps_convolution_transpose*"
    ),
    "pooling": "*_pool1d* *_pool2d* *_pool3d* max_unpool*",
    "nn_basic": (
        "affine_grid_generator alpha_dropout batch_norm* bilinear *_batch_norm channel_shuffle "
        "cosine_similarity *dropout embedding* group_norm grid_sampler* gru* "
        "*_affine_grid_generator *_grid_sampler instance_norm layer_norm linear lstm* "
        "miopen_rnn mkldnn_linear* mkldnn_rnn* native_*norm native_channel_shuffle "
        "norm_except_dim pixel_shuffle pixel_unshuffle renorm rms_norm rnn* batch_norm_stats "
        "batch_norm_elemt *_lstm *_gru *_thnn_* quantized_*_cell"
    ),
    "loss": (
        "binary_cross_entropy* cosine_embedding_loss cross_entropy_loss ctc_loss *_ctc_loss "
        "hinge_embedding_loss huber_loss kl_div l1_loss margin_ranking_loss mse_loss "
        "multi_margin_loss multilabel_margin_loss* nll_loss* poisson_nll_loss smooth_l1_loss "
        "soft_margin_loss triplet_margin_loss"
    ),
    "optimizer": "_fused_adam* _fused_sgd* _fused_adagrad* _amp_*",
    "foreach": "_foreach_*",
    "image": "upsample_* _upsample*",
    "quantization": (
        "choose_qparams* dequantize empty_quantized fake_quantize* fbgemm* int_repr q_* qscheme "
        "quantize* quantized_* fake_quant* *weight_int* _weight_* _scaled_mm* _empty_*quantized"
    ),
    "sparse": (
        "ccol_indices coalesce col_indices copy_sparse_to_sparse crow_indices dense_dim hspmm "
        "indices is_coalesced resize_as_sparse row_indices smm sparse_* sspaddmm to_sparse* "
        "values _sparse* _coalesce* _to_sparse* _convert_indices* _spdiags _csr* _nnz _indices "
        "_values"
    ),
    "nested": "nested_* to_padded_tensor _nested* _*jagged* _is_any_true _is_all_true",
    "fft": "fft_* stft istft _fft*",
    "window": "bartlett_window blackman_window hamming_window hann_window kaiser_window",
    "random": (
        "bernoulli binomial cauchy exponential geometric log_normal multinomial normal "
        "normal_functional poisson rand rand_like randint randint_like randn randn_like random "
        "randperm uniform _standard_gamma _sample_dirichlet _dirichlet*"
    ),
    "gemm": (
        "addbmm addmm addmv addr baddbmm bmm chain_matmul dot einsum ger inner matmul mm mv "
        "outer tensordot vdot linalg_matmul linalg_multi_dot linalg_vecdot _addmm* *_grouped_mm* "
        "_int_mm"
    ),
    "linalg": (
        "cdist cholesky* cov corrcoef cross det dist frobenius_norm geqrf inverse kron linalg_* "
        "logdet lu_* matrix_* nuclear_norm orgqr ormqr pairwise_distance pdist pinverse qr "
        "slogdet svd trace triangular_solve norm native_norm _cdist* _pdist* _linalg* "
        "_euclidean_dist"
    ),
    "sorting": (
        "argmax argmin argsort bucketize kthvalue median mode msort nanmedian searchsorted sort "
        "topk quantile nanquantile"
    ),
    "set": "isin unique* _unique*",
    "statistics": "bincount histc histogram histogramdd _histogramdd*",
    "cumulative": (
        "cummax cummaxmin cummin cumprod cumsum cumulative_trapezoid diff gradient logcumsumexp "
        "trapezoid trapz _logcumsumexp _cummax* _cummin*"
    ),
    "reduction": (
        "allclose equal is_same_size hash_tensor nanmean segment_reduce special_logsumexp "
        "sum_to_size value_selecting_reduction std* var* logsumexp aminmax max min amax amin "
        "all any mean sum prod nansum count_nonzero"
    ),
    "indexing": (
        "argwhere embedding_renorm fill gather index* masked_* nonzero* one_hot put scatter* "
        "select_scatter slice_scatter diagonal_scatter as_strided_scatter take take_along_dim "
        "tril_indices triu_indices where unfold_backward"
    ),
    "joining": (
        "block_diag broadcast_tensors cartesian_prod cat column_stack combinations concat "
        "concatenate dstack hstack meshgrid pad_sequence row_stack stack vstack "
        "flatten_dense_tensors unflatten_dense_tensors"
    ),
    "splitting": (
        "chunk dsplit hsplit split split_with_sizes tensor_split unbind unsafe_chunk "
        "unsafe_split unsafe_split_with_sizes vsplit"
    ),
    "creation": (
        "arange complex empty empty_like empty_permuted empty_strided eye fft_fftfreq "
        "fft_rfftfreq from_file full full_like linspace logspace new_* ones ones_like polar "
        "range scalar_tensor vander zero zeros zeros_like _efficientzerotensor"
    ),
    "conversion": (
        "chalf clone contiguous copy lift lift_fresh* pin_memory resolve_conj resolve_neg to "
        "to_dense to_mkldnn type_as _to_copy _to_dense _reshape_from_tensor _shape_as_tensor "
        "_cast_*"
    ),
    "shape": (
        "atleast_* broadcast_to constant_pad_nd detach diag diag_embed diagflat diagonal "
        "expand* flip fliplr flipud movedim narrow *_pad1d *_pad2d *_pad3d pad permute repeat "
        "repeat_interleave reshape* resize* roll rot90 slice slice_inverse squeeze tile "
        "transpose tril triu unflatten unfold unsqueeze view* set select _unsafe_view "
        "as_strided t adjoint alias"
    ),
    "query": (
        "cudnn_is_acceptable data dim get_device get_gradients is_* item numel output_nr "
        "retains_grad size storage_offset stride sym_* result_type can_cast promote_types"
    ),
}
"""Category and globs of the names, without a suffix, that are in it; the first match counts."""

SUFFIXES = re.compile(
    r"(_double)?(_backward|_copy|_overrideable|_reduce|_elemt|_jvp|_cachemask|_input|_weights)+$|_$"
)
"""Ends of the names of derivatives, copies and in-place forms, of their base's category."""

UNARY, BINARY = "unary", "binary"

POINTWISE, REDUCTION = "pointwise", "reduction"
"""PyTorch's tags."""

OTHER = "misc"
"""The category of an operator that no rule knows, as a newer PyTorch may have."""

BY_OPERATOR: Mapping[str, Callable[[Operator], bool]] = {
    REDUCTION: lambda operator: REDUCTION in operator.tags,
    BINARY: lambda operator: POINTWISE in operator.tags and len(_operands(operator)) > 1,
    UNARY: lambda operator: POINTWISE in operator.tags,
    "linalg": lambda operator: operator.name.startswith("linalg_"),
}
"""Categories of operators that no name decides; the first match counts."""

POINTWISE_NAMES: Mapping[str, str] = {
    BINARY: (
        "arctan2 divide floor_divide greater greater_equal less less_equal multiply not_equal "
        "subtract special_gammainc special_gammaincc special_xlogy isclose special_zeta rsub "
        "true_divide infinitely_differentiable*"
    ),
    UNARY: (
        "absolute arccos arccosh arcsin arcsinh arctan arctanh conj fix imag isreal negative "
        "real special_* isnan isfinite isinf hardswish"
    ),
}
"""Elementwise operators without PyTorch's tag."""


def _operands(operator: Operator) -> list[str]:
    return [
        parameter.name
        for parameter in operator.parameters
        if parameter.required
        and parameter.kind in (Kind.TENSOR, Kind.FLOAT)
        and parameter.name not in RESULTS
    ]


RESULTS = ("out", "grad_input")
"""Names of the tensors that operators only write their results to."""


def _by_name(name: str, table: Mapping[str, str]) -> str:
    return next(
        (category for category, globs in table.items() if _expression(globs).match(name)), ""
    )


@functools.cache
def _expression(globs: str) -> re.Pattern[str]:
    """Returns one expression of several globs: thousands of names are compared with hundreds."""
    return re.compile("|".join(map(fnmatch.translate, globs.split())))


PRODUCERS = frozenset({"gemm", "convolution", "transpose_convolution", "pooling", "reduction"})
"""Categories of products, convolutions and reductions: an elementwise call of what one returns can
be computed with it."""

NORMALISING = "*norm *_norm_with_update *softmax *softmax_data"
"""Globs of the names of others that reduce their inputs."""


def is_producer(name: str) -> bool:
    """Whether an operator is a product, a convolution or a reduction, by its name."""
    plain = SUFFIXES.sub("", name)
    category = _by_name(name, NAMES) or _by_name(plain, NAMES)
    return category in PRODUCERS or bool(_expression(NORMALISING).match(plain))


def category_of(operator: Operator, schema: Any) -> str:
    """Returns the category of an operator."""
    name = operator.name.rpartition(".")[2]
    for candidate in (name, SUFFIXES.sub("", name)):
        found = _by_name(candidate, NAMES) or _by_name(candidate, POINTWISE_NAMES)
        if found:
            return found
    for category, holds in BY_OPERATOR.items():
        if holds(operator):
            return category
    return "shape" if schemas.is_view(schema) else OTHER
