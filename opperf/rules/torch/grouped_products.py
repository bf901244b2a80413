"""Inputs of PyTorch's products of groups of tokens, and of 8-bit matrices with scales."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from opperf.model import Operator, TensorSpec
from opperf.rules.bert import FEED_FORWARD as BERT_FORWARD
from opperf.rules.bert import UNITS, layer_width
from opperf.rules.configurations import FORM, TAGS, WHY
from opperf.rules.llama import FEED_FORWARD
from opperf.rules.llama import UNITS as LLAMA_UNITS
from opperf.rules.registering import Families, listed
from opperf.rules.sizes import Preset
from opperf.rules.torch.quantization import HALF, NIBBLES
from opperf.rules.values import POSITIVE, Arguments, call, fixed, literal, tensor, transposed

FAMILIES = Families()

EIGHT_BITS, FOUR_BITS = "float8_e4m3fn", "float4_e2m1fn_x2"
EXPERTS = 8
SCOUT_EXPERTS, SCOUT_UNITS, SCOUT_FORWARD = 16, 5120, 8192
"""Of Llama 4 Scout, as its configuration has them: each token is sent to one expert."""
TENSOR_WISE, ROW_WISE, NV, MX, ROW_BLOCKS, SQUARE_BLOCKS = 0, 1, 2, 3, 4, 5
"""PyTorch's numbers of the ways to scale: `torch.nn.functional.ScalingType`."""
BLOCKS = {NV: (16, EIGHT_BITS), MX: (32, "float8_e8m0fnu")}
"""Numbers that share a scale of NVFP4 and of MXFP8, and its dtype."""
SWIZZLED = 1
"""PyTorch's number of the order of such scales."""
MULTIPLE = 16
"""Elements of which kernels take whole multiples."""


def weights(
    inputs: int, outputs: int, dtype: str, experts: int = EXPERTS, decode: bool = False
) -> TensorSpec:
    """The weights of each expert, in the memory of their transposes, as dense layers store them."""
    return TensorSpec(
        (experts, inputs, outputs),
        dtype,
        gradient=dtype != EIGHT_BITS and not decode,
        strides=(inputs * outputs, 1, inputs),
    )


