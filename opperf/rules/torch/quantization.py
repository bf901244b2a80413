"""Families of PyTorch's quantised tensors and of products of quantised weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from opperf.model import Argument, Fill, Operator, TensorSpec
from opperf.rules.bert import FEED_FORWARD, UNITS
from opperf.rules.configurations import FORM, TAGS, WHY
from opperf.rules.image_shapes import feature_maps
from opperf.rules.registering import Families, Rows, listed
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
    taken,
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
BY_FILTER = "a 3 x 3 layer's weights, by filter"


def _filters(size: Preset) -> Shape:
    return (size.extent(256), size.extent(256), 3, 3)


def tensors_to_quantise(size: Preset) -> tuple[tuple[Shape, Arguments], ...]:
    """Shapes of tensors to quantise or to round as if they were."""
    return (
        (square(size), {WHY: "a wide layer's activations, one scale for all"}),
        (feature_maps(size), {WHY: "ResNet's feature maps, one scale for all"}),
        (tiny(size), FEW),
    )


RANGE: Arguments = {"quant_min": LOWEST, "quant_max": HIGHEST}


def rounding(
    operator: Operator, data: TensorSpec, step: TensorSpec, **others: Argument
) -> Arguments:
    """The arguments of an operator that rounds a tensor to what 8 bits can hold, or of the gradient
    of that, with a step or one for each channel. Zero points that are learned are real numbers."""
    learned = "learnable" in operator.name
    (count,) = step.shape
    zeros = literal((ZERO_POINT,)) if count == 1 and not learned else ZEROS
    offered: Arguments = {
        "self": data,
        "grad": data,
        "scale": step,
        "zero_point": tensor(count, fill=zeros, dtype="float32")
        if learned
        else fixed(count, fill=zeros, dtype="int32"),
        "fake_quant_enabled": fixed(1, fill=literal((1,)), dtype="int64"),
        **RANGE,
        **others,
    }
    return taken(operator, offered)


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
    by_tensor = scale is not None and scale.kind == "tensor"
    one = fixed(1, fill=Fill("constant", ROUNDED), dtype="float32")
    numbers: Arguments = {} if by_tensor else {"scale": ROUNDED, "zero_point": ZERO_POINT}
    for shape, notes in tensors_to_quantise(size):
        yield rounding(operator, tensor(*shape), one, **numbers, **notes)


@FAMILIES.add(
    "fake_quantize_per_channel_affine",
    "fake_quantize_per_channel_affine_cachemask",
    "_fake_quantize_learnable_per_channel_affine",
    "_fake_quantize_learnable_per_channel_affine_backward",
)
def fake_quantize_channels(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Weights, rounded to what 8 bits can hold with a scale of each channel."""
    wide = size.extent(UNITS), size.extent(FEED_FORWARD)
    for shape, axis, why in (
        (wide, 0, WEIGHTS),
        (_filters(size), 0, BY_FILTER),
        (wide, 1, "a layer's weights, by input: adjacent scales"),
    ):
        scales = fixed(shape[axis], fill=SCALES, dtype="float32")
        yield rounding(operator, tensor(*shape), scales, axis=axis, **{WHY: why})


def masked(shapes: Callable[[Preset], Iterable[tuple[Shape, Arguments]]]) -> Variants:
    """The configurations of gradients, of which those outside the range are dropped."""
    return lambda size: [
        {"grad": tensor(*shape), "mask": fixed(*shape, fill=INSIDE, dtype="bool"), **notes}
        for shape, notes in shapes(size)
    ]


def quantize(**scale: Argument) -> Variants:
    """The configurations of a quantisation with one scale and zero point."""

    def variants(size: Preset) -> Iterable[Arguments]:
        for shape, notes in (rows := tensors_to_quantise(size)):
            yield {"self": fixed(*shape), **scale, "dtype": "qint8", **notes}
        shape, notes = rows[0]
        unsigned = f"{notes[WHY]}, unsigned as behind a ReLU"
        yield {"self": fixed(*shape), **scale, "dtype": "quint8", WHY: unsigned}

    return variants


