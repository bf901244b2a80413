"""Contents that depend on a call's other arguments, or results: terms of tables by operator."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from opperf.model import Fill, Operator, TensorSpec
from opperf.rules.shapes import Shape
from opperf.rules.values import Arguments, below


class Unfit(Exception):
    """The arguments of a call lack one that a rule needs, or have another value there."""


class Asked(NamedTuple):
    """A tensor whose contents are asked for, and the call that it is in."""

    arguments: Arguments
    spec: TensorSpec
    position: int = 0
    """In its list."""
    returned: tuple[Shape, ...] = ()
    """Shapes of the tensors that the call returned; none where its source does not say it."""

    def tensor(self, name: str) -> TensorSpec:
        """Returns a tensor of the call. Raises `Unfit`."""
        value = self.arguments.get(name)
        if not isinstance(value, TensorSpec):
            raise Unfit
        return value

    def number(self, name: str, default: int | None = None) -> int:
        """Returns an integer of the call. Raises `Unfit`."""
        value = self.arguments.get(name, default)
        if not isinstance(value, int):
            raise Unfit
        return value

    def numbers(self, name: str) -> Shape:
        """Returns a list of integers of the call. Raises `Unfit`."""
        value = self.arguments.get(name)
        if not isinstance(value, tuple) or not all(isinstance(number, int) for number in value):
            raise Unfit
        return value  # type: ignore[return-value]

    def extent(self, name: str, axis: int) -> int:
        """Returns an extent of a tensor of the call. Raises `Unfit`."""
        return at(self.tensor(name).shape, axis)

    def result(self, index: int = 0) -> Shape:
        """Returns the shape of a tensor that the call returned. Raises `Unfit`."""
        if index >= len(self.returned):
            raise Unfit
        return self.returned[index]


Rule = Callable[[Asked], Fill]
"""Returns the fill of a tensor. Raises `Unfit`."""

Rules = Mapping[str, Mapping[str, Rule]]

Found = TypeVar("Found")


def rules_of(operator: Operator, table: Mapping[str, Mapping[str, Found]]) -> Mapping[str, Found]:
    """Returns what a table has for an operator, or for the one that returns what it writes."""
    return next((table[name] for name in operator.names if name in table), {})


def at(shape: Sequence[int], axis: int) -> int:
    """Returns an extent. Raises `Unfit`."""
    if not -len(shape) <= axis < len(shape):
        raise Unfit
    return shape[axis]


def always(fill: Fill) -> Rule:
    """Returns the rule of a fill that depends on no argument."""
    return lambda asked: fill


def below_extent(name: str, axis: int = 0) -> Rule:
    """Returns the rule of indices along an axis of a tensor."""
    return lambda asked: below(max(1, asked.extent(name, axis)))


def from_one_to_extent(name: str, axis: int) -> Rule:
    """Returns the rule of numbers from one up to an extent of a tensor, as pivots and lengths."""
    return lambda asked: below(asked.extent(name, axis) + 1, start=1)


def below_number(name: str) -> Rule:
    """Returns the rule of indices below a plain argument."""
    return lambda asked: below(max(1, asked.number(name)))


def along(name: str, by: str = "dim") -> Rule:
    """Returns the rule of indices along the axis `by` of a tensor, or of a list of its extents."""

    def rule(asked: Asked) -> Fill:
        value = asked.arguments.get(name)
        shape = value.shape if isinstance(value, TensorSpec) else asked.numbers(name)
        return below(max(1, at(shape, asked.number(by))))

    return rule


def ascending(first: int, last: int) -> Fill:
    """Integers at even distances from the first one to the last one."""
    return Fill("ascending", float(first), float(last))


def parts(total: int) -> Fill:
    """Integers that sum to a total along the last axis."""
    return Fill("parts", 0.0, float(total))


def balanced(count: int) -> Fill:
    """So many different integers from zero, each as often as any other."""
    return Fill("balanced", 0.0, float(count))


def chosen(count: int) -> Fill:
    """So many ones, at random places."""
    return Fill("chosen", 0.0, float(count))


ARRANGED = (
    *("ascending", "parts", "balanced", "chosen", "literal", "constant", "sequence"),
    "windows",
)
"""Distributions of numbers in whose place others of the same range would not be valid."""


def ends(count: Callable[[Asked], int]) -> Rule:
    """Returns the rule of where parts of so many elements begin, and where the last one ends."""
    return lambda asked: ascending(0, count(asked))


def last_ends(count: Callable[[Asked], int]) -> Rule:
    """Returns the rule of where each of the parts of so many elements ends."""

    def rule(asked: Asked) -> Fill:
        total = count(asked)
        return ascending(total // max(1, asked.spec.size), total)

    return rule


def sums_to(count: Callable[[Asked], int]) -> Rule:
    """Returns the rule of lengths of the parts of so many elements."""
    return lambda asked: parts(count(asked))


def extent_of(name: str, axis: int = 0) -> Callable[[Asked], int]:
    """Returns a function of a call that returns an extent of one of its tensors."""
    return lambda asked: asked.extent(name, axis)


def number_of(name: str) -> Callable[[Asked], int]:
    """Returns a function of a call that returns one of its plain arguments."""
    return lambda asked: asked.number(name)


def own_rank(name: str) -> Callable[[Asked], int]:
    """Returns a function of a tensor's extent along the axis that is the asked tensor's last."""
    return lambda asked: asked.extent(name, len(asked.spec.shape) - 1)


def steps_of(total: int, steps: int, sequences: int) -> list[int]:
    """Returns how many of the sequences have each step; see `lengths_of`. Raises `Unfit`."""
    lengths = lengths_of(total, steps, sequences)
    return [sum(length > step for length in lengths) for step in range(steps)]


def lengths_of(total: int, steps: int, sequences: int) -> list[int]:
    """Returns lengths in descending order, with such a sum and such a maximum. Raises `Unfit`."""
    left, others = total - steps, sequences - 1
    if steps < 1 or not others <= left <= others * steps:
        raise Unfit
    made = [steps]
    for place in range(others):
        # The first ones have what is left over.
        made.append(-(-left // (others - place)))
        left -= made[-1]
    return made


def distinct_rows(spec: TensorSpec, count: int) -> Fill:
    """Returns the fill of a tensor with so many different entries along its first axis."""
    inner = math.prod(spec.shape[1:])
    if not 1 <= count <= spec.shape[0]:
        raise Unfit
    return Fill("sequence", float(inner), float(count)) if count > 1 else Fill("constant")


EXACT = {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "int8": 2**7, "uint8": 2**8}
EXACT |= {"int16": 2**15, "bool": 2}
"""How many integers from zero a dtype has, where that may be too few."""


def is_possible(spec: TensorSpec, count: int) -> bool:
    """Whether a tensor can have so many different integers from zero."""
    return 1 <= count <= min(spec.size, EXACT.get(spec.dtype, spec.size))


def different(asked: Asked, count: int) -> Fill:
    """Returns so many different numbers in random order. Raises `Unfit`."""
    if not is_possible(asked.spec, count):
        raise Unfit
    return balanced(count)


def up_to(asked: Asked, largest: int) -> Fill:
    """Returns integers whose largest one is this. Raises `Unfit`."""
    if largest < 0 or not asked.spec.size:
        raise Unfit
    if asked.spec.size > largest:
        return balanced(largest + 1)
    return ascending(0, largest) if at(asked.spec.shape, -1) > 1 else Fill("constant", largest)
