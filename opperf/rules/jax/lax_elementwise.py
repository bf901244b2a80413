"""Families of elementwise functions of `jax.lax`: exponents, bounds and formats, and functions that
no other framework has."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.domains import PAIRS
from opperf.rules.families.elementwise import broadcasting
from opperf.rules.jax.operations.lax_elementwise import TO_EVEN
from opperf.rules.registering import Families
from opperf.rules.shapes import DISPATCH, column, slim, square
from opperf.rules.sizes import Preset
from opperf.rules.values import POSITIVE, Arguments, between, fixed, tensor

FAMILIES = Families()


@FAMILIES.add("lax.nextafter")
def nextafter(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two tensors, of which one may be broadcast."""
    for left, right, why in broadcasting(size):
        yield {"x1": tensor(*left), "x2": tensor(*right), WHY: why}


@FAMILIES.add("lax.integer_pow")
def integer_power(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Positive bases, and exponents that are multiplied out."""
    for exponent, why in (
        (2, "squares, as of an error: one product"),
        (3, "cubes, as in the polynomial of GELU's approximation: two products"),
        (-1, "reciprocals, as of a norm: one division"),
        (10, "tenth powers, by squares of squares: four products"),
    ):
        yield {"x": tensor(*square(size), fill=POSITIVE), "y": exponent, WHY: why}


@FAMILIES.also("lax.clamp")
def clamp_between_tensors(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor with bounds for each element, as of a projected gradient step."""
    shape = square(size)
    yield {
        "min": fixed(*shape, fill=between(-1.0, 0.0)),
        "x": tensor(*shape),
        "max": fixed(*shape, fill=between(0.0, 1.0)),
    }


@FAMILIES.also("lax.round")
def round_to_even(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Halves rounded to even, as `jax.numpy.round` and fake quantisation do."""
    yield {"x": tensor(*square(size)), "rounding_method": TO_EVEN}


@FAMILIES.add("lax.igamma", "lax.igammac")
def incomplete_gamma(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Shape parameters and places. A matrix of a million elements would take XLA a second: its
    loops run until the slowest element converges."""
    fills = PAIRS["gammainc"]
    shape = slim(size)
    places = tensor(*shape, fill=fills.right)
    for a, why in (
        (fixed(*shape, fill=fills.left), "a chi-square test's p-values, each of its own freedom"),
        (fixed(1, shape[1], fill=fills.left), "parameters of each column, as of fitted features"),
        (tensor(*shape, fill=fills.left), "a gamma distribution that is learnt: both gradients"),
    ):
        yield {"a": a, "x": places, WHY: why}


@FAMILIES.add("lax.mulhi")
def high_half(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two tensors of words of 32 bits."""
    words = fixed(*square(size), fill=between(0.0, 2.0**31), dtype="int32")
    yield {"x": words, "y": words, WHY: "the upper halves of products, as a counter's generator"}


@FAMILIES.add("lax.polynomial")
def polynomial(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Places, and coefficients from the constant on."""
    coefficients = (1.0, -0.5, 0.25, -0.125, 0.0625)
    for shape, why in (
        (square(size), "a quartic in Horner's form, as in the approximation of a special function"),
        (column(size), DISPATCH),
    ):
        yield {"x": tensor(*shape), "coeffs": coefficients, WHY: why}


FORMATS = {
    (5, 10): "to float16's bits, as a check of what half precision loses",
    (8, 7): "to bfloat16's bits, as of the inputs of a TPU's matrix unit",
}
"""Bits of exponent and mantissa, and why numbers are rounded to them."""


@FAMILIES.add("lax.reduce_precision")
def reduce_precision(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, and the bits of a narrower format."""
    for (exponent, mantissa), why in FORMATS.items():
        yield {
            "operand": tensor(*square(size)),
            "exponent_bits": exponent,
            "mantissa_bits": mantissa,
            WHY: why,
        }
