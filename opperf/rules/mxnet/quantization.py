"""Quantisation to 8 bits and back, and layers of 8-bit numbers, whose dtype rules fix."""

from __future__ import annotations

import math

from opperf.model import Fill, Operator, TensorSpec
from opperf.rules.bert import FEED_FORWARD, few_sentences
from opperf.rules.configurations import WHY
from opperf.rules.families.layers import outputs
from opperf.rules.image_shapes import network_maps
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import Shape, cube, square
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    NORMAL,
    POSITIVE,
    Arguments,
    below,
    between,
    call,
    fixed,
    literal,
    tensors,
)
from opperf.rules.variants import Row, Variants, add_rows

FAMILIES = Families()

CLASSIFIER = "ResNet-50, its classifier of a batch"
WIDENING = "BERT-base, feed-forward block, widening tokens"

FLOAT, WIDE, SIGNED, UNSIGNED = "float32", "int32", "int8", "uint8"
"""Dtypes of numbers that are not quantised, of sums of products, and of quantised numbers."""

LIMIT = 4.0
"""Quantised numbers represent the range [-LIMIT, LIMIT]."""

RANGE = between(-LIMIT, LIMIT)

SUM = 2**20
"""Bound of sums of some 64 products of 8-bit numbers, those of a layer."""
SUM_LIMIT = LIMIT * 2**31 / SUM
"""End of the range of all numbers of `WIDE`, where the sum `SUM` represents `LIMIT`."""

LOWEST = {SIGNED: -LIMIT, UNSIGNED: 0.0}
"""Lower end of the range, by dtype: unsigned numbers represent no negative ones."""

DIGITS = {SIGNED: below(128, start=-127), UNSIGNED: below(256), WIDE: below(SUM, start=-SUM)}
"""Integers that represent the range, by dtype."""


def _tokens(size: Preset) -> Shape:
    *tokens, width = few_sentences(size)
    return (math.prod(tokens), width)


def real(*shape: int) -> TensorSpec:
    """Numbers of the range to quantise."""
    return fixed(*shape, fill=RANGE, dtype=FLOAT)


def end(value: float) -> TensorSpec:
    """One end of a range, as a tensor of one element."""
    return fixed(1, fill=Fill("constant", value), dtype=FLOAT)


def ends(low: str, high: str, dtype: str = SIGNED) -> Arguments:
    """Both ends of the range of quantised numbers, as arguments of these names."""
    return {low: end(LOWEST[dtype]), high: end(LIMIT)}


def digits(*shape: int, dtype: str = SIGNED) -> TensorSpec:
    """A tensor of quantised numbers."""
    return fixed(*shape, fill=DIGITS[dtype], dtype=dtype)


def feature_maps(size: Preset) -> Shape:
    """Shape of feature maps, whose channels are a multiple of 16, as 8-bit instructions require."""
    return (size.images, 64, size.side(56), size.side(56))


CALIBRATED: Arguments = {"min_calib_range": -LIMIT, "max_calib_range": LIMIT}


def channels(size: Preset, fill: Fill = NORMAL) -> TensorSpec:
    """A number for each channel of feature maps."""
    return fixed(feature_maps(size)[1], fill=fill, dtype=FLOAT)


@FAMILIES.add("quantized_reshape", "_npx_quantized_reshape")
def reshape(operator: Operator, size: Preset) -> Rows:
    """A matrix, reshaped to a vector."""
    name = "newshape" if operator.parameter("newshape") else "shape"
    made = call(data=digits(*square(size)), **ends("min_data", "max_data"), **{name: (-1,)})
    return {"a matrix as a vector: a copy with its range": made}


def prepared(size: Preset, name: str) -> Arguments:
    """A matrix that is quantised; weights are also arranged for the processor."""
    why = "data or weights of a wide layer, before a product of 8-bit numbers"
    return {WHY: why, name: real(*square(size)), "maxabs": end(LIMIT)}


def histogram(size: Preset) -> Arguments:
    """A histogram of activations, with an odd number of bins, as calibration makes it."""
    bins = 2 * size.extent(4000, least=256) + 1
    edges = tuple(LIMIT * (2 * i / bins - 1) for i in range(bins + 1))
    return {
        WHY: "a histogram of activations, for the threshold that loses least information",
        "hist": fixed(bins, fill=below(1000, start=1), dtype=FLOAT),
        "hist_edges": fixed(bins + 1, fill=literal(edges), dtype=FLOAT),
        "num_quantized_bins": 255,
    }


