"""Values that a case passes: tensors to be made, numbers, and what frameworks take beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Union

from opperf.model.base import Struct


class Fill(Struct, frozen=True):
    """How a tensor is filled: a distribution with its domain, or literal data.

    `normal`: mean `low`, standard deviation `high`. `uniform`: in [low, high).
    `integers`: whole numbers in [low, high), whatever the dtype. `constant`: `low`
    everywhere. `sequence`: 0, 1, 2, ... `boolean`: zeros and ones, as many of each. `odds`:
    `low` zeros to `high` ones. `permutation`: 0..n-1 shuffled along the last axis.
    `simplex`: positive, summing to 1 along the last axis.
    `positive_definite`, `lower_triangular`: well-conditioned matrices in the last two axes.
    `boxes`: corner boxes (x1, y1, x2, y2) with x1 < x2, y1 < y2 in [low, high).
    `literal`: `data`. `given`: an object the caller holds, known here by its `digest` only.
    `same`: the very tensor that the argument named by `data` is, for operators that write to
    an input; `data` is the name, or `name.index` for an element of a list.
    """

    distribution: Literal[
        "normal",
        "uniform",
        "integers",
        "constant",
        "sequence",
        "boolean",
        "odds",
        "permutation",
        "simplex",
        "positive_definite",
        "lower_triangular",
        "boxes",
        "literal",
        "given",
        "same",
    ] = "normal"
    low: float = 0.0
    high: float = 1.0
    data: Any = None
    digest: str = ""
    of: str = ""
    """The argument, named as for `same`, whose numbers these are, in this tensor's dtype. That
    argument has to be of the same shape and filled alike; both of real numbers. Empty: numbers
    of its own."""


UNKNOWN = (-1,)
"""Shape of a tensor that the framework infers from the others'."""


class TensorSpec(Struct, frozen=True, tag="tensor"):
    """A tensor to be made: its shape, dtype, contents and layout."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    fill: Fill = Fill()
    layout: str = "dense"
    """`dense`, `csr`, `row_sparse`, or `file`: the operator gets the path of a file of these
    bytes."""
    gradient: bool = False
    """Whether the backward pass computes a gradient for it."""
    array_type: str = ""
    """Which of a framework's array types it is, where there are several, as
    `TensorSpec(array_type="np")`."""
    strides: tuple[int, ...] = ()
    """Elements from one index to the next along each axis; empty for a contiguous tensor."""
    offset: int = 0
    """Elements of the storage before the tensor's first."""
    memory_format: str = ""
    """Order of the axes in memory, in the framework's words (`channels_last`); empty for its
    usual one."""
    device: str = ""
    """Where the tensor lies, if not on the case's device."""
    storage: str = ""
    """Name of the storage; tensors of a case with one name share its bytes. Empty: its own."""

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def steps(self) -> tuple[int, ...]:
        """Elements from one index to the next along each axis."""
        if self.strides:
            return self.strides
        steps = [1]
        for extent in reversed(self.shape[1:]):
            steps.append(steps[-1] * extent)
        return tuple(reversed(steps[: len(self.shape)]))

    @property
    def reach(self) -> int:
        """Elements of the storage up to the tensor's last one."""
        if not self.size:
            return self.offset
        last = sum((extent - 1) * step for extent, step in zip(self.shape, self.steps, strict=True))
        return self.offset + last + 1


class Number(Struct, frozen=True, tag="number"):
    """A number that JSON has no form for: complex, infinite, or NaN."""

    real: str
    """As Python prints it: `inf`, `-inf`, `nan`, `1.5`."""
    imaginary: str = ""
    """Empty for a real number."""

    @classmethod
    def of(cls, value: complex | float) -> Number:
        """The form of a number."""
        if isinstance(value, complex):
            return cls(repr(value.real), repr(value.imag))
        return cls(repr(value))

    @property
    def value(self) -> complex | float:
        """The number itself."""
        return (
            complex(float(self.real), float(self.imaginary)) if self.imaginary else float(self.real)
        )


class DType(Struct, frozen=True, tag="dtype"):
    """A dtype as an argument, by name."""

    name: str


class Device(Struct, frozen=True, tag="device"):
    """A device as an argument, by name; empty for the case's own."""

    name: str = ""


class MemoryFormat(Struct, frozen=True, tag="memory_format"):
    """An order of axes in memory as an argument, by the framework's name."""

    name: str


class Generator(Struct, frozen=True, tag="generator"):
    """A generator of random numbers, seeded anew for each case."""

    seed: int = 0


class Mapping(Struct, frozen=True, tag="mapping"):
    """A dict as an argument, its keys strings."""

    entries: dict[str, Argument] = {}


Scalar = Union[bool, int, float, str, None]
Atom = Union[
    TensorSpec, Number, DType, Device, MemoryFormat, Generator, Mapping, bool, int, float, str, None
]
Inner = Union[Atom, tuple[Atom, ...]]
Element = Union[Atom, tuple[Inner, ...]]
Argument = Union[Atom, tuple[Element, ...]]
"""A value a case passes: a tensor, a plain value, or a list of them, nested three deep at most."""


def iter_tensors(argument: Argument) -> Iterator[TensorSpec]:
    """Every tensor of an argument, lists and mappings opened."""
    if isinstance(argument, TensorSpec):
        yield argument
    elif isinstance(argument, tuple):
        for element in argument:
            yield from iter_tensors(element)
    elif isinstance(argument, Mapping):
        for value in argument.entries.values():
            yield from iter_tensors(value)


def display_argument(argument: Argument) -> Any:
    """An argument as users write it: a tensor as its shape, a list of tensors as a list of
    shapes, a plain value as it is."""
    if isinstance(argument, TensorSpec):
        return list(argument.shape)
    if isinstance(argument, tuple):
        return [display_argument(element) for element in argument]
    if isinstance(argument, Mapping):
        return {name: display_argument(value) for name, value in argument.entries.items()}
    if isinstance(argument, Number):
        return str(argument.value)
    if isinstance(argument, (DType, Device, MemoryFormat)):
        return argument.name
    if isinstance(argument, Generator):
        return f"generator({argument.seed})"
    return argument
