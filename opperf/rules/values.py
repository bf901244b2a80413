"""Short names for values in rules: tensors, lists, fills; arguments of another dtype or name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from opperf.dtypes import HALF_PRECISION, kind_of
from opperf.model import Argument, DType, Fill, Kind, Operator, TensorSpec, map_tensors
from opperf.rules.configurations import NOTES

REQUESTED = ""
"""Placeholder for the requested dtype."""

AT_LEAST_SINGLE = "single"
"""As `REQUESTED`, but float32 where the user asks for half precision: parameters and statistics
that a layer keeps in full precision beside half-precision data."""

COMPLEX = "complex"
"""As `REQUESTED`, but complex numbers: complex128 beside double precision, else complex64."""

NORMAL = Fill("normal", 0.0, 1.0)
POSITIVE = Fill("uniform", 0.5, 2.0)
"""Positive and away from zero: for logarithms, roots and divisors."""
PROBABILITY = Fill("uniform", 0.05, 0.95)
OPEN_UNIT = Fill("uniform", -0.95, 0.95)
"""Inside (-1, 1): for arcsin, arctanh, erfinv."""
ABOVE_ONE = Fill("uniform", 1.1, 3.0)
ZEROS = Fill("constant", 0.0)
ONES = Fill("constant", 1.0)
BOOLEAN = Fill("boolean")
SIGNS = Fill("signs")
SEQUENCE = Fill("sequence")
SIMPLEX = Fill("simplex")
POSITIVE_DEFINITE = Fill("positive_definite")
INVERTIBLE = Fill("invertible")
LOWER_TRIANGULAR = Fill("lower_triangular")
UPPER_TRIANGULAR = Fill("upper_triangular")
PADDED = Fill("padded", 0.25, 0.75)
"""Of a mask of a batch's tokens: a quarter to three quarters of each length, before padding."""
UNIT_BOXES = Fill("boxes", 0.0, 1.0)
WARPED = Fill("grid", 1.05, 0.01, data="last")
"""Places that follow an image's own grid; those at its rims are beyond it."""


def below(limit: int, start: int = 0) -> Fill:
    """Integers from `start` up to, not including, `limit`, as indices need."""
    return Fill("integers", float(start), float(limit))


class MapAxis(NamedTuple):
    """An axis of a map, and the windows along it: the first begins at minus the padding, and each
    further one a stride behind the one before, rounded down."""

    extent: int
    width: int
    stride: int
    """In elements, over `divisor`."""
    divisor: int = 1
    padding: int = 0


def windows(axes: Sequence[MapAxis]) -> Fill:
    """Indices of a map's elements, counted row by row, one inside each window, like maxima."""
    count = math.prod(axis.extent for axis in axes)
    return Fill("windows", 0.0, float(count), data=_as_lists(axes))


def zipf(limit: int) -> Fill:
    """Integers from zero up to, not including, `limit`, as often as the words of a text."""
    return Fill("zipf", 0.0, float(limit))


def up_to_limit(fill: Fill, limit: float) -> Fill:
    """The fill with its integers up to another limit; of another map the windows are unknown."""
    if limit == fill.high:
        return fill
    made = below(int(limit), int(fill.low))
    return made if fill.distribution == "windows" else msgspec.structs.replace(fill, high=limit)


BELOW = ("balanced", "integers", "windows", "zipf")
"""Distributions of integers in the range of the fill."""


def repeated(times: int) -> Fill:
    """Integers from zero in order, each so many times, as the bag of each of its elements."""
    return Fill("sequence", float(times), 1.0)


def different(fill: Fill, extent: int) -> int:
    """Returns how many different integers a fill in order, or shuffled, has along an axis."""
    if fill.distribution != "sequence":
        return extent
    found = math.ceil(extent / max(1, fill.low))
    return min(found, int(fill.high)) if fill.high > 1 else found


def between(low: float, high: float) -> Fill:
    """Uniform numbers in [low, high)."""
    # A run file reads them back as floats, and a case's id would not be the same for 0 as for 0.0.
    return Fill("uniform", float(low), float(high))


def odds(zeros: int, ones: int) -> Fill:
    """Zeros and ones in the ratio `zeros` to `ones`."""
    return Fill("odds", float(zeros), float(ones))


def text(words: int = 1, form: str = "words") -> Fill:
    """Texts of so many words, in a form of `TEXTS` of `opperf/frameworks/texts.py`."""
    return Fill("text", 0.0, float(words), data=form)


def literal(data: object) -> Fill:
    """Literal data, a number or nested sequences of numbers; stored as lists, like JSON's."""
    return Fill("literal", data=_as_lists(data))


def _as_lists(data: object) -> object:
    return [_as_lists(element) for element in data] if isinstance(data, (list, tuple)) else data


def tensor(
    *shape: int, fill: Fill = NORMAL, dtype: str = REQUESTED, gradient: bool = True
) -> TensorSpec:
    """A tensor that takes a gradient, by default of the requested dtype."""
    return TensorSpec(shape, dtype, fill, "dense", gradient)


def sparse(
    layout: str,
    *shape: int,
    density: float,
    fill: Fill = NORMAL,
    dtype: str = REQUESTED,
    gradient: bool = True,
) -> TensorSpec:
    """A tensor of a sparse layout that stores this share of its elements, or of its rows."""
    return TensorSpec(shape, dtype, fill, layout, gradient, density=density)