def recurrent(size: Preset) -> Arguments:
    """One layer of an LSTM, as wide as its input, of unsigned numbers."""
    steps, batch, width = cube(size)
    gates = 4
    weights = gates * width * (2 * width) + 2 * gates * width
    state = fixed(1, batch, width, fill=Fill("constant", 0.0), dtype=FLOAT)
    return {
        WHY: "a layer of an LSTM that predicts, as wide as its input, on unsigned numbers",
        "data": digits(steps, batch, width, dtype=UNSIGNED),
        "parameters": fixed(weights, fill=between(-0.1, 0.1), dtype=FLOAT),
        "state": state,
        "state_cell": state,
        # The quantised number is a number times the scale, plus the shift.
        "data_scale": end(127.5 / LIMIT),
        "data_shift": end(128.0),
        "state_size": width,
        "num_layers": 1,
        "mode": "lstm",
    }


ROWS: dict[str, Row] = {
    "_contrib_calibrate_entropy": histogram,
    "_contrib_quantized_rnn": recurrent,
    "_contrib_quantized_batch_norm": lambda size: {
        WHY: "ResNet-50, stage 1, predicting: by channel, from 8 bits to 8 bits",
        "data": digits(*feature_maps(size)),
        "gamma": channels(size, POSITIVE),
        "beta": channels(size),
        "moving_mean": channels(size),
        "moving_var": channels(size, POSITIVE),
        **ends("min_data", "max_data"),
        **CALIBRATED,
    },
    "_contrib_intgemm_prepare_data": lambda size: prepared(size, "data"),
    "_contrib_intgemm_prepare_weight": lambda size: prepared(size, "weight"),
    "_contrib_quantized_act": lambda size: {
        WHY: "ResNet-50, stage 1, after a layer: negative numbers to zero",
        "data": digits(*feature_maps(size)),
        **ends("min_data", "max_data"),
        "act_type": "relu",
    },
    "_contrib_quantized_conv": lambda size: {
        WHY: "ResNet-50, stage 1, 3 x 3, of unsigned numbers as a ReLU returns them",
        "data": digits(*feature_maps(size), dtype=UNSIGNED),
        "weight": digits(feature_maps(size)[1], feature_maps(size)[1], 3, 3),
        "bias": digits(feature_maps(size)[1]),
        **ends("min_data", "max_data", UNSIGNED),
        **ends("min_weight", "max_weight"),
        **ends("min_bias", "max_bias"),
        "kernel": (3, 3),
        "stride": (1, 1),
        "pad": (1, 1),
        "num_filter": feature_maps(size)[1],
        "layout": "NCHW",
    },
    "_contrib_quantized_elemwise_add _contrib_quantized_elemwise_mul": lambda size: {
        WHY: "maps of one shape and range, as a residual block and its shortcut, or a gate",
        "lhs": digits(*feature_maps(size)),
        "rhs": digits(*feature_maps(size)),
        **ends("lhs_min", "lhs_max"),
        **ends("rhs_min", "rhs_max"),
    },
    "_contrib_quantized_embedding": lambda size: {
        WHY: "words of a batch of sentences, from a table of 8-bit numbers",
        "data": fixed(size.batch, 128, fill=below(size.extent(10000)), dtype=FLOAT),
        "weight": digits(size.extent(10000), 512),
        **ends("min_weight", "max_weight"),
        "input_dim": size.extent(10000),
        "output_dim": 512,
    },
    "_contrib_quantized_flatten": lambda size: {
        WHY: "VGG's last maps, before its dense layers: a copy with its range",
        "data": digits(*network_maps(size, 512, 7, 7)),
        **ends("min_data", "max_data"),
    },
    "quantized_transpose _npx_quantized_transpose": lambda size: {
        WHY: "a matrix of bytes, transposed, as keys before a product",
        "data": digits(*square(size)),
        **ends("min_data", "max_data"),
        "axes": (1, 0),
    },
    # Prepared weights, and the indices of half of their rows, a multiple of 8.
    "_contrib_intgemm_take_weight": lambda size: {
        WHY: "the output layer's weights of the words a translator may choose from",
        "weight": digits(*square(size)),
        "indices": fixed(square(size)[0] // 2, fill=below(square(size)[0]), dtype=WIDE),
    },
    "_contrib_intgemm_fully_connected": lambda size: {
        WHY: "a wide layer of 8-bit numbers, whose output is not quantised",
        "data": digits(*square(size)),
        "weight": digits(square(size)[1], square(size)[1]),
        "scaling": end(1e-3),
        "bias": fixed(square(size)[1], dtype=FLOAT),
        "num_hidden": square(size)[1],
    },
}
add_rows(FAMILIES.add, ROWS)


VARIANTS: dict[str, Variants] = {
    "_contrib_quantize_v2": lambda size: {
        f"{what}, {how}": call(data=real(*shape), out_type=SIGNED, **calibrated)
        for what, shape in outputs(size)
        for how, calibrated in (("calibrated", CALIBRATED), ("whose range is found first", {}))
    },
    "_contrib_requantize": lambda size: {
        f"{what}, sums whose range is {how}": call(
            data=digits(*shape, dtype=WIDE),
            min_range=end(-SUM_LIMIT),
            max_range=end(SUM_LIMIT),
            **calibrated,
        )
        for what, shape in outputs(size)
        for how, calibrated in (("from calibration", CALIBRATED), ("found first", {}))
    },
    "_contrib_quantized_pooling": lambda size: {
        why: call(
            data=digits(*maps, dtype=dtype),
            **ends("min_data", "max_data", dtype),
            kernel=(kernel, kernel),
            pool_type=kind,
            **others,
        )
        for why, maps, dtype, kernel, kind, others in (
            (
                "maxima of 2 x 2 pixels, as VGG halves its maps",
                *(network_maps(size, 256, 56, 56, samples=2), UNSIGNED),
                *(2, "max", {"stride": (2, 2)}),
            ),
            (
                "means of 2 x 2 pixels, as DenseNet's transitions",
                *(network_maps(size, 128, 56, 56, samples=2), SIGNED),
                *(2, "avg", {"stride": (2, 2)}),
            ),
            (
                "ResNet-50, before the classifier: whole maps, each to its mean",
                *(network_maps(size, 2048, 7, 7), UNSIGNED, 1, "avg", {"global_pool": True}),
            ),
        )
    },
    "_contrib_quantize": lambda size: {
        f"{what}, {how}": call(data=real(*shape), **ends("min_range", "max_range"), out_type=out)
        for what, shape in outputs(size)
        for out, how in ((UNSIGNED, "shifted to unsigned ones"), (SIGNED, "scaled to signed ones"))
    },
    # The input has three axes: with two of them MXNet 1.9.1 crashes.
    "_contrib_quantize_asym": lambda size: {
        "an LSTM's input, with its range from calibration, not symmetric about zero": call(
            data=real(*cube(size)), min_calib_range=-LIMIT / 2, max_calib_range=LIMIT
        ),
        "an LSTM's input, whose range is found first": call(data=real(*cube(size))),
    },
    "_contrib_dequantize": lambda size: {
        f"{what}: {which}": call(
            data=digits(*shape, dtype=dtype), **ends("min_range", "max_range", dtype)
        )
        for what, shape in outputs(size)
        for dtype, which in ((SIGNED, "signed numbers"), (UNSIGNED, "unsigned ones behind a ReLU"))
    },
    "_contrib_quantized_concat": lambda size: {
        why: call(
            data=tensors([digits(*feature_maps(size))] * 2 + [end(-LIMIT), end(LIMIT)] * 2),
            num_args=2,
            dim=axis,
        )
        for axis, why in (
            (0, "two batches joined to one: a block after the other"),
            (1, "two branches of a block joined by channel, sample by sample"),
            (3, "two halves of images joined side by side: row after row"),
        )
    },
    "_contrib_quantized_fully_connected": lambda size: {
        why: call(
            data=digits(rows, width, dtype=dtype),
            weight=digits(units, width),
            bias=digits(units),
            **ends("min_data", "max_data", dtype),
            **ends("min_weight", "max_weight"),
            **ends("min_bias", "max_bias"),
            num_hidden=units,
        )
        for dtype, (rows, width), units, why in (
            (UNSIGNED, (size.batch, 2048), 1000, f"{CLASSIFIER}: unsigned by signed numbers"),
            (SIGNED, _tokens(size), FEED_FORWARD, f"{WIDENING}: signed numbers alone"),
        )
    },
    "_contrib_intgemm_maxabsolute": lambda size: [
        {WHY: what, "data": real(*shape)} for what, shape in outputs(size)
    ],
}
add_rows(FAMILIES.add, VARIANTS)
