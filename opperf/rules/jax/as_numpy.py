"""Inputs of `jax.numpy` as NumPy's functions of the same names have them.

A configuration with an argument that JAX's function lacks is omitted. Integers have 32
bits, as JAX has none of 64 unless it is asked for them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from opperf.model import Argument, Operator, TensorSpec, map_tensors
from opperf.operations.uses import Choice, Roles, Table, Use, Values, only_if
from opperf.rules.configurations import inputs_of
from opperf.rules.jax.beside_numpy import as_returned, numpy_values, retold, with_further
from opperf.rules.numpy import MODULES as NUMPY_MODULES
from opperf.rules.numpy import elementwise, integers, reductions
from opperf.rules.registering import Families, Family, NoInputs, listed, merged, with_rows
from opperf.rules.sizes import Preset
from opperf.rules.values import REQUESTED, Arguments

PREFIX = "jnp."

NARROW = {"int64": "int32", "uint64": "uint32", "complex128": "complex64", "float64": "float32"}
"""Dtypes that JAX has in their place."""

RENAMED: Mapping[str, Mapping[str, str]] = {
    **dict.fromkeys(
        (
            *("add", "bitwise_and", "bitwise_or", "bitwise_xor", "equal", "float_power"),
            *("greater", "greater_equal", "left_shift", "less", "less_equal", "logaddexp"),
            *("logaddexp2", "logical_and", "logical_or", "logical_xor", "maximum", "minimum"),
            *("multiply", "nextafter", "not_equal", "subtract"),
        ),
        {"x1": "x", "x2": "y"},
    ),
    "linalg.matrix_rank": {"A": "M"},
    "matmul": {"x1": "a", "x2": "b"},
    "reshape": {"newshape": "shape"},
}
"""JAX's names of the arguments of NumPy's functions, where they differ."""

LACKING = frozenset({"in1d", "trapz"})
"""NumPy's functions that JAX does not have, beside all that draw random numbers."""

COPIED: Mapping[str, Family | None] = {
    **dict.fromkeys(
        (
            *(
                "array",
                "asarray",
                "broadcast_to",
                "copy",
                "diagonal",
                "flip",
                "from_dlpack",
                "moveaxis",
            ),
            *("rollaxis", "swapaxes", "transpose"),
        ),
        None,
    ),
    **dict.fromkeys(("conjugate", "imag", "real"), elementwise.not_of_real),
}
"""NumPy's functions that return an array as it is, or a view, where JAX copies: the family that has
JAX's inputs, if one of NumPy's has; else JAX has those of all frameworks."""

RANDOM = "random."

FAMILIES = Families()


def narrowed(value: Argument) -> Argument:
    """Returns an argument with tensors of the dtypes that JAX has."""

    def narrow(spec: TensorSpec) -> TensorSpec:
        return msgspec.structs.replace(spec, dtype=NARROW.get(spec.dtype, spec.dtype))

    return map_tensors(value, narrow)


def differentiated(value: Argument) -> Argument:
    """Returns an argument whose tensors of the requested dtype take a gradient: NumPy has none, and
    its families say nothing of it. Literal data, such as an axis, takes none."""

    def differentiate(spec: TensorSpec) -> TensorSpec:
        takes = spec.dtype == REQUESTED and spec.fill.distribution != "literal"
        return msgspec.structs.replace(spec, gradient=spec.gradient or takes)

    return map_tensors(value, differentiate)


def _numpy_operator(operator: Operator, own: Mapping[str, str]) -> Operator:
    """Returns a function of JAX under NumPy's names of it and of its arguments."""
    back = {ours: theirs for theirs, ours in own.items()}
    return msgspec.structs.replace(
        operator,
        name=operator.name.removeprefix(PREFIX),
        aliases=tuple(name.removeprefix(PREFIX) for name in operator.aliases),
        parameters=tuple(
            msgspec.structs.replace(parameter, name=back.get(parameter.name, parameter.name))
            for parameter in operator.parameters
        ),
    )


def _renamed(arguments: Mapping[str, Any], own: Mapping[str, str]) -> dict[str, Any]:
    return {own.get(name, name): value for name, value in arguments.items()}


