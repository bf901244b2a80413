"""Operators of PyTorch that models run in bfloat16 on a CPU, each with a configuration in it beside
those in the requested dtype: layers of language and vision models, forward and backward, and what
moves their tensors."""

from __future__ import annotations

from opperf.rules.registering import Families

FAMILIES = Families()

PRODUCTS = "mm.default addmm.default bmm.default baddbmm.default matmul linear.default"
ATTENTION = "scaled_dot_product_attention"
NORMALISATION = (
    "layer_norm native_layer_norm native_layer_norm_backward rms_norm group_norm native_group_norm"
)
SOFTMAX = (
    "softmax.int _softmax log_softmax.int _log_softmax _softmax_backward_data "
    "_log_softmax_backward_data cross_entropy_loss logsumexp"
)
ACTIVATIONS = (
    "gelu.default gelu_backward silu.default silu_backward relu.default sigmoid.default "
    "tanh.default glu.default"
)
ELEMENTWISE = (
    "add.Tensor mul.Tensor sub.Tensor div.Tensor neg.default rsqrt.default exp.default cos.default "
    "sin.default pow.Tensor_Scalar where.self masked_fill.Scalar native_dropout"
)
REDUCTIONS = "mean.dim sum.dim_IntList amax argmax.default topk cumsum.default"
CONVOLUTION = (
    "conv2d.default convolution convolution_backward max_pool2d upsample_nearest2d.default"
)
MEMORY = (
    "embedding.default embedding_dense_backward index_select.default gather.default cat.default "
    "clone.default copy_ index_put.default index_copy.default slice_scatter"
)

FAMILIES.repeat(
    "bfloat16",
    dict.fromkeys(
        " ".join(
            (
                PRODUCTS,
                ATTENTION,
                NORMALISATION,
                SOFTMAX,
                ACTIVATIONS,
                ELEMENTWISE,
                REDUCTIONS,
                CONVOLUTION,
                MEMORY,
            )
        ).split(),
        "",
    )
    | {"linear.default": "BERT-base", "conv2d.default": "ResNet-50, stage"},
)
