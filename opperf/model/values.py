"""Arguments of cases: specifications of tensors, plain values, and other values frameworks take."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Literal, Union

from opperf.model.declaring import Struct

Drawn = Literal["normal", "uniform", "integers", "zipf", "constant", "boolean", "signs", "odds"]
Arranged = Literal["windows", "sequence", "permutation", "simplex", "padded", "band"]
Counted = Literal["ascending", "parts", "balanced", "chosen"]
Matrices = Literal["positive_definite", "invertible", "lower_triangular", "upper_triangular"]
Boxes = Literal["boxes", "detections", "grid", "coordinates"]
Given = Literal["text", "literal", "function", "given", "same"]


class Fill(Struct, frozen=True):
    """How a tensor's contents are drawn: a distribution with its domain, or literal data.

    `normal`: mean `low`, standard deviation `high`. `uniform`: in [low, high).
    `integers`: integers in [low, high), in any dtype. `constant`: `low` everywhere.
    `windows`: such integers, which count the elements of a map row by row: one inside each window
    of a pooling along the last axes. `data` has, for each of the map's, its extent, a window's
    width, the numerator and denominator of the stride, and the padding.
    `zipf`: such integers, few of them often: as likely as one by their rank in a random order.
    `sequence`: 0, 1, 2, ..., each `low` times and beginning again at `high`, if these are above 1.
    `boolean`: zeros and ones, equally many. `signs`: minus ones and ones, equally many.
    `odds`: `low` zeros to `high` ones. `permutation`: 0..n-1 shuffled along the last axis,
    or n of the numbers below `high`, if those are more.
    `simplex`: positive, summing to 1 along the last axis.
    `padded`: ones, then zeros: of each row along the last axis of several elements a share in
    [low, high) is ones.
    `band`: ones where the column is the row, or up to `high` - 1 before it, as attention to a
    window sees; zeros elsewhere.
    `ascending`: integers from `low` to `high`, which is the last one, at even distances along the
    last axis; in descending order if `low` is the larger. `parts`: integers, equal up to one, that
    sum to `high` along the last axis. `balanced`: each integer of [low, high) as often as any
    other, up to one, in random order. `chosen`: `high` ones at random places, zeros elsewhere.
    `positive_definite`, `lower_triangular`, `upper_triangular`: well-conditioned matrices in the
    last two axes. `invertible`: such matrices with shuffled rows, which LU exchanges.
    `boxes`: corner boxes (x1, y1, x2, y2) with x1 < x2, y1 < y2 in [low, high).
    `detections`: a detector's boxes, (class, score, x1, y1, x2, y2) or those last of these columns
    that fit, of `low` classes, spread around `high` objects of each sample in the unit square.
    `grid`: points to read images at, by column and row in [-1, 1], scaled by `low`, with normal
    noise of standard deviation `high`; a point's numbers lie beside each other if `data` is `last`.
    `coordinates`: each element's index along axis `low`, with normal noise of deviation `high`.
    `text`: texts of `high` words, as long as those of English, in the form `data`, one of `TEXTS`
    of `opperf/frameworks/texts.py`.
    `literal`: `data`. `function`: the array of this `digest` that the function of the case's
    settings returns, at the place `data`. `given`: an object of the caller's, of which only the
    `digest` is known.
    `same`: the tensor of the argument named by `data` itself, for operators that write to an
    input, and for an array that a user passes twice, of which it has the `digest`; `data` is a
    name, or `name.index` for an element of a list.
    """

    distribution: Literal[Drawn, Arranged, Counted, Matrices, Boxes, Given] = "normal"
    low: float = 0.0
    high: float = 1.0
    data: Any = None
    digest: str = ""
    of: str = ""
    """The argument, named as for `same`, whose contents this tensor copies, in its own dtype. Both
    are real, and have the same shape and the same fill. Empty: contents of its own."""
    missing: float = 0.0
    """Share of the elements that are NaN instead, in a floating dtype; of dates, NaT."""
    infinite: float = 0.0
    """Share of the elements that are infinite instead, of either sign, in a floating dtype."""
    real: float = 0.0
    """Share of the elements of a complex tensor that have no imaginary part."""
    dtype: str = ""


UNKNOWN = (-1,)
"""Shape of a tensor whose shape the framework infers from the others'."""


