"""Families of PyTorch's operators on quantised activations, of namespace `quantized`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from opperf.model import Fill
from opperf.operations.uses import ANYTHING, Array, Table, use
from opperf.rules.bert import UNITS, WIDTH, scores
from opperf.rules.configurations import WHY
from opperf.rules.image_shapes import feature_maps, network_maps
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import Shape, square
from opperf.rules.sizes import Preset
from opperf.rules.torch.quantized_layers import (
    LAST,
    MIDDLE,
    RESULT,
    SCALE,
    activations,
    centred,
    parameters,
)
from opperf.rules.values import OPEN_UNIT, Arguments, call, fixed, literal
from opperf.rules.variants import Variants, add_offered

ENDS = {"qint8": (-128, 127), "quint8": (0, 255)}
"""Ranges of quantised dtypes."""

ONE_SCALE = "x=self scale zero_point low=quant_min high=quant_max"


def to_dtype(
    self: Array, dtype: str, scale: Any = None, zero_point: Any = None, **several: Any
) -> dict[str, Any]:
    """A tensor, and the range of the dtype that it is quantised to, with one scale or several."""
    low, high = ENDS[dtype]
    made = {"x": self, "low": low, "high": high}
    if scale is not None:
        return {**made, "scale": scale, "zero_point": zero_point}
    scales, zeros = several["scales"], several["zero_points"]
    return {**made, "scale": scales, "zero_point": zeros, "axis": several["axis"]}


ROUNDED = use("fake_quantize", ONE_SCALE)
BY_CHANNEL = use("fake_quantize", f"{ONE_SCALE} axis")
MASKED = use("multiply", "x=grad y=mask")
QUANTISED = use("fake_quantize", to_dtype)


def _mask(made: Array, arguments: Any) -> tuple[Array, object]:
    return made, ANYTHING


OPERATIONS: Table = {
    "fake_quantize_per_channel_affine": BY_CHANNEL,
    "fake_quantize_per_channel_affine_cachemask": use("fake_quantize", f"{ONE_SCALE} axis", _mask),
    "fake_quantize_per_channel_affine_cachemask_backward": MASKED,
    "fake_quantize_per_tensor_affine": ROUNDED,
    "fake_quantize_per_tensor_affine_cachemask": use("fake_quantize", ONE_SCALE, _mask),
    "fake_quantize_per_tensor_affine_cachemask_backward": MASKED,
    "quantize_per_channel": QUANTISED,
    "quantize_per_tensor.default": QUANTISED,
    "quantize_per_tensor.tensor_qparams": QUANTISED,
}


FAMILIES = Families()

NEAR: Arguments = {
    **dict.fromkeys(("scale", "output_scale"), SCALE),
    **dict.fromkeys(("zero_point", "output_zero_point"), MIDDLE),
}
"""The same range as that of the activations."""
SHARES: Arguments = {"output_scale": 2.0**-8, "output_zero_point": 0}
"""Range of results from zero to one."""


def elementwise(
    size: Preset, result: Arguments = NEAR, number: bool = False
) -> Iterable[Arguments]:
    """Activations, and further ones or a number, which may be a tensor."""
    for shape, order, why in (
        (feature_maps(size), LAST[2], "ResNet's first stage, channels last"),
        (square(size), "", "a wide layer's activations"),
    ):
        data = centred(*shape, order=order)
        yield {
            **dict.fromkeys(("qa", "qb", "qx", "self", "input", "out"), data),
            **{"b": fixed(fill=literal(1.5), dtype="float32") if number else 1.5},
            **{"min": 0.0, "max": 6.0, "alpha": 1.0, "negative_slope": 0.1, "inplace": False},
            **{"threshold": 0.5, "value": 0.0, "p": 0.5, "training": False},
            **{**result, WHY: why},
        }


def normalised(size: Preset, extents: Shape) -> Iterable[Arguments]:
    """Feature maps with a scale, a shift, and statistics of each channel."""
    shape = network_maps(size, 64, *extents)
    channels = shape[1]
    data = centred(*shape, order=LAST.get(len(extents), ""))
    scale = parameters(channels)
    yield {
        **{"qx": data, "input": data, "weight": scale, "bias": parameters(channels, Fill())},
        **{"mean": parameters(channels, OPEN_UNIT), "var": scale, "eps": 1e-5},
        **{"num_groups": 8, **NEAR},
        WHY: f"64 channels of {' x '.join(map(str, extents))} at the default size",
    }


def pooled(size: Preset, *extents: int) -> Rows:
    """Activations behind a ReLU, of which windows have a maximum."""
    axes = len(extents)
    sizes = {"kernel_size": 3, "stride": 2, "padding": 1, "dilation": 1}
    return {
        "ResNet, after the first layer" if axes == 2 else "64 channels over time, halved": call(
            qx=activations(*network_maps(size, 64, *extents), order=LAST.get(axes, "")),
            ceil_mode=False,
            **{name: (value,) * axes for name, value in sizes.items()},
        )
    }


def _joined(size: Preset) -> Rows:
    samples, channels, *extents = feature_maps(size)
    data = centred(samples, channels, *extents, order=LAST[2])
    out = centred(samples, 2 * channels, *extents, order=LAST[2])
    return {"maps beside earlier ones": call(qx=(data, data), dim=1, out=out, **NEAR)}


SIDES = (1600,), (56, 56), (16, 56, 56)
"""Extents of the maps that are normalised, by the number of axes."""

NORMS: dict[str, Variants] = {
    f"batch_norm{name}{relu}": partial(normalised, extents=extents)
    for name, extents in {"1d": SIDES[0], "2d": SIDES[1], "3d": SIDES[2], "": SIDES[1]}.items()
    for relu in ("", "_relu")
}

SUFFIXES = ("", "_out", "_relu", "_relu_out")
"""Ends of names of operators that write to an output, or set negative results to zero."""
ARITHMETIC, BY_NUMBER = (
    tuple(f"{name}{kind}{end}" for name in ("add", "mul") for end in SUFFIXES)
    for kind in ("", "_scalar")
)
NAMES = (*("celu", "clamp", "dropout", "elu", "hardswish", "leaky_relu", "relu6", "threshold"),)

BY_NAME: dict[str, Variants] = {
    **dict.fromkeys((*ARITHMETIC, *BY_NUMBER, *NAMES), elementwise),
    **{f"{name}.Tensor": partial(elementwise, number=True) for name in BY_NUMBER},
    "sigmoid": partial(elementwise, result=SHARES),
    **dict.fromkeys(("cat", "cat_relu", "cat_out", "cat_relu_out"), _joined),
    **NORMS,
    **dict.fromkeys(("group_norm", "instance_norm"), NORMS["batch_norm2d"]),
    "layer_norm": lambda size: {
        "a sentence's tokens of BERT-base's width": call(
            input=centred(size.extent(128), width := size.extent(UNITS)),
            normalized_shape=(width,),
            eps=1e-5,
            weight=parameters(width),
            bias=parameters(width, Fill()),
            **NEAR,
        )
    },
    "softmax": lambda size: {"BERT-base scores": call(qx=centred(*scores(size)), dim=-1, **SHARES)},
    "matmul": lambda size: {
        "BERT-base, values by the weights of attention": call(
            qa=activations(*scores(size)), qb=centred(*scores(size)[:3], WIDTH), **RESULT
        )
    },
    "max_pool1d": lambda size: pooled(size, 1600),
    "max_pool2d": lambda size: pooled(size, 112, 112),
    "prelu": lambda size: {
        "maps with a slope of each channel below zero": call(
            qx=centred(*(shape := feature_maps(size))), weight=activations(shape[1]), **NEAR
        )
    },
}
"""Configurations by the operator's name in its namespace."""

add_offered(FAMILIES.add, {f"quantized::{name}": made for name, made in BY_NAME.items()})