def weights(size: Preset) -> tuple[tuple[Shape, Arguments], ...]:
    """Shapes of weights that have a scale for each output channel."""
    wide = size.extent(FEED_FORWARD), size.extent(UNITS)
    return (wide, {WHY: WEIGHTS}), (_filters(size), {WHY: BY_FILTER})


LAYERS = 4
"""Tensors that are quantised in one call."""
SEVERAL = "the activations of four layers in one call"


def of_channels(size: Preset) -> Rows:
    """Quantised weights, with a scale and a zero point of each index of the first axis."""
    shape = size.extent(FEED_FORWARD), size.extent(UNITS)
    return {WEIGHTS: call(self=TensorSpec(shape, layout=PER_CHANNEL))}


def both(size: Preset) -> Iterable[Arguments]:
    """Quantised activations and weights."""
    for shape, notes in tensors_to_quantise(size):
        yield {"self": TensorSpec(shape, EIGHT_BITS), **notes}
    yield from listed(of_channels(size))


BINS, RATIO, BITS = 200, 0.16, 4
"""Bins and least share of the range of the greedy search for the range of an embedding's row."""


def of_linear(tensor: TensorSpec, **extents: int) -> Variants:
    """A dense layer's weights."""
    return lambda size: {
        BLOCK_OF_BERT: call(
            input=msgspec.structs.replace(
                tensor, shape=(size.extent(FEED_FORWARD), size.extent(UNITS))
            ),
            **{name: size.extent(extent) for name, extent in extents.items()},
        )
    }


BLOCK_OF_BERT = "BERT-base, the weights of a feed-forward block, once before it serves"
REALS, BYTES = fixed(), fixed(fill=below(HIGHEST, start=LOWEST), dtype="int8")

VARIANTS: dict[str, Variants] = {
    "choose_qparams_optimized": lambda size: {
        why: call(input=fixed(width), numel=width, n_bins=BINS, ratio=RATIO, bit_width=BITS)
        for width, why in (
            (128, "a row of a recommender's embedding table, before it has 4 bits"),
            (size.extent(4096), "a long row, such as of a language model's embedding table"),
        )
    },
    "dequantize.self": both,
    "dequantize.tensors": lambda size: {
        SEVERAL: call(tensors=(TensorSpec(square(size), EIGHT_BITS),) * LAYERS)
    },
    "empty_quantized": lambda size: {
        "memory for a matrix with the scale of another": call(
            size=square(size), qtensor=TensorSpec(square(size), EIGHT_BITS)
        )
    },
    "fake_quantize_per_channel_affine_cachemask_backward": masked(weights),
    "fake_quantize_per_tensor_affine_cachemask_backward": masked(tensors_to_quantise),
    "fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16": of_linear(REALS),
    "fbgemm_pack_quantized_matrix.default": of_linear(BYTES),
    "fbgemm_pack_quantized_matrix.KN": of_linear(BYTES, K=UNITS, N=FEED_FORWARD),
    "int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points": of_channels,
    # They read no element, so that all sizes are one measurement.
    "q_scale q_zero_point qscheme": lambda size: [
        {"self": TensorSpec(tiny(size), EIGHT_BITS), **FEW}
    ],
    "quantize_per_channel": lambda size: [
        {
            **{"self": fixed(*shape), "scales": fixed(shape[0], fill=STEP, dtype="float32")},
            "zero_points": fixed(shape[0], fill=ZEROS, dtype="int64"),
            **{"axis": 0, "dtype": EIGHT_BITS, **notes},
        }
        for shape, notes in weights(size)
    ],
    "quantize_per_tensor.default": quantize(scale=SCALE, zero_point=ZERO_POINT),
    "quantize_per_tensor.tensor_qparams": quantize(
        scale=fixed(fill=STEP, dtype="float32"),
        zero_point=fixed(fill=literal(ZERO_POINT), dtype="int32"),
    ),
    "quantize_per_tensor.tensors": lambda size: {
        SEVERAL: call(
            tensors=(fixed(*square(size)),) * LAYERS,
            scales=fixed(LAYERS, fill=STEP, dtype="float32"),
            zero_points=fixed(LAYERS, fill=SEQUENCE, dtype="int32"),
            dtype=EIGHT_BITS,
        )
    },
    "quantize_per_tensor_dynamic": lambda size: {
        f"{notes[WHY]}, from extremes": call(self=fixed(*shape), dtype="quint8", reduce_range=False)
        for shape, notes in tensors_to_quantise(size)[:2]
    },
}

