"""Inputs of PyTorch's products of groups of tokens, as of experts, and of 8-bit floating-point
matrices with scales."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from opperf.model import Argument, Operator, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.torch.quantization import HALF
from opperf.rules.values import POSITIVE, Arguments, fixed, literal, tensor, transposed

FAMILIES = Families()

EIGHT_BITS = "float8_e4m3fn"
EXPERTS = 8
TENSOR_WISE, ROW_WISE = 0, 1
"""PyTorch's numbers of the ways to scale: `torch.nn.functional.ScalingType`."""
MULTIPLE = 16
"""Elements of which kernels take whole multiples."""


def width(size: Preset, default: int) -> int:
    """A layer's width, in whole multiples."""
    return MULTIPLE * max(1, size.extent(default) // MULTIPLE)


def weights(size: Preset, inputs: int, outputs: int, dtype: str) -> TensorSpec:
    """The weights of each expert, in the memory of their transposes, as dense layers store them."""
    return TensorSpec(
        (EXPERTS, inputs, outputs),
        dtype,
        gradient=dtype != EIGHT_BITS,
        strides=(inputs * outputs, 1, inputs),
    )


def ends(tokens: int) -> TensorSpec:
    """Where each expert's tokens end: some experts get twice as many as others, in whole
    multiples."""
    share = tokens // (EXPERTS * MULTIPLE)
    each = [MULTIPLE * (max(1, share // 2) if i % 2 else share) for i in range(EXPERTS - 1)]
    each.append(tokens - sum(each))
    return fixed(EXPERTS, fill=literal(list(itertools.accumulate(each))), dtype="int32")


def routed(size: Preset) -> tuple[int, int, int]:
    """Tokens, inputs and outputs of a layer of experts."""
    tokens = EXPERTS * MULTIPLE * size.extent(16, least=2)
    return tokens, width(size, 1024), width(size, 2048)


@FAMILIES.add("_grouped_mm")
def grouped(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tokens by the weights of the experts that they are sent to."""
    tokens, inputs, outputs = routed(size)
    yield {
        "self": tensor(tokens, inputs, dtype=HALF),
        "mat2": weights(size, inputs, outputs, HALF),
        "offs": ends(tokens),
        WHY: "a mixture of eight experts, each with another number of tokens",
    }
    yield {
        "self": TensorSpec((inputs, tokens), HALF, gradient=True, strides=(1, inputs)),
        "mat2": tensor(tokens, outputs, dtype=HALF),
        "offs": ends(tokens),
        WHY: "the gradient of the weights of eight experts",
    }
    yield {
        "self": tensor(EXPERTS, tokens // EXPERTS, inputs, dtype=HALF),
        "mat2": weights(size, inputs, outputs, HALF),
        WHY: "a mixture of eight experts, each with equally many tokens",
    }


def by_recipe(operator: Operator, recipe: int, a: TensorSpec, b: TensorSpec) -> Arguments:
    """The scales of both matrices, in the form that the operator takes."""
    if operator.parameter("recipe_a") is None:
        return {"scale_a": a, "scale_b": b}
    return {
        **{"scale_a": (a,), "recipe_a": (recipe,), "swizzle_a": (0,)},
        **{"scale_b": (b,), "recipe_b": (recipe,), "swizzle_b": (0,)},
    }


@FAMILIES.add("_scaled_grouped_mm", "_scaled_grouped_mm_v2")
def scaled_groups(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Those tokens and weights in 8 bits, with a scale for each row."""
    tokens, inputs, outputs = routed(size)
    rows = fixed(tokens, fill=POSITIVE, dtype="float32")
    columns = fixed(EXPERTS, outputs, fill=POSITIVE, dtype="float32")
    yield {
        "self": fixed(tokens, inputs, dtype=EIGHT_BITS),
        "mat2": weights(size, inputs, outputs, EIGHT_BITS),
        **by_recipe(operator, ROW_WISE, rows, columns),
        "offs": ends(tokens),
        "out_dtype": HALF,
        WHY: "a mixture of eight experts in 8 bits, a scale for each token and each output",
    }


def scaled(operator: Operator, size: Preset, recipe: int) -> Arguments:
    """A dense layer in 8 bits."""
    tokens, inputs = size.extent(1024, least=64), width(size, 1024)
    scales: dict[str, Argument] = {
        "a": fixed(fill=POSITIVE, dtype="float32"),
        "b": fixed(fill=POSITIVE, dtype="float32"),
    }
    if recipe == ROW_WISE:
        scales = {
            "a": fixed(tokens, 1, fill=POSITIVE, dtype="float32"),
            "b": fixed(1, 4 * inputs, fill=POSITIVE, dtype="float32"),
        }
    a, b = scales.values()
    assert isinstance(a, TensorSpec) and isinstance(b, TensorSpec)
    return {
        "self": fixed(tokens, inputs, dtype=EIGHT_BITS),
        "mat2": transposed(inputs, 4 * inputs, EIGHT_BITS, a.fill),
        **by_recipe(operator, recipe, a, b),
        "out_dtype": HALF,
    }


BY_ROW = "1024 tokens, widened in 8 bits, a scale for each token and each output"


@FAMILIES.also("_scaled_mm")
def by_row(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A scale for each row of the first matrix and each column of the second."""
    yield {**scaled(operator, size, ROW_WISE), WHY: BY_ROW}


@FAMILIES.add("_scaled_mm_v2")
def both_ways(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """One scale for each matrix, and one for each row."""
    one = "1024 tokens, widened in 8 bits, one scale for each matrix"
    yield {**scaled(operator, size, TENSOR_WISE), WHY: one}
    yield {**scaled(operator, size, ROW_WISE), WHY: BY_ROW}
