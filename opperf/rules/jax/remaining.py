"""Families of functions of `jax.numpy` that NumPy has under other names, or not as functions of
arrays."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import DType, Fill, Operator
from opperf.rules.configurations import WHY
from opperf.rules.jax.functions import body
from opperf.rules.registering import Families
from opperf.rules.shapes import DISPATCH, column, line, slim, square
from opperf.rules.sizes import Preset
from opperf.rules.values import OPEN_UNIT, REQUESTED, Arguments, fixed, tensor, tensors

FAMILIES = Families()

CONVERTED = {"jnp.array": "object", "jnp.asarray": "a", "jnp.copy": "a", "jnp.from_dlpack": "x"}
"""The array that a function copies or converts."""


@FAMILIES.add(*CONVERTED)
def convert(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix and few elements, as they are; a matrix in another dtype, where the function has
    one."""
    name = next(CONVERTED[one] for one in operator.names if one in CONVERTED)
    yield {name: tensor(*square(size)), WHY: "a matrix as it is, as of data that may be JAX's"}
    if operator.parameter("dtype") is not None:
        yield {
            name: tensor(*square(size), dtype="int32"),
            "dtype": DType(REQUESTED),
            WHY: "whole numbers to the dtype of a network, as pixels",
        }
    yield {name: tensor(*column(size)), WHY: DISPATCH}


@FAMILIES.add("jnp.polyval")
def polynomial(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A polynomial of degree 4. For a million numbers XLA would fold zeros of its unrolled backward
    pass for a quarter of a minute."""
    for shape, why in ((slim(size), FITTED), (column(size), DISPATCH)):
        yield {"p": tensor(5), "x": tensor(*shape, fill=OPEN_UNIT), WHY: why}


FITTED = "a quartic that was fitted to a curve, at many places"

NOT_BENCHMARKED = {
    "jnp.fromiter": "JAX does not implement it: it raises an error for any arguments",
    "jnp.mask_indices": "calls a Python function for a mask, whose time would be measured",
}
"""Functions that cannot be called on their own, each with the reason."""


@FAMILIES.also("jnp.piecewise")
def functions_of_pieces(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Functions of the elements where masks are set, where NumPy's inputs have numbers."""
    for why, shape in (
        ("a leaky rectifier written in two pieces", square(size)),
        ("the same of a shorter vector", line(size)),
    ):
        positive = fixed(*shape, fill=Fill("boolean"), dtype="bool")
        yield {
            "x": tensor(*shape),
            "condlist": tensors([positive]),
            "funclist": (body("unchanged"), body("leak")),
            WHY: why,
        }