def of_numpy(family: Family, name: str = "") -> Family:
    """Returns the family of JAX's functions that take what those of one of NumPy's families do.
    `name` is NumPy's name of the function; without one the family is a category's."""

    @functools.wraps(family)
    def made(operator: Operator, size: Preset) -> Iterable[Arguments] | NoInputs:
        if not operator.name.startswith(PREFIX):
            return NoInputs("no rule has arguments for it", searchable=True)
        called = name or operator.name.removeprefix(PREFIX)
        own = RENAMED.get(called, {})
        found = family(_numpy_operator(operator, own), size)
        if isinstance(found, NoInputs):
            return found
        further = (with_further(called, row) for row in with_rows(family, listed(found)))
        renamed = [_renamed(retold(row), own) for row in further if row is not None]
        fitting = [row for row in renamed if _fits(operator, row)]
        if not fitting:
            return NoInputs("no rule has arguments that it takes", searchable=True)
        return [
            {key: differentiated(narrowed(value)) for key, value in row.items()} for row in fitting
        ]

    return made


def _fits(operator: Operator, arguments: Arguments) -> bool:
    return all(operator.parameter(name) is not None for name in inputs_of(arguments))


def _use_of_numpy(use: Use, name: str) -> Use:
    """Returns the use of JAX's function of a canonical operation, from that of NumPy's."""
    own = RENAMED.get(name, {})
    back = {ours: theirs for theirs, ours in own.items()}

    def apply(function: Any, arguments: Values) -> Any:
        values = numpy_values(name, _renamed(arguments, back))
        return as_returned(name, use.apply(function, values), arguments)

    def to_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
        made = use.to_arguments(_numpy_operator(operator, own), roles)
        made = None if made is None else with_further(name, made)
        if made is None:
            return None
        renamed = {key: narrowed(value) for key, value in _renamed(made, own).items()}
        return renamed if _fits(operator, renamed) else None

    def to_roles(**arguments: Any) -> dict[str, Any]:
        return use.to_roles(**numpy_values(name, _renamed(arguments, back)))

    return Use(use.operation, apply, to_arguments, to_roles=to_roles)


WITHOUT_GRADIENT = frozenset(
    {
        *("equal", "greater", "greater_equal", "less", "less_equal", "not_equal"),
        *("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"),
    }
)
"""Operations without a gradient, whose pass over one array is one loop in XLA."""


def without_repeats(entry: Use) -> Use:
    """Returns the use, of these without what XLA reads as it reads a row: a number for each channel
    or for all."""

    def is_read_otherwise(roles: Roles) -> bool:
        y = roles["y"]
        return isinstance(y, TensorSpec) and len(y.shape) < 4 and math.prod(y.shape) > 1

    return only_if(entry, is_read_otherwise) if entry.operation in WITHOUT_GRADIENT else entry


def _operations() -> Table:
    table: Table = {}
    for name, entry in merged(NUMPY_MODULES, "OPERATIONS").items():
        if name in LACKING or name.startswith(RANDOM):
            continue
        if isinstance(entry, Choice):
            uses = {value: _use_of_numpy(use, name) for value, use in entry.uses.items()}
            table[PREFIX + name] = Choice(entry.argument, uses)
        else:
            table[PREFIX + name] = without_repeats(_use_of_numpy(entry, name))
    return table


OPERATIONS = _operations()

for _module in NUMPY_MODULES:
    if not hasattr(_module, "FAMILIES"):
        continue
    for _name, _own in _module.FAMILIES.by_name.items():
        _why = _module.FAMILIES.replaces.get(_name, "")
        if (_given := COPIED.get(_name, _own)) is not None:
            FAMILIES.add(PREFIX + _name, replaces=_why)(of_numpy(_given, _name))
    for _name, _family in _module.FAMILIES.by_category.items():
        if _name not in FAMILIES.by_category:
            FAMILIES.category(_name)(of_numpy(_family))

# Others' are of views, of NumPy's options, or of texts.
for _module in (elementwise, integers, reductions):
    for _name, _several in _module.FAMILIES.further.items():
        for _family in _several:
            FAMILIES.also(PREFIX + _name)(of_numpy(_family, _name))
