"""Families of namespace `onednn`, to which PyTorch's compiler lowers quantised models on a CPU."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from opperf.model import Fill, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.image_shapes import feature_maps
from opperf.rules.registering import Families, Rows
from opperf.rules.sizes import Preset
from opperf.rules.torch.quantization import EIGHT, layers
from opperf.rules.torch.quantized_layers import LAST, MIDDLE, ONCE, maps, parameters, real
from opperf.rules.values import OPEN_UNIT, ZEROS, Arguments, below, between, call, fixed, literal
from opperf.rules.variants import Variants, add_offered

FAMILIES = Families()

SCALE = 0.05
"""Step of activations: eight bits reach 6 on each side of zero."""
SCALES = between(0.002, 0.004)
"""Steps of weights: sums of some hundred products reach about 64 on each side of zero."""
SUMS = 0.5
"""Step of such sums."""
BYTES, HALF_BYTES = below(256), below(128)
"""Unsigned numbers of eight bits, and of seven: PyTorch 2.13 adds larger ones as negative."""
RESULT = "uint8"

OF_RESULT: Arguments = {
    **dict.fromkeys(("output_scale", "other_scale", "accum_scale"), SUMS),
    **dict.fromkeys(("output_zero_point", "other_zp", "accum_zero_point"), MIDDLE),
    "output_dtype": RESULT,
}
AFTERWARDS: Arguments = {
    **dict.fromkeys(("post_op_name", "attr", "unary_post_op"), "none"),
    **dict.fromkeys(("post_op_args", "scalars", "unary_post_op_args", "unary_scalars"), ()),
    **dict.fromkeys(("post_op_algorithm", "algorithm"), ""),
    **dict.fromkeys(("unary_post_op_algorithm", "unary_algorithm"), ""),
    **{"binary_post_op": "add", "binary_alpha": 1.0},
    **{"binary_attr": "sum", "alpha": 1.0, "unary_attr": "relu"},
}
"""Operations on a layer's results: nothing, the sum with others, a ReLU of the sum."""


def _activations(*shape: int, order: str = "") -> TensorSpec:
    return TensorSpec(shape, "uint8", BYTES, memory_format=order)


def weights(layout: str, *shape: int) -> TensorSpec:
    """Quantised weights."""
    return TensorSpec(shape, "int8", EIGHT, layout=layout)


def _of_channels(count: int) -> Arguments:
    return {
        "w_scale": parameters(count, SCALES),
        "w_zero_point": fixed(count, fill=ZEROS, dtype="int64"),
        "bias": parameters(count, Fill()),
    }


def of_inputs(by_tensor: bool) -> Arguments:
    """The scale and zero point of a layer's inputs, as numbers or as tensors."""
    if by_tensor:
        scale = fixed(fill=literal(SCALE), dtype="float32")
        return {"x_scale": scale, "x_zero_point": fixed(fill=literal(MIDDLE), dtype="int32")}
    return {"x_scale": SCALE, "x_zero_point": MIDDLE}


def dense(size: Preset, by_tensor: bool = False) -> Iterable[Arguments]:
    """A dense layer's tokens and weights, which may be in half precision."""
    for tokens, inputs, outputs, why in layers(size):
        yield {
            **{"qx": _activations(tokens, inputs), "qw": weights("onednn_linear", outputs, inputs)},
            "x": real(tokens, inputs),
            "w": TensorSpec((outputs, inputs), layout="onednn_linear_fp16"),
            **{"other": _activations(tokens, outputs), **_of_channels(outputs)},
            **{**of_inputs(by_tensor), **OF_RESULT, **AFTERWARDS, WHY: why},
        }


def _weights_of_dense(size: Preset, is_half: bool) -> Rows:
    _, inputs, outputs, _ = next(iter(layers(size)))
    weight = real(outputs, inputs) if is_half else weights("dense", outputs, inputs)
    return {ONCE: call(weight=weight)}


