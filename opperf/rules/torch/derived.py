"""Forms of configurations of PyTorch's operators: in bfloat16, with channels last, and of views."""

from __future__ import annotations

from opperf.rules import configurations
from opperf.rules.configurations import DEPTHWISE, ENLARGED, MAPS, POINTWISE, ROWS, TOKENS
from opperf.rules.deriving import in_dtype, in_layout
from opperf.rules.registering import Families
from opperf.rules.torch.decoding import DECODE
from opperf.rules.torch.operations.convolutions import channels_last
from opperf.rules.torch.padding import FIXED
from opperf.rules.values import every_other_column, transposed

FAMILIES = Families()

IN_BFLOAT16 = in_dtype("bfloat16")
for _names in (
    "mm.default addmm.default bmm.default baddbmm.default matmul scaled_dot_product_attention",
    "layer_norm native_layer_norm native_layer_norm_backward rms_norm group_norm native_group_norm",
    "softmax.int _softmax _log_softmax _softmax_backward_data _log_softmax_backward_data",
    "cross_entropy_loss gelu.default gelu_backward silu.default silu_backward",
    "relu.default threshold_backward sigmoid.default tanh.default glu.default add.Tensor",
    "mul.Tensor sub.Tensor div.Tensor neg.default rsqrt.default exp.default cos.default",
    "sin.default pow.Tensor_Scalar where.self masked_fill.Scalar native_dropout topk",
    "convolution convolution_backward max_pool2d batch_norm native_batch_norm",
    "upsample_nearest2d.default embedding.default embedding_dense_backward index_select.default",
    "gather.default cat.default clone.default copy_ index_put.default index_copy.default",
    "slice_scatter",
    "mean.default sum.default",
):
    FAMILIES.derive(IN_BFLOAT16, _names)
FAMILIES.derive(IN_BFLOAT16, "argmax.default log_softmax.int logsumexp.default", DECODE)
FAMILIES.derive(IN_BFLOAT16, "linear.default", TOKENS)
FAMILIES.derive(IN_BFLOAT16, "mean.dim sum.dim_IntList amax cumsum.default", ROWS)
FAMILIES.derive(IN_BFLOAT16, "conv2d.default", POINTWISE)

LAST = in_layout("channels last in memory", channels_last, configurations.CHANNELS_LAST)
SCALED = [f"upsample_{mode}2d" for mode in ("nearest", "bilinear", "bicubic")]
BORDERS = [f"{mode}_pad{axes}d" for mode in FIXED for axes in (2, 3)]
for _names in (
    "max_pool2d avg_pool2d.default max_pool2d_with_indices.default avg_pool2d_backward.default",
    "max_pool2d_with_indices_backward.default constant_pad_nd pad channel_shuffle flip",
    "native_channel_shuffle cat.default adaptive_max_pool2d group_norm",
    "native_group_norm native_batch_norm_backward.default",
    *SCALED,
    *(f"{name}_backward" for name in SCALED),
):
    FAMILIES.derive(LAST, _names)
FAMILIES.derive(LAST, "conv2d.default convolution.default", DEPTHWISE)
FAMILIES.derive(LAST, "convolution.default conv_transpose2d", ENLARGED)
FAMILIES.derive(
    LAST, "conv2d.default convolution.default conv3d.default convolution_backward.default", MAPS
)
FAMILIES.derive(LAST, "adaptive_avg_pool2d", MAPS, each=True)
for _name in BORDERS:
    FAMILIES.derive(LAST, f"{_name} {_name}_backward", MAPS)

SPREAD = in_layout("of x[:, ::2]", every_other_column)
FAMILIES.derive(
    SPREAD,
    "abs cos exp neg rsqrt sigmoid sin sqrt tanh relu gelu silu clamp.default erf "
    "add.Tensor div.Tensor lt.Tensor maximum mul.Tensor sub.Tensor",
)

# Rows of x.T are columns of x, but for what is written in the order of x.T.
FAMILIES.derive(
    SPREAD,
    "all.dim amax argmax argmin max.dim mean.dim min.dim nansum prod.dim_int std.correction "
    "sum.dim_IntList var.correction",
    ROWS,
)
TURNED = in_layout("of x.T", transposed)
FAMILIES.derive(TURNED, "cummax cumprod cumsum logcumsumexp", ROWS)