def ends(tokens: int) -> TensorSpec:
    """Where each expert's tokens end: some get twice as many as others, in whole multiples."""
    share = tokens // (EXPERTS * MULTIPLE)
    each = [MULTIPLE * (max(1, share // 2) if i % 2 else share) for i in range(EXPERTS - 1)]
    each.append(tokens - sum(each))
    return fixed(EXPERTS, fill=literal(list(itertools.accumulate(each))), dtype="int32")


def routed(size: Preset) -> tuple[int, int, int]:
    """Tokens, inputs and outputs of a layer of experts."""
    inputs, outputs = (MULTIPLE * max(1, size.extent(own) // MULTIPLE) for own in (1024, 2048))
    return EXPERTS * MULTIPLE * size.extent(16, least=2), inputs, outputs


class Layer(NamedTuple):
    """Rows of tokens by the weights of experts that they are sent to."""

    why: str
    experts: int
    rows: int
    inputs: int
    outputs: int
    tags: tuple[str, ...] = ()

    @property
    def ends(self) -> TensorSpec:
        """Where each expert's rows end: some get thrice as many; of few rows, most have none."""
        shares = list(itertools.accumulate((2, 1, 3, 2)[i % 4] for i in range(self.experts)))
        data = [self.rows * share // shares[-1] for share in shares]
        return fixed(self.experts, fill=literal(data), dtype="int32")


def layers(size: Preset) -> Iterable[Layer]:
    """The first products of layers that send each token to eight experts."""
    inputs, read = layer_width(size, 2048), 8 * size.extent(256, least=16)
    few = max(1, size.batch // 8)
    yield Layer("OLMoE, 64 experts, 256 tokens read", 64, read, inputs, layer_width(size, 1024))
    yield Layer(
        f"Qwen3 30B A3B, 128 experts, {size.batch} texts generating",
        *(128, 8 * size.batch, inputs, layer_width(size, 768), ("decode",)),
    )
    yield Layer(
        f"Qwen3.5 35B A3B, 256 experts, {few} texts generating: most experts idle",
        *(256, 8 * few, inputs, layer_width(size, 512), ("decode",)),
    )


@FAMILIES.add("_grouped_mm")
def grouped(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tokens by the weights of the experts that they are sent to."""
    tokens, inputs, outputs = routed(size)
    whole = weights(inputs, outputs, HALF)
    yield from listed(
        {
            "a mixture of eight experts, half of them with twice the tokens of others": call(
                self=tensor(tokens, inputs, dtype=HALF), mat2=whole, offs=ends(tokens)
            ),
            "the gradient of the weights of eight experts": call(
                self=TensorSpec((inputs, tokens), HALF, gradient=True, strides=(1, inputs)),
                mat2=tensor(tokens, outputs, dtype=HALF),
                offs=ends(tokens),
            ),
            "a mixture of eight experts, each with equally many tokens": call(
                self=tensor(EXPERTS, tokens // EXPERTS, inputs, dtype=HALF), mat2=whole
            ),
        }
    )
    for layer in layers(size):
        decodes = bool(layer.tags)
        yield {
            "self": tensor(layer.rows, layer.inputs, dtype=HALF, gradient=not decodes),
            "mat2": weights(layer.inputs, layer.outputs, HALF, layer.experts, decode=decodes),
            **{"offs": layer.ends, TAGS: layer.tags, WHY: layer.why},
        }


def by_recipe(
    operator: Operator, recipes: tuple[int, int], a: TensorSpec, b: TensorSpec, swizzle: int = 0
) -> Arguments:
    """The scales of both matrices, in the form that the operator takes."""
    if operator.parameter("recipe_a") is None:
        return {"scale_a": a, "scale_b": b}
    return {
        **{"scale_a": (a,), "recipe_a": recipes[:1], "swizzle_a": (swizzle,)},
        **{"scale_b": (b,), "recipe_b": recipes[1:], "swizzle_b": (swizzle,)},
    }


@FAMILIES.add("_scaled_grouped_mm", "_scaled_grouped_mm_v2")
def scaled_groups(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Those tokens and weights in 8 bits, with a scale for each row."""
    tokens, inputs, outputs = routed(size)
    eight = Layer("a mixture of eight experts", EXPERTS, tokens, inputs, outputs)
    for layer in (eight, *layers(size)):
        rows = fixed(layer.rows, fill=POSITIVE, dtype="float32")
        columns = fixed(layer.experts, layer.outputs, fill=POSITIVE, dtype="float32")
        yield {
            "self": fixed(layer.rows, layer.inputs, dtype=EIGHT_BITS),
            "mat2": weights(layer.inputs, layer.outputs, EIGHT_BITS, layer.experts),
            **by_recipe(operator, (ROW_WISE, ROW_WISE), rows, columns),
            "offs": ends(tokens) if layer is eight else layer.ends,
            "out_dtype": HALF,
            TAGS: layer.tags,
            WHY: f"{layer.why} in 8 bits, a scale for each token and each output",
        }
    if operator.parameter("recipe_a") is not None:
        yield four_bits(size)


def four_bits(size: Preset) -> Arguments:
    """NVFP4: two numbers in a byte, a scale for each 16, padded by expert, one for each expert."""
    inputs, outputs = layer_width(size, SCOUT_UNITS), layer_width(size, SCOUT_FORWARD)
    layer = Layer("", SCOUT_EXPERTS, size.extent(256, least=16), inputs // 2, outputs)
    counts = [end - start for start, end in itertools.pairwise([0, *layer.ends.fill.data])]
    rows = sum(swizzled(NV, count, inputs)[0] for count in counts)
    each = math.prod(swizzled(NV, outputs, inputs))
    both = fixed(SCOUT_EXPERTS, fill=POSITIVE, dtype="float32")
    extents = {"a": (rows, swizzled(NV, 1, inputs)[1]), "b": (SCOUT_EXPERTS, each)}
    made: Arguments = {}
    for side, shape in extents.items():
        made[f"scale_{side}"] = fixed(*shape, fill=POSITIVE, dtype=EIGHT_BITS), both
        made[f"recipe_{side}"] = NV, TENSOR_WISE
        made[f"swizzle_{side}"] = SWIZZLED, 0
    weighted = weights(inputs // 2, outputs, FOUR_BITS, SCOUT_EXPERTS, decode=True)
    return {
        "self": fixed(layer.rows, inputs // 2, **NUMBERS[NV]),
        "mat2": msgspec.structs.replace(weighted, fill=NIBBLES),
        **made,
        "offs": layer.ends,
        "out_dtype": HALF,
        WHY: "Llama 4 Scout, 16 experts, 256 tokens read, in NVFP4: a scale of 8 bits for each 16",
    }


def swizzled(recipe: int, rows: int, inputs: int) -> tuple[int, int]:
    """The extents of the scales of blocks: whole tiles of 128 rows and four blocks."""
    return 128 * math.ceil(rows / 128), 4 * math.ceil(inputs / BLOCKS[recipe][0] / 4)


NUMBERS: Mapping[int, dict[str, Any]] = {NV: {"fill": NIBBLES, "dtype": FOUR_BITS}}
"""How a matrix is filled, where it does not have 8 bits."""


def scales(recipe: int, rows: int, inputs: int, by_columns: bool) -> TensorSpec:
    """The scales of a matrix of so many rows of a product's inputs, in the layouts that kernels
    take; of the second one, which is transposed, `by_columns`."""
    single = "float32"
    if recipe == TENSOR_WISE:
        return fixed(fill=POSITIVE, dtype=single)
    if recipe == ROW_WISE:
        return fixed(*((1, rows) if by_columns else (rows, 1)), fill=POSITIVE, dtype=single)
    if recipe in BLOCKS:
        return fixed(
            math.prod(swizzled(recipe, rows, inputs)), fill=POSITIVE, dtype=BLOCKS[recipe][1]
        )
    blocks = math.ceil(inputs / 128)
    if recipe == ROW_BLOCKS:
        return TensorSpec((rows, blocks), single, POSITIVE, strides=(1, rows))
    # Columns of whole multiples of four, as vectors of 16 bytes are read.
    strides = (1, 4 * math.ceil(blocks / 4))
    return TensorSpec((blocks, math.ceil(rows / 128)), single, POSITIVE, strides=strides)


LLAMA = "Llama 3 8B, feed-forward block,"
READING = f"{LLAMA} reading 2048 tokens"
BY_MATRIX = (TENSOR_WISE, TENSOR_WISE)
BY_ROW, BY_BLOCK = (ROW_WISE, ROW_WISE), (ROW_BLOCKS, SQUARE_BLOCKS)
SCALED: tuple[tuple[str, tuple[int, int], int, int, int], ...] = (
    ("16 tokens of BERT-base's width, one scale for each matrix", BY_MATRIX, 16, UNITS, UNITS),
    ("128 tokens of BERT-base, widened, a scale for each row", BY_ROW, 128, UNITS, BERT_FORWARD),
    *(
        (why, recipes, tokens, LLAMA_UNITS, FEED_FORWARD)
        for why, recipes, tokens in (
            (f"{LLAMA} generating, a scale for each token and each output", BY_ROW, 1),
            (f"{READING}, a scale for 128 numbers, and for 128 x 128 of weights", BY_BLOCK, 2048),
            (f"{READING} in MXFP8, a power of two for each 32 numbers", (MX, MX), 2048),
            (f"{READING} in NVFP4, a scale of 8 bits for each 16 numbers", (NV, NV), 2048),
            (f"{LLAMA} generating in NVFP4, a scale of 8 bits for each 16 numbers", (NV, NV), 1),
        )
    ),
)
"""Why, how both matrices are scaled, and tokens, inputs and outputs. What each takes on a CPU
decides how many tokens there are: with one scale for each matrix, oneDNN has its reference alone,
and it has no blocks."""


@FAMILIES.add("_scaled_mm", "_scaled_mm_v2")
def scaled(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Dense layers in 8 and in 4 bits."""
    for why, recipes, most, wide, wider in SCALED:
        tokens = size.extent(most, least=min(most, 64))
        inputs, outputs = layer_width(size, wide), layer_width(size, wider)
        a = scales(recipes[0], tokens, inputs, by_columns=False)
        b = scales(recipes[1], outputs, inputs, by_columns=True)
        options = NUMBERS.get(recipes[0], {"dtype": EIGHT_BITS})
        stored = inputs // 2 if recipes[0] == NV else inputs
        yield {
            "self": fixed(tokens, stored, **options),
            "mat2": transposed(fixed(stored, outputs, **options)),
            **by_recipe(operator, recipes, a, b, SWIZZLED if recipes[0] in BLOCKS else 0),
            "out_dtype": HALF,
            TAGS: ("decode", FORM) if most == 1 else (FORM,),
            WHY: why,
        }
