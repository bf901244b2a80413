"""Families of PyTorch's quantised tensors and of products of quantised weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opperf.model import Fill, Operator, TensorSpec
from opperf.rules.bert import FEED_FORWARD, UNITS
from opperf.rules.configurations import FORM, TAGS, WHY
from opperf.rules.image_shapes import feature_maps
from opperf.rules.registering import Families, listed
from opperf.rules.shapes import FEW, Shape, square, tiny
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    POSITIVE,
    SEQUENCE,
    ZEROS,
    Arguments,
    below,
    between,
    call,
    fixed,
    literal,
    odds,
    tensor,
    transposed,
)
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

SCALE = 2.0**-4
"""Step of quantised numbers: a power of two divides exactly; eight bits reach beyond 7."""
ZERO_POINT = 2
LOWEST, HIGHEST = -128, 127
"""The range of signed 8-bit numbers."""

STEP = Fill("constant", SCALE)
ROUNDED = 2.0**-6
"""Step of numbers that are rounded as if quantised. Eight bits reach to plus and minus 2, which a
twentieth exceeds, like the ranges that observers find."""
INSIDE = odds(1, 19)
"""Whether each is inside that range."""
SCALES = between(ROUNDED / 2, 2 * ROUNDED)
"""Such a step of each channel, as weights differ in range."""
EIGHT_BITS = "qint8"
PER_CHANNEL = "per_channel"

WEIGHTS = "a layer's weights, with a scale for each output channel"


def quantised(*shape: int) -> TensorSpec:
    """A tensor of 8-bit numbers with a scale and a zero point."""
    return TensorSpec(shape, EIGHT_BITS)


def by_channel(*shape: int) -> TensorSpec:
    """A tensor of 8-bit numbers with a scale and a zero point of each index of the first axis."""
    return TensorSpec(shape, layout=PER_CHANNEL)


def tensors_to_quantise(size: Preset) -> tuple[tuple[Shape, Arguments], ...]:
    """Shapes of tensors to quantise or to round as if they were."""
    return (
        (square(size), {WHY: "a wide layer's activations, one scale for all"}),
        (feature_maps(size), {WHY: "ResNet's feature maps, one scale for all"}),
        (tiny(size), FEW),
    )


def one_scale(tensor_of: bool, step: float = SCALE) -> Arguments:
    """A scale and a zero point, as numbers or as tensors of one element."""
    if tensor_of:
        zero = fixed(1, fill=literal((ZERO_POINT,)), dtype="int32")
        scale = fixed(1, fill=Fill("constant", step), dtype="float32")
        return {"scale": scale, "zero_point": zero}
    return {"scale": step, "zero_point": ZERO_POINT}


RANGE: Arguments = {"quant_min": LOWEST, "quant_max": HIGHEST}


@FAMILIES.add(
    "fake_quantize_per_tensor_affine",
    "fake_quantize_per_tensor_affine_cachemask",
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
    "_fake_quantize_learnable_per_tensor_affine",
    "_fake_quantize_learnable_per_tensor_affine_backward",
)
def fake_quantize(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Activations, rounded to what 8 bits can hold."""
    scale = operator.parameter("scale")
    learnable = "learnable" in operator.name
    for shape, notes in tensors_to_quantise(size):
        made: Arguments = {"self": tensor(*shape)}
        if operator.parameter("grad") is not None:
            made["grad"] = tensor(*shape)
        made |= one_scale(scale is not None and scale.kind == "tensor", ROUNDED)
        if learnable:
            made["zero_point"] = tensor(1, fill=ZEROS, dtype="float32")
        if operator.parameter("fake_quant_enabled") is not None:
            made["fake_quant_enabled"] = fixed(1, fill=literal((1,)), dtype="int64")
        yield {**made, **RANGE, **notes}


