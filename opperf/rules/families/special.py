"""Special functions of two arguments or with an order, and functions of complex numbers."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Fill, TensorSpec
from opperf.operations import OPERATIONS, CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import WHY
from opperf.rules.domains import (
    DERIVATIVES,
    DOMAINS,
    PAIRS,
    WHOLE_DTYPE,
    fewest,
    largest,
    notes_of_fewest,
)
from opperf.rules.families.elementwise import TO_TENTHS, of_one
from opperf.rules.registering import Families
from opperf.rules.shapes import FEW, MOSTLY_DISPATCH, Shape, line
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    ABOVE_ONE,
    NORMAL,
    POSITIVE,
    PROBABILITY,
    REQUESTED,
    below,
    between,
    fixed,
    tensor,
)

FAMILIES = Families()

COMPLEX = "complex64"
"""Dtype of functions of complex numbers, which compute little of real ones."""


@FAMILIES.operation(*(name for name, one in OPERATIONS.items() if set(one.inputs) == {"z"}))
def of_complex(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """One tensor of complex numbers, like a spectrum."""
    fill = DOMAINS.get(operation.name, NORMAL)
    for shape, why in of_one(size, name=operation.name):
        yield {"z": tensor(*shape, fill=fill, dtype=COMPLEX), **why}


FIRST_WITHOUT_GRADIENT = ("gammainc", "gammaincc", "zeta")
"""Functions whose derivative in their first argument has no closed form, and frameworks lack."""
POLYNOMIALS = tuple(name for name, one in OPERATIONS.items() if set(one.inputs) == {"x", "degree"})
"""Polynomials, which frameworks have no gradient of."""


@FAMILIES.operation(*FIRST_WITHOUT_GRADIENT, *DERIVATIVES, *POLYNOMIALS)
def of_two(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two tensors of one shape, or one and a row: these take too long for more shapes."""
    shape, few = largest(operation.name, size), fewest(operation.name, size)
    first, second = operation.inputs
    alike: Roles = {WHY: "two tensors of one shape: both vary from element to element"}
    summed: Roles = {WHY: "a matrix and a row: the row's gradient is a sum over all others"}
    called = notes_of_fewest(operation.name)
    rows = [(shape, shape, alike), (shape, (1, shape[-1]), summed), (few, few, called)]
    if operation.name not in FIRST_WITHOUT_GRADIENT:
        del rows[1]
    for left, right, notes in rows:
        one, other = pair(operation.name, left, right)
        yield {first: one, second: other, **notes}


def pair(name: str, left: Shape, right: Shape) -> tuple[TensorSpec, TensorSpec]:
    """The two tensors of a function of `of_two`."""
    fills = PAIRS[name]
    second = tensor(*right, fill=fills.right, gradient=name in FIRST_WITHOUT_GRADIENT)
    return fixed(*left, fill=fills.left), second


ORDERS: dict[str, tuple[int, Fill, str]] = {
    # Below nine the derivative of a recurrence from order fifty overflows single precision.
    "bessel_j_up_to": (4, between(9.0, 20.0), "orders zero to four, as the modes of an antenna"),
    # Defined above half of the order less one.
    "multigammaln": (3, ABOVE_ONE, "of order three, as Wishart's distribution of three features"),
    "polygamma": (1, POSITIVE, "trigamma, as the variance of a logarithm"),
}
"""Order, fill of the tensor, and what it is for."""


@FAMILIES.operation(*ORDERS)
def of_order(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """One tensor, and the order of the function."""
    order, fill, use = ORDERS[operation.name]
    name = operation.name
    for shape, notes in ((largest(name, size), {WHY: use}), (fewest(name, size), FEW)):
        yield {"x": tensor(*shape, fill=fill), "order": order, **notes}


@FAMILIES.operation("round_to")
def round_to(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """A tensor to round to tenths."""
    for shape, why in of_one(size, TO_TENTHS):
        yield {"x": tensor(*shape), "decimals": 1, **why}


PARAMETRISED: dict[str, tuple[dict[str, Fill], str]] = {
    "betainc": (
        {"a": between(0.5, 5.0), "b": between(0.5, 5.0)},
        "cumulative probabilities of Beta's distribution",
    ),
    "expn": ({"order": below(6, start=1)}, "of orders one to five, as radiation in air"),
    "hyp1f1": ({"a": POSITIVE, "b": ABOVE_ONE}, "Kummer's function, as noncentral moments"),
    "hyp2f1": ({"a": POSITIVE, "b": POSITIVE, "c": ABOVE_ONE}, "Gauss's, for negative binomials"),
}
"""Fills of the parameters of functions of several, and what they are for."""

ARGUMENTS: dict[str, Fill] = {
    "betainc": PROBABILITY,
    # On both sides of one, where a series gives way to a continued fraction.
    "expn": between(0.1, 5.0),
    "hyp1f1": between(-5.0, 5.0),
    # The radius of convergence is one.
    "hyp2f1": between(-0.8, 0.8),
}
"""Fills of the last tensor of these functions."""


@FAMILIES.operation(*PARAMETRISED)
def of_parameters(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Parameters, whose derivatives frameworks lack, and a tensor, of one shape."""
    fills, use = PARAMETRISED[operation.name]
    shapes: dict[Shape, Roles] = {largest(operation.name, size): {WHY: use}}
    shapes.setdefault(fewest(operation.name, size), notes_of_fewest(operation.name))
    for shape, notes in shapes.items():
        made: Roles = {
            role: fixed(*shape, fill=fill, dtype=WHOLE_DTYPE if role == "order" else REQUESTED)
            for role, fill in fills.items()
        }
        yield {**made, "x": tensor(*shape, fill=ARGUMENTS[operation.name]), **notes}


DEGREE = 4
"""The largest degree of spherical harmonics, up to which crystals' order parameters go."""


@FAMILIES.operation("spherical_harmonic")
def spherical_harmonic(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Degrees and orders, and the angles of directions."""
    (count,) = line(size)
    yield {
        "degree": fixed(count, fill=below(DEGREE + 1, start=2), dtype=WHOLE_DTYPE),
        # No order exceeds the lowest degree.
        "order": fixed(count, fill=below(3), dtype=WHOLE_DTYPE),
        "theta": tensor(count, fill=between(0.1, 3.0)),
        "phi": tensor(count, fill=between(0.0, 6.0)),
        WHY: "directions to neighbours, as order parameters and equivariant networks take them",
    }


@FAMILIES.operation("bernoulli_numbers")
def bernoulli_numbers(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """The last number that single precision can represent is the 62nd."""
    yield {"last": 30, WHY: f"coefficients of an asymptotic series: {MOSTLY_DISPATCH}"}