class TensorSpec(Struct, frozen=True, tag="tensor"):
    """Shape, dtype, contents and layout of a tensor."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    fill: Fill = Fill()
    layout: str = "dense"
    """`dense`, `csr`, `row_sparse`, or `file`: the path of a file of these bytes."""
    gradient: bool = False
    array_type: str = ""
    """Array type, if the framework has several, such as `"np"`; empty for its default."""
    strides: tuple[int, ...] = ()
    """Elements between indices of each axis, maybe negative or zero; empty if contiguous."""
    offset: int = 0
    memory_format: str = ""
    """Order of the axes in memory, by the framework's name; empty for its default."""
    device: str = ""
    storage: str = ""
    density: float = 1.0
    block: tuple[int, ...] = ()
    """Rows and columns at the beginning of a `csr` tensor that hold all it stores."""
    gradient_layout: str = ""
    read_only: bool = False
    donated: bool = False
    """Whether the call may write its result to its memory: `donate_argnums` of `jax.jit`."""
    weak_type: bool = False
    """Whether its dtype yields to those of other tensors, as that of a Python number does."""

    @property
    def size(self) -> int:
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def stored(self) -> int:
        """Number of stored elements, or rows if it is `row_sparse`; at least one if sparse."""
        entries = self.shape[0] if self.layout == "row_sparse" else self.size
        most = math.prod(self.block) if self.block else entries
        return min(most, max(1, round(entries * self.density)))

    @property
    def steps(self) -> tuple[int, ...]:
        """Elements from one index to the next along each axis."""
        if self.strides:
            return self.strides
        if self.memory_format in CHANNELS_LAST and len(self.shape) > 2:
            first, channels, *others = self.shape
            outer, *inner, last = _dense_steps((first, *others, channels))
            return (outer, last, *inner)
        return _dense_steps(self.shape)

    @property
    def reach(self) -> int:
        """Number of elements of the storage up to the one of the tensor that is last in it."""
        if not self.size:
            return self.offset
        last = sum(
            max(0, (extent - 1) * step) for extent, step in zip(self.shape, self.steps, strict=True)
        )
        return self.offset + last + 1

    @property
    def is_view(self) -> bool:
        return bool(self.storage or self.strides or self.offset)


CHANNELS_LAST = ("channels_last", "channels_last_3d")
"""Memory formats in which the second axis is the innermost."""


def _dense_steps(shape: tuple[int, ...]) -> tuple[int, ...]:
    steps = [1]
    for extent in reversed(shape[1:]):
        steps.append(steps[-1] * extent)
    return tuple(reversed(steps[: len(shape)]))


class Number(Struct, frozen=True, tag="number"):
    """A number that JSON cannot represent: complex, infinite, or NaN."""

    real: str
    """As Python prints it: `inf`, `-inf`, `nan`, `1.5`."""
    imaginary: str = ""

    @classmethod
    def of(cls, value: complex | float) -> Number:
        if isinstance(value, complex):
            return cls(repr(value.real), repr(value.imag))
        return cls(repr(value))

    @property
    def value(self) -> complex | float:
        return (
            complex(float(self.real), float(self.imaginary)) if self.imaginary else float(self.real)
        )


class DType(Struct, frozen=True, tag="dtype"):
    """An argument that is a dtype, by name."""

    name: str


class Device(Struct, frozen=True, tag="device"):
    """An argument that is a device, by name; empty for the case's own."""

    name: str = ""


class MemoryFormat(Struct, frozen=True, tag="memory_format"):
    """An argument that is an order of axes in memory, by the framework's name."""

    name: str


class Generator(Struct, frozen=True, tag="generator"):
    """An argument that is a generator of random numbers, seeded for each case."""

    seed: int = 0


class Function(Struct, frozen=True, tag="function"):
    """An argument that is a function, by its dotted path."""

    path: str


class Mapping(Struct, frozen=True, tag="mapping"):
    """An argument that is a dict with string keys."""

    entries: dict[str, Argument] = {}


Scalar = Union[bool, int, float, str, None]
Other = Union[Number, DType, Device, MemoryFormat, Generator, Function, Mapping]
Atom = Union[TensorSpec, Other, Scalar]
Inner = Union[Atom, tuple[Atom, ...]]
Element = Union[Atom, tuple[Inner, ...]]
Argument = Union[Atom, tuple[Element, ...]]
"""An argument of a case: a tensor, a plain value, or a list of them, nested at most three deep."""


def iter_tensors(argument: Argument) -> Iterator[TensorSpec]:
    """Yields every tensor of an argument, those in lists and mappings included."""
    if isinstance(argument, TensorSpec):
        yield argument
    elif isinstance(argument, tuple):
        for element in argument:
            yield from iter_tensors(element)
    elif isinstance(argument, Mapping):
        for value in argument.entries.values():
            yield from iter_tensors(value)


def map_tensors(argument: Argument, change: Callable[[TensorSpec], TensorSpec]) -> Argument:
    """Returns the argument with every tensor changed, those in lists and mappings included."""
    if isinstance(argument, TensorSpec):
        return change(argument)
    if isinstance(argument, tuple):
        return tuple(map_tensors(element, change) for element in argument)  # type: ignore[misc]
    if isinstance(argument, Mapping):
        entries = {name: map_tensors(value, change) for name, value in argument.entries.items()}
        return Mapping(entries)
    return argument


DEEPEST = 3
"""Lists in lists that a case's argument may have."""


def nesting(value: object) -> int:
    """Returns how many lists are within each other in a value."""
    return 1 + max(map(nesting, value), default=0) if isinstance(value, tuple) else 0


def display_argument(argument: Argument) -> Any:
    """Returns an argument as users write it: a tensor as its shape."""
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
    if isinstance(argument, Function):
        return argument.path
    return argument