def fixed(*shape: int, fill: Fill = NORMAL, dtype: str = REQUESTED) -> TensorSpec:
    """A tensor that takes no gradient: indices, labels, running statistics, masks."""
    return TensorSpec(shape, dtype, fill, "dense", False)


def donated(*shape: int) -> TensorSpec:
    """A tensor whose memory the call may write its result to, of which no gradient is taken."""
    return TensorSpec(shape, REQUESTED, NORMAL, donated=True)


def tensors(specs: Iterable[TensorSpec]) -> tuple[TensorSpec, ...]:
    """A list of tensors, for a variadic parameter."""
    return tuple(specs)


Arguments = dict[str, Argument]


def call(**arguments: Argument) -> Arguments:
    """The arguments of a call."""
    return arguments


def named(names: str) -> Callable[..., Arguments]:
    """Returns a function that returns arguments of these names, of values in this order."""
    return lambda *values: dict(zip(names.split(), values, strict=True))


def taken(operator: Operator, offered: Mapping[str, Argument]) -> Arguments:
    """Those of the arguments of operators of a kind that one of them has, and the notes."""
    names = {*NOTES, *(parameter.name for parameter in operator.parameters)}
    return {name: value for name, value in offered.items() if name in names}


def rounded_copy(fill: Fill, name: str) -> Fill:
    """The fill of a lower-precision copy of the argument `name`, or `name.index`, of this fill."""
    return msgspec.structs.replace(fill, of=name)


def same(spec: TensorSpec, name: str) -> TensorSpec:
    """The tensor that is the argument `name`, or `name.index`: the output of an update in place."""
    return TensorSpec(
        spec.shape, spec.dtype, Fill("same", data=name), spec.layout, density=spec.density
    )


def without_gradients(arguments: Arguments) -> Arguments:
    """The arguments with no tensor that takes a gradient."""
    return {
        name: map_tensors(value, lambda spec: msgspec.structs.replace(spec, gradient=False))
        for name, value in arguments.items()
    }


def holds_tensors(argument: Argument) -> bool:
    """Whether an argument is a tensor or a list of tensors."""
    return isinstance(argument, TensorSpec) or (
        isinstance(argument, tuple) and any(isinstance(e, TensorSpec) for e in argument)
    )


def rename_arguments(operator: Operator, arguments: Arguments) -> Arguments:
    """The arguments under a callable's own parameter names.

    Rules use the names of registered operators. A wrapper (`np.sum`, whose first argument is `a`)
    may rename tensors, but keeps their order, and may lack some of the plain values.
    """
    accepted = [parameter.name for parameter in operator.parameters]
    if operator.namespace or not accepted:
        return arguments
    own: Arguments = {}
    tensors = [name for name, value in arguments.items() if holds_tensors(value)]
    for position, name in enumerate(tensors):
        renamed = name if name in accepted or position >= len(accepted) else accepted[position]
        own[renamed] = arguments[name]
    return own | {
        name: value for name, value in arguments.items() if name not in tensors and name in accepted
    }


def with_dtype(operator: Operator, arguments: Arguments, dtype: str) -> Arguments:
    """The arguments with the requested dtype where a rule leaves it open, in tensors and in
    arguments that are dtypes.

    Tensors of integers take no gradient. An operator without tensors gets the dtype as its
    parameter. Of several dtypes that a rule has for that parameter, the first that is not the
    tensors' own is used.
    """
    made = {
        name: DType(dtype)
        if value == DType(REQUESTED)
        else map_tensors(value, lambda spec: in_requested_dtype(spec, dtype))
        for name, value in arguments.items()
    }
    choices = made.get("dtype")
    if isinstance(choices, tuple):
        made["dtype"] = next(other for other in choices if other != dtype)
    choice = operator.parameter("dtype")
    takes_it = choice is not None and choice.kind is Kind.ENUM and dtype in choice.choices
    if takes_it and not operator.tensors:
        made.setdefault("dtype", dtype)
    return made


DIFFERENTIABLE = ("float", "complex")
"""Kinds of dtypes whose tensors may take a gradient."""


def in_requested_dtype(spec: TensorSpec, dtype: str) -> TensorSpec:
    """A tensor with the requested dtype where its rule leaves that open."""
    single = "float32" if dtype in HALF_PRECISION else dtype
    spectrum = "complex128" if dtype in ("float64", "complex128") else "complex64"
    own = {REQUESTED: dtype, AT_LEAST_SINGLE: single, COMPLEX: spectrum}
    made = own.get(spec.dtype, spec.dtype)
    gradient = spec.gradient and kind_of(made) in DIFFERENTIABLE
    return msgspec.structs.replace(spec, dtype=made, gradient=gradient)


def transposed(spec: TensorSpec) -> TensorSpec:
    """The tensor in the memory of its transpose, as `a.mT`; a vector as it is."""
    if len(spec.shape) < 2:
        return spec
    *outer, _, _ = _strides(spec)
    return msgspec.structs.replace(spec, strides=(*outer, 1, spec.shape[-2]))


def every_other_column(spec: TensorSpec) -> TensorSpec:
    """The tensor as `a[..., ::2]` of one twice as wide; a vector as it is."""
    if len(spec.shape) < 2:
        return spec
    return msgspec.structs.replace(spec, strides=tuple(2 * stride for stride in _strides(spec)))


def _strides(spec: TensorSpec) -> tuple[int, ...]:
    return tuple(math.prod(spec.shape[axis + 1 :]) for axis in range(len(spec.shape)))