add_rows(FAMILIES.add, VARIANTS, replaces="its second tensor is a mask")


def layers(size: Preset) -> Iterable[tuple[int, int, int, str]]:
    """Tokens, inputs and outputs, which 64 divides, of layers with quantised weights, and why."""
    width = 64 * max(1, size.extent(UNITS) // 64)
    for tokens, why in (
        (1, "GPT-2 generating one token, widened: bound by reading the weights"),
        (size.extent(128, least=16), "BERT-base, a sentence, widened"),
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


def half_by(**weights: Callable[[int, int], Argument]) -> Variants:
    """Half-precision activations, and quantised weights by their inputs and outputs."""
    return lambda size: {
        why: call(
            self=fixed(tokens, inputs, dtype=HALF),
            **{name: make(inputs, outputs) for name, make in weights.items()},
            **PACKED,
        )
        for tokens, inputs, outputs, why in layers(size)
    }


def four_bits(pack: Callable[[int, int], TensorSpec]) -> Variants:
    """Such rows of 4-bit weights, which are packed."""
    return half_by(mat2=pack, qGroupSize=lambda *_: BLOCK, qScaleAndZeros=_scales_and_zeros)


def _scales_and_zeros(inputs: int, outputs: int) -> TensorSpec:
    return fixed(inputs // BLOCK, outputs, 2, fill=POSITIVE, dtype=HALF)


def _nibbles(inputs: int, outputs: int) -> TensorSpec:
    return fixed(outputs, inputs // 2, fill=NIBBLES, dtype="uint8")


def packed_once(make: Callable[[int, int], TensorSpec]) -> Variants:
    """4-bit weights, once before a model serves."""

    def variants(size: Preset) -> Rows:
        _, inputs, outputs, _ = next(iter(layers(size)))
        why = "BERT-base, the weights of a feed-forward block"
        return {why: call(self=make(inputs, outputs), innerKTiles=INNER_TILES)}

    return variants


ROWS: dict[str, Variants] = {
    "_weight_int8pack_mm": half_by(
        mat2=lambda inputs, outputs: fixed(outputs, inputs, fill=EIGHT, dtype="int8"),
        scales=lambda inputs, outputs: fixed(outputs, fill=POSITIVE, dtype=HALF),
    ),
    "_weight_int4pack_mm_for_cpu": four_bits(_nibbles),
    # As packed for a GPU: eight weights in each integer.
    "_weight_int4pack_mm": four_bits(
        lambda inputs, outputs: fixed(
            *(outputs // 8, inputs // (INNER_TILES * 16), 32, INNER_TILES // 2),
            fill=below(2**31, start=-(2**31)),
            dtype="int32",
        )
    ),
    "_convert_weight_to_int4pack": packed_once(_nibbles),
    "_convert_weight_to_int4pack_for_cpu": packed_once(
        lambda inputs, outputs: fixed(outputs, inputs, fill=below(16), dtype="int32")
    ),
    # The second matrix is transposed as a layer's weights are.
    "_int_mm": lambda size: {
        f"{count} tokens of BERT-base's width, widened": call(
            self=fixed(size.extent(count, least=least), width, dtype="int8", fill=EIGHT),
            mat2=transposed(fixed(width, 4 * width, fill=EIGHT, dtype="int8")),
        )
        for _, width, _, _ in list(layers(size))[:1]
        for count, least in ((1024, 64), (128, 32))
    },
    "_empty_affine_quantized": lambda size: {EMPTY: call(size=square(size), dtype=EIGHT_BITS)},
    "_empty_per_channel_affine_quantized": lambda size: {
        EMPTY: call(
            size=square(size),
            dtype=EIGHT_BITS,
            scales=fixed(square(size)[0], fill=STEP, dtype="float64"),
            zero_points=fixed(square(size)[0], fill=ZEROS, dtype="int64"),
            axis=0,
        )
    },
}
EMPTY = "memory for a matrix of quantised weights"
add_rows(FAMILIES.add, ROWS)