def convolution(
    size: Preset, axes: int, by_tensor: bool = False, layout: str = "onednn_conv"
) -> Iterable[Arguments]:
    """A convolution's data and weights of three elements along each axis."""
    shape, why = maps(size, axes)
    channels = shape[1]
    order = LAST.get(axes, "")
    weight = weights(layout, channels, channels, *(3,) * axes)
    yield {
        **{"qx": _activations(*shape, order=order), "qw": weight, "weight": weight},
        **{"qaccum": _activations(*shape, order=order), **_of_channels(channels)},
        **{"w_scales": parameters(channels, SCALES), "x_zp": MIDDLE, **of_inputs(by_tensor)},
        **dict.fromkeys(("stride", "padding", "dilation"), (1,) * axes),
        **{"groups": 1, **OF_RESULT, **AFTERWARDS, WHY: why},
    }


def elementwise(size: Preset, scale: float) -> Iterable[Arguments]:
    """Feature maps, and as many others."""
    data = TensorSpec(feature_maps(size), "uint8", HALF_BYTES, memory_format=LAST[2])
    yield {
        **dict.fromkeys(("self", "other"), data),
        **dict.fromkeys(("self_scale", "other_scale"), SCALE),
        **dict.fromkeys(("self_zero_point", "other_zero_point"), MIDDLE // 2),
        **{"output_scale": scale, "output_zero_point": MIDDLE, "output_dtype": RESULT},
        WHY: "ResNet's first stage, channels last",
    }


def normalised(size: Preset) -> Iterable[Arguments]:
    """Feature maps, with a scale, a shift, and statistics of each channel."""
    data = _activations(*feature_maps(size), order=LAST[2])
    channels = data.shape[1]
    scale = parameters(channels)
    yield {
        **{"qx": data, "weight": scale, "bias": parameters(channels, Fill()), "var": scale},
        **{"mean": parameters(channels, OPEN_UNIT), "eps": 1e-5, "output_dtype": RESULT},
        **{"qx_scale": SCALE, "qx_zero_point": MIDDLE},
        # Inputs are spread evenly up to 6, and a scale may double them.
        **{"output_scale": 2 * SCALE, "output_zero_point": MIDDLE},
        WHY: "ResNet's first stage, channels last",
    }


MAPS = partial(convolution, axes=2)
BY_TENSOR = partial(MAPS, by_tensor=True)

BY_NAME: dict[str, Variants] = {
    "linear_prepack_fp16": partial(_weights_of_dense, is_half=True),
    **dict.fromkeys(("qadd.tensor", "qadd_relu.tensor"), partial(elementwise, scale=SCALE)),
    # Products of numbers up to 3.2.
    "qmul.tensor": partial(elementwise, scale=1.6 * SCALE),
    "qbatch_norm2d": normalised,
    "qconv1d_pointwise": partial(convolution, axes=1),
    **dict.fromkeys(("qconv_pointwise.default", "qconv2d_pointwise.default"), MAPS),
    "qconv2d_pointwise.binary": MAPS,
    **dict.fromkeys(("qconv_pointwise.tensor", "qconv2d_pointwise.tensor"), BY_TENSOR),
    "qconv2d_pointwise.binary_tensor": BY_TENSOR,
    "qconv3d_pointwise": partial(convolution, axes=3),
    "qconv_prepack": partial(MAPS, layout="dense"),
    **dict.fromkeys(("linear_dynamic_fp16", "linear_relu_dynamic_fp16"), dense),
    **dict.fromkeys(("qlinear_pointwise.default", "qlinear_pointwise.binary"), dense),
    "qlinear_pointwise.tensor": partial(dense, by_tensor=True),
    "qlinear_pointwise.binary_tensor": partial(dense, by_tensor=True),
    "qlinear_prepack": partial(_weights_of_dense, is_half=False),
}
"""Configurations by the operator's name in its namespace."""

add_offered(FAMILIES.add, {f"onednn::{name}": made for name, made in BY_NAME.items()})
