"""Special functions of two arguments or with an order, and functions of complex numbers."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from opperf.model import Fill, TensorSpec
from opperf.operations import OPERATIONS, CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import WHY
from opperf.rules.domains import PAIRS
from opperf.rules.families.elementwise import ROWS, of_one
from opperf.rules.registering import Families
from opperf.rules.shapes import DISPATCH, Shape, column, slim, square
from opperf.rules.sizes import Preset
from opperf.rules.values import ABOVE_ONE, POSITIVE, PROBABILITY, fixed, tensor

FAMILIES = Families()

COMPLEX = "complex64"
"""Dtype of functions of complex numbers, which compute little of real ones."""


@FAMILIES.operation(
    *(name for name, operation in OPERATIONS.items() if set(operation.inputs) == {"z"})
)
def of_complex(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """One tensor of complex numbers, as of a spectrum."""
    for shape, why in of_one(size):
        yield {"z": tensor(*shape, dtype=COMPLEX), **why}


FIRST_WITHOUT_GRADIENT = ("gammainc", "gammaincc", "zeta")
"""Functions whose derivative in their first argument has no closed form, and frameworks lack."""
POLYNOMIALS = tuple(
    name for name, operation in OPERATIONS.items() if set(operation.inputs) == {"x", "degree"}
)
"""Polynomials, which frameworks have no gradient of."""


DERIVATIVES = ("gammainc_derivative", "gamma_sample_derivative")
"""Derivatives of functions, which frameworks have no further gradient of."""

SLOW = frozenset({"betainc", "polygamma", "zeta", *DERIVATIVES})
"""Functions that take half a microsecond for an element, or their derivatives do: a matrix of a
million takes too long."""


def largest(name: str, size: Preset) -> Shape:
    """The shape of the largest tensors that a function is measured with."""
    return slim(size) if name in SLOW else square(size)


@FAMILIES.operation(*FIRST_WITHOUT_GRADIENT, *DERIVATIVES, *POLYNOMIALS)
def of_two(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two tensors of one shape, or one with a row's values for all rows: these take too long for
    more shapes."""
    shape = largest(operation.name, size)
    first, second = operation.inputs
    for left, right, why in (
        (shape, shape, "two tensors of one shape: both vary from element to element"),
        (shape, (1, shape[-1]), "a matrix and a row, as parameters of each feature"),
        (column(size), column(size), DISPATCH),
    ):
        one, other = pair(operation.name, left, right)
        yield {first: one, second: other, WHY: why}


def pair(name: str, left: Shape, right: Shape) -> tuple[TensorSpec, TensorSpec]:
    """The two tensors of a function of `of_two`."""
    fills = PAIRS[name]
    second = tensor(*right, fill=fills.right)
    return fixed(*left, fill=fills.left), msgspec.structs.replace(
        second, gradient=name in FIRST_WITHOUT_GRADIENT
    )


@FAMILIES.operation("betainc")
def betainc(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Both parameters and places between 0 and 1. Only places have a gradient of closed form."""
    shape = largest(operation.name, size)
    for parameters, places, why in (
        (shape, shape, "as a test's p-values by Student's distribution: all vary by element"),
        ((1, shape[-1]), shape, "parameters of each column, as a binomial distribution's tails"),
        (column(size), column(size), DISPATCH),
    ):
        yield {
            "a": fixed(*parameters, fill=POSITIVE),
            "b": fixed(*parameters, fill=POSITIVE),
            "x": tensor(*places, fill=PROBABILITY),
            WHY: why,
        }


ORDERS: dict[str, tuple[int, Fill, str]] = {
    # Defined above half of the order less one.
    "multigammaln": (3, ABOVE_ONE, "of order three, as Wishart's distribution of three features"),
    "polygamma": (1, POSITIVE, "trigamma, as the variance of a logarithm"),
}
"""Order, fill of the tensor, and what it is for."""


@FAMILIES.operation(*ORDERS)
def of_order(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """One tensor, and the order of the function."""
    order, fill, use = ORDERS[operation.name]
    for shape, why in ((largest(operation.name, size), use), (column(size), DISPATCH)):
        yield {"x": tensor(*shape, fill=fill), "order": order, WHY: why}


@FAMILIES.operation("round_to")
def round_to(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A tensor to round to tenths."""
    for shape, why in of_one(size, ROWS):
        yield {"x": tensor(*shape), "decimals": 1, **why}
