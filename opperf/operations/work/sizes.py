"""Sizes of a call, which formulas of operations and bytes are functions of; and the formulas of
classes of operations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple


class Sizes:
    """Inputs of a call by role, and its results, without data."""

    def __init__(
        self,
        roles: Callable[[], Mapping[str, Any]],
        read: tuple[int, ...] = (),
        made: tuple[int, ...] = (),
        moved: int = 0,
        made_bytes: int = 0,
        rewritten: int = 0,
        differentiated: int = 0,
    ) -> None:
        """`roles` returns the inputs, arrays without data and plain values, or raises; `read` and
        `made` are the elements of each tensor given and returned; `moved` the bytes of all of
        them, `made_bytes` of the results, `rewritten` of the inputs that are results too;
        `differentiated` the number of inputs with a gradient."""
        self._roles, self._known = roles, dict[str, Any]()
        self.read, self.made, self.moved = read, made or read, moved
        self.made_bytes, self.rewritten = made_bytes, rewritten
        self.differentiated = differentiated
        self.result = max(self.made, default=0)
        """Elements of the largest result."""
        self.widest = max(read, default=0)
        """Elements of the largest input."""

    def get(self, role: str, otherwise: Any = None) -> Any:
        """Returns an input, or something else where the call has none."""
        if not self._known:
            self._known = dict(self._roles())
        found = self._known.get(role)
        return otherwise if found is None else found

    def size(self, role: str) -> int:
        """Elements of an input; 1 of a number, 0 of none."""
        found = self.get(role)
        return 0 if found is None else int(getattr(found, "size", 1))

    def shape(self, role: str) -> tuple[int, ...]:
        """Extents of an input."""
        return tuple(getattr(self.get(role), "shape", ()))

    def bytes(self, role: str) -> int:
        """Bytes of an input; 0 of a number. Of a list, those of all its arrays."""
        found = self.get(role)
        if isinstance(found, (list, tuple)):
            return sum(int(getattr(array, "nbytes", 0)) for array in found)
        return int(getattr(found, "nbytes", 0))

    def along(self, role: str, axes: Any) -> int:
        """Product of an input's extents along some axes, of all where they are None."""
        shape = self.shape(role)
        return math.prod(shape if axes is None else (shape[axis] for axis in listed(axes)))

    def with_gradient(self, *roles: str) -> int:
        """The number of inputs of these roles that have a gradient."""
        return sum(bool(getattr(self.get(role), "gradient", False)) for role in roles)


def listed(value: Any) -> list[int]:
    """Returns a list of integers, of one a list of it."""
    return [int(number) for number in value] if isinstance(value, Iterable) else [int(value)]


def log2(value: float) -> float:
    """Returns the logarithm, of one and less that of two: no step is free."""
    return math.log2(max(2.0, value))


Count = Callable[[Sizes], float]
Backward = Callable[[Sizes, float], "float | None"]
"""Operations of the gradient, from the sizes and the operations of the call; None if unknown."""


class Formula(NamedTuple):
    """The operations of an operation's call and of its gradient, and its bytes."""

    flops: Count
    backward: Backward = lambda call, forward: None
    bytes: Count = lambda call: call.moved + call.rewritten
    """By default each input is read once, each result written once."""


def by_gradient(call: Sizes, forward: float) -> float:
    """A derivative times the gradient of the result, for each input that has one."""
    return float(call.result * call.differentiated)


def as_forward(call: Sizes, forward: float) -> float:
    """The gradient of a linear function takes as much as the function."""
    return forward


def nothing(call: Sizes, forward: float) -> float:
    """The gradient is that of the result, as it is, spread or in part."""
    return 0.0


def added_up(call: Sizes, forward: float) -> float:
    """An element that was copied to several places has the sum of their gradients."""
    return float(call.result)


def times(share: float) -> Backward:
    """Operations for each element of the result."""
    return lambda call, forward: share * call.result


def by_factor(*roles: str) -> Backward:
    """The gradient of each factor is a product with the others, of as many operations."""
    return lambda call, forward: forward * call.with_gradient(*roles)


def only_written(call: Sizes) -> float:
    """Bytes of the results: of what is given only the extents count, or numbers."""
    return call.made_bytes


def only_part_of(role: str) -> Count:
    """Bytes where of an input only as much is read as is written."""
    return lambda call: call.moved - max(0, call.bytes(role) - call.made_bytes)


def without(role: str) -> Count:
    """Bytes where of one input only the extents count."""
    return lambda call: call.moved - call.bytes(role)


def written_part(values: str, accesses: int) -> Count:
    """Bytes where a part of an array is written, and `accesses` is 2 if it is read before. One that
    is written in place is not touched elsewhere."""

    def count(call: Sizes) -> float:
        part = min(call.bytes(values) or call.rewritten, call.rewritten)
        return call.moved - call.rewritten + accesses * part

    return lambda call: count(call) if call.rewritten else call.moved


def per_result(share: float) -> Count:
    """Operations for each element of the result."""
    return lambda call: share * call.result


def per_element(role: str, share: float = 1) -> Count:
    """Operations for each element of an input."""
    return lambda call: share * call.size(role)


def _widest(call: Sizes, forward: float = 0) -> float:
    return float(call.widest)


ELEMENTWISE = Formula(per_result(1), by_gradient)
SUMS_OF_TWO = Formula(per_result(1), nothing)
REDUCTION = Formula(_widest, _widest)
"""Backward, each element's share of the result's gradient."""
SUM = Formula(_widest, nothing)
COPY = Formula(per_result(0), nothing)
COPIES = Formula(per_result(0), lambda call, forward: float(call.result))
"""Elements are copied to several places."""
CREATION = Formula(per_result(0), nothing, only_written)
UNWRITTEN = Formula(per_result(0), nothing, per_result(0))
"""Memory that is not written, or what an array says of itself."""
COMPUTED = Formula(per_result(1), nothing, only_written)
"""A function of numbers or of random bits for each element."""


def gathered(role: str) -> Formula:
    """Elements of an array by their places, of which some may be read several times."""
    return Formula(per_result(0), added_up, only_part_of(role))


def cut(role: str) -> Formula:
    """A part of an array."""
    return Formula(per_result(0), nothing, only_part_of(role))


def scattered(values: str, accesses: int) -> Formula:
    """Values that are written to a part of an array, 1, or added to it, 2."""
    return Formula(per_element(values, accesses - 1), nothing, written_part(values, accesses))
