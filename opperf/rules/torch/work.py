"""The operations and bytes of PyTorch's operators without a canonical operation, as gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping

from opperf.operations.work.layers import NORM_BACKWARD_FLOPS
from opperf.operations.work.sizes import (
    COMPUTED,
    COPY,
    CREATION,
    ELEMENTWISE,
    REDUCTION,
    UNWRITTEN,
    Formula,
    Sizes,
    listed,
    nothing,
    per_element,
    per_result,
)
from opperf.operations.work.table import FORMULAS


def _updates(call: Sizes) -> float:
    """A new value of each weight and of each of its states, which are lists too."""
    states = ("exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs", "momentum_buffer_list", "state_sums")
    lists = [call.get(role, ()) for role in ("self", *states)]
    return float(sum(array.size for arrays in lists for array in arrays if array.size > 1))


def _convolution_backward(call: Sizes) -> float:
    """As PyTorch's counter: a product of the forward's size for each gradient, the bias's sum."""
    data, weight, bias = call.get("output_mask")
    maps = call.size("input") if call.get("transposed") else call.size("grad_output")
    product = 2.0 * maps * math.prod(call.shape("weight")[1:])
    return product * (int(data) + int(weight)) + call.size("grad_output") * bool(bias)


ATTENTION = FORMULAS["attention"]

CLASSES: tuple[tuple[Formula, str], ...] = (
    (FORMULAS["softmax"], "_softmax _log_softmax _safe_softmax _masked_softmax"),
    (
        Formula(per_result(4), nothing),
        "_softmax_backward_data _log_softmax_backward_data _masked_softmax_backward",
    ),
    (
        Formula(lambda call: NORM_BACKWARD_FLOPS * float(call.size("input")), nothing),
        "native_layer_norm_backward native_group_norm_backward native_batch_norm_backward "
        "batch_norm_backward _fused_rms_norm_backward",
    ),
    (
        ELEMENTWISE,
        "nll_loss_backward nll_loss2d_backward mse_loss_backward huber_loss_backward "
        "smooth_l1_loss_backward soft_margin_loss_backward binary_cross_entropy_backward "
        "multi_margin_loss_backward multilabel_margin_loss_backward native_dropout_backward "
        "native_dropout _prelu_kernel _prelu_kernel_backward nextafter _add_relu "
        "_fused_dropout _masked_scale embedding_sparse_backward _conj_physical "
        "_adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward",
    ),
    (
        Formula(lambda x: x.size("grad_output") * math.prod(listed(x.get("kernel_size"))), nothing),
        "avg_pool2d_backward avg_pool3d_backward",
    ),
    (
        Formula(per_element("grad_output"), nothing),
        "embedding_dense_backward embedding_backward "
        "max_pool2d_with_indices_backward max_pool3d_with_indices_backward "
        "fractional_max_pool2d_backward fractional_max_pool3d_backward "
        "adaptive_max_pool2d_backward adaptive_max_pool3d_backward",
    ),
    (REDUCTION, "_adaptive_avg_pool2d _adaptive_avg_pool3d native_norm norm hash_tensor"),
    (
        COPY,
        "_unsafe_view _to_copy select_backward slice_backward diagonal_backward unfold_backward "
        "trace_backward to_dense chalf _reshape_copy _pin_memory _copy_from "
        "_index_put_impl_ _pad_circular _pad_enum constant_pad_nd copy clone contiguous "
        "to_padded_tensor nested_to_padded_tensor _nested_from_padded",
    ),
    (CREATION._replace(bytes=lambda x: x.bytes("self")), "item _local_scalar_dense is_nonzero"),
    (
        UNWRITTEN,
        "empty empty_like empty_permuted empty_quantized empty_strided new_empty "
        "new_empty_strided is_same_size",
    ),
    (CREATION, "_efficientzerotensor new_zeros new_ones new_full scalar_tensor"),
    (
        ATTENTION,
        "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention "
        "_scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention "
        "_scaled_dot_product_attention_math",
    ),
    (
        Formula(lambda call: 2.5 * ATTENTION.flops(call)),
        "_scaled_dot_product_flash_attention_for_cpu_backward "
        "_scaled_dot_product_flash_attention_backward "
        "_scaled_dot_product_efficient_attention_backward "
        "_scaled_dot_product_cudnn_attention_backward",
    ),
    (Formula(_convolution_backward), "convolution_backward"),
    (Formula(_updates, nothing), "_fused_adam_ _fused_adamw_ _fused_sgd_ _fused_adagrad_"),
    (COMPUTED, "normal_"),
    # Gamma's and Dirichlet's parameters are arrays that are read.
    (ELEMENTWISE._replace(backward=nothing), "_standard_gamma _sample_dirichlet"),
)
"""Formulas with the names of operators, of all overloads."""

WORK: Mapping[str, Formula] = {
    name: formula for formula, names in CLASSES for name in names.split()
}
"""Formulas by the names of operators."""