@FAMILIES.add(
    "fake_quantize_per_channel_affine",
    "fake_quantize_per_channel_affine_cachemask",
    "_fake_quantize_learnable_per_channel_affine",
    "_fake_quantize_learnable_per_channel_affine_backward",
)
def fake_quantize_channels(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Weights, rounded to what 8 bits can hold with a scale of each channel."""
    learnable = "learnable" in operator.name
    units = size.extent(UNITS)
    for shape, axis, why in (
        ((units, size.extent(FEED_FORWARD)), 0, WEIGHTS),
        ((size.extent(256), size.extent(256), 3, 3), 0, "a 3 x 3 layer's weights, by filter"),
        ((units, size.extent(FEED_FORWARD)), 1, "a layer's weights, by input: adjacent scales"),
    ):
        channels = shape[axis]
        made: Arguments = {"self": tensor(*shape)}
        if operator.parameter("grad") is not None:
            made["grad"] = tensor(*shape)
        zeros = tensor(channels, fill=ZEROS, dtype="float32")
        yield {
            **made,
            "scale": fixed(channels, fill=SCALES, dtype="float32"),
            "zero_point": zeros if learnable else fixed(channels, fill=ZEROS, dtype="int32"),
            "axis": axis,
            **RANGE,
            WHY: why,
        }


def masked(shapes: Callable[[Preset], Iterable[tuple[Shape, Arguments]]]) -> Variants:
    """The configurations of gradients, of which those outside the range are dropped."""
    return lambda size: [
        {"grad": tensor(*shape), "mask": fixed(*shape, fill=INSIDE, dtype="bool"), **notes}
        for shape, notes in shapes(size)
    ]


def quantize(by_tensor: bool) -> Variants:
    """The configurations of a quantisation with one scale, as a number or as a tensor."""

    def variants(size: Preset) -> Iterable[Arguments]:
        for dtype in ("qint8", "quint8"):
            for shape, notes in tensors_to_quantise(size)[: 3 if dtype == "qint8" else 1]:
                made: Arguments = {"self": fixed(*shape), **one_scale(by_tensor)}
                if by_tensor:
                    zero = fixed(fill=literal(ZERO_POINT), dtype="int32")
                    made |= {"scale": fixed(fill=STEP, dtype="float32"), "zero_point": zero}
                if dtype == "quint8":
                    notes = {WHY: f"{notes[WHY]}, unsigned as behind a ReLU"}
                yield {**made, "dtype": dtype, **notes}

    return variants


def weights(size: Preset) -> tuple[tuple[Shape, Arguments], ...]:
    """Shapes of weights that have a scale for each output channel."""
    return (
        ((size.extent(FEED_FORWARD), size.extent(UNITS)), {WHY: WEIGHTS}),
        ((size.extent(256), size.extent(256), 3, 3), {WHY: "a 3 x 3 layer's weights, by filter"}),
    )


def quantize_channels(size: Preset) -> Iterable[Arguments]:
    """Weights with a scale of each output channel."""
    for shape, notes in weights(size):
        yield {
            "self": fixed(*shape),
            "scales": fixed(shape[0], fill=STEP, dtype="float32"),
            "zero_points": fixed(shape[0], fill=ZEROS, dtype="int64"),
            "axis": 0,
            "dtype": EIGHT_BITS,
            **notes,
        }


LAYERS = 4
"""Tensors that are quantised in one call."""


def several(make: Variants) -> Variants:
    """The configurations of lists of the first configuration's tensor."""
    return lambda size: [
        {
            "tensors": (next(iter(listed(make(size))))["self"],) * LAYERS,  # type: ignore[dict-item]
            WHY: "the activations of four layers in one call",
        }
    ]


def of_quantised(size: Preset) -> Iterable[Arguments]:
    """Quantised activations."""
    for shape, notes in tensors_to_quantise(size):
        yield {"self": quantised(*shape), **notes}


def of_channels(size: Preset) -> Iterable[Arguments]:
    """Quantised weights."""
    shape = size.extent(FEED_FORWARD), size.extent(UNITS)
    yield {"self": by_channel(*shape), WHY: WEIGHTS}


def both(size: Preset) -> Iterable[Arguments]:
    """Quantised activations and weights."""
    yield from of_quantised(size)
    yield from of_channels(size)


BINS, RATIO, BITS = 200, 0.16, 8
"""Bins and least share of the range of the greedy search for a row's range, as embedding tables
are quantised with."""


def optimised(size: Preset) -> Iterable[Arguments]:
    """Rows of embedding tables, whose range a greedy search finds."""
    for width, why in (
        (128, "a row of a recommender's embedding table, before it is quantised"),
        (size.extent(4096), "a long row, such as of a language model's embedding table"),
    ):
        options = {"numel": width, "n_bins": BINS, "ratio": RATIO, "bit_width": BITS}
        yield {"input": fixed(width), **options, WHY: why}


def of_linear(dtype: str) -> Variants:
    """A dense layer's weights."""
    return lambda size: {
        "BERT-base, the weights of a feed-forward block, once before it serves": call(
            input=fixed(
                size.extent(FEED_FORWARD),
                size.extent(UNITS),
                dtype=dtype,
                fill=below(HIGHEST, start=LOWEST) if dtype else Fill(),
            )
        )
    }


VARIANTS: dict[str, Variants] = {
    "choose_qparams_optimized": optimised,
    "dequantize.self": both,
    "dequantize.tensors": several(of_quantised),
    "empty_quantized": lambda size: {
        "memory for another tensor of the same scale": call(
            size=square(size), qtensor=quantised(*square(size))
        )
    },
    "fake_quantize_per_channel_affine_cachemask_backward": masked(weights),
    "fake_quantize_per_tensor_affine_cachemask_backward": masked(tensors_to_quantise),
    "fbgemm_linear_quantize_weight": of_linear(""),
    "fbgemm_pack_gemm_matrix_fp16": of_linear(""),
    "fbgemm_pack_quantized_matrix.default": of_linear("int8"),
    "fbgemm_pack_quantized_matrix.KN": lambda size: [
        {**made, "K": size.extent(UNITS), "N": size.extent(FEED_FORWARD)}
        for made in listed(of_linear("int8")(size))
    ],
    "int_repr": both,
    "q_per_channel_axis q_per_channel_scales q_per_channel_zero_points": of_channels,
    "q_scale q_zero_point": of_quantised,
    "qscheme": both,
    "quantize_per_channel": lambda size: {
        why: call(
            self=fixed(*shape),
            scales=fixed(shape[0], fill=STEP, dtype="float32"),
            zero_points=fixed(shape[0], fill=ZEROS, dtype="int64"),
            axis=0,
            dtype=EIGHT_BITS,
        )
        for shape, why in (
            ((size.extent(FEED_FORWARD), size.extent(UNITS)), WEIGHTS),
            ((size.extent(256), size.extent(256), 3, 3), "a 3 x 3 layer's weights, by filter"),
        )
    },
    "quantize_per_tensor.default": quantize(by_tensor=False),
    "quantize_per_tensor.tensor_qparams": quantize(by_tensor=True),
    "quantize_per_tensor.tensors": lambda size: {
        "the activations of four layers in one call": call(
            tensors=(fixed(*square(size)),) * LAYERS,
            scales=fixed(LAYERS, fill=STEP, dtype="float32"),
            zero_points=fixed(LAYERS, fill=SEQUENCE, dtype="int32"),
            dtype=EIGHT_BITS,
        )
    },
    "quantize_per_tensor_dynamic": lambda size: {
        f"{notes[WHY]}, found from its extremes": call(
            self=fixed(*shape), dtype="quint8", reduce_range=False
        )
        for shape, notes in tensors_to_quantise(size)[:2]
    },
}

add_rows(FAMILIES.add, VARIANTS, replaces="its second tensor is a mask")


def layers(size: Preset) -> Iterable[tuple[int, int, int, str]]:
    """Tokens, inputs and outputs of dense layers with quantised weights, and why. Blocks of 64
    divide them."""
    width = 64 * max(1, size.extent(UNITS) // 64)
    for tokens, why in (
        (1, "one token of BERT-base's width, as generation does: bound by reading the weights"),
        (size.extent(128, least=16), "a sentence of BERT-base's width"),
    ):
        yield tokens, width, 4 * width, why


EIGHT = below(HIGHEST, start=LOWEST)
HALF = "bfloat16"
BLOCK = 32
"""Inputs that share a scale of 4-bit weights."""
NIBBLES = below(256)
"""Pairs of 4-bit numbers."""


PACKED: Arguments = {TAGS: (FORM,)}
"""Packages call such layers with weights that are not packed."""
INNER_TILES = 8
"""Tiles along the inputs that a GPU's kernel of 4-bit weights reads at once."""


@FAMILIES.add("_weight_int4pack_mm")
def int4_weights_of_gpu(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Half-precision activations and 4-bit weights, as packed for a GPU."""
    for tokens, inputs, outputs, why in layers(size):
        tiles = (outputs // 8, inputs // (INNER_TILES * 16), 32, INNER_TILES // 2)
        yield {
            "self": fixed(tokens, inputs, dtype=HALF),
            # Eight weights in each integer.
            "mat2": fixed(*tiles, fill=below(2**31, start=-(2**31)), dtype="int32"),
            "qGroupSize": BLOCK,
            "qScaleAndZeros": fixed(inputs // BLOCK, outputs, 2, fill=POSITIVE, dtype=HALF),
            **{WHY: why, **PACKED},
        }


@FAMILIES.add("_convert_weight_to_int4pack", "_convert_weight_to_int4pack_for_cpu")
def pack_int4(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """4-bit weights, once before a model serves."""
    on_cpu = operator.name.endswith("_for_cpu")
    for _, inputs, outputs, _why in list(layers(size))[:1]:
        weights = fixed(outputs, inputs, fill=below(16), dtype="int32")
        pairs = fixed(outputs, inputs // 2, fill=NIBBLES, dtype="uint8")
        yield {
            "self": weights if on_cpu else pairs,
            "innerKTiles": INNER_TILES,
            WHY: "BERT-base, the weights of a feed-forward block",
        }


@FAMILIES.add("_int_mm")
def eight_bit_products(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Products of matrices of 8-bit numbers, the second one transposed as a layer's weights are."""
    for tokens, why in (
        (size.extent(1024, least=64), "1024 tokens of BERT-base's width, widened"),
        (size.extent(128, least=32), "128 tokens of BERT-base's width, widened"),
    ):
        width = 64 * max(1, size.extent(UNITS) // 64)
        yield {
            "self": fixed(tokens, width, dtype="int8", fill=EIGHT),
            "mat2": transposed(fixed(width, 4 * width, fill=EIGHT, dtype="int8")),
            WHY: why,
        }


@FAMILIES.add("_empty_affine_quantized", "_empty_per_channel_affine_quantized")
def empty_quantised(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Memory for quantised numbers."""
    rows, columns = square(size)
    made: Arguments = {"size": (rows, columns), "dtype": EIGHT_BITS}
    if operator.parameter("scales") is not None:
        scales = fixed(rows, fill=STEP, dtype="float64")
        made |= {"scales": scales, "zero_points": fixed(rows, fill=ZEROS, dtype="int64"), "axis": 0}
    yield {**made, WHY: "memory for a matrix of quantised weights"}


ROWS: dict[str, Variants] = {
    "_weight_int8pack_mm": lambda size: {
        why: call(
            self=fixed(tokens, inputs, dtype=HALF),
            mat2=fixed(outputs, inputs, fill=EIGHT, dtype="int8"),
            scales=fixed(outputs, fill=POSITIVE, dtype=HALF),
            **PACKED,
        )
        for tokens, inputs, outputs, why in layers(size)
    },
    "_weight_int4pack_mm_for_cpu": lambda size: {
        why: call(
            self=fixed(tokens, inputs, dtype=HALF),
            mat2=fixed(outputs, inputs // 2, fill=NIBBLES, dtype="uint8"),
            qGroupSize=BLOCK,
            qScaleAndZeros=fixed(inputs // BLOCK, outputs, 2, fill=POSITIVE, dtype=HALF),
            **PACKED,
        )
        for tokens, inputs, outputs, why in layers(size)
    },
}
add_rows(FAMILIES.add, ROWS)
