"""JAX's structured arguments as plain values of a case: enumerations, named tuples, computations of
one step, implementations of random numbers."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import numpy as np
from jax.extend import core

from opperf.dtypes import DTYPES
from opperf.errors import UnsupportedError
from opperf.frameworks.jax import private
from opperf.model import Argument, DType, Mapping, Number

TYPE = "type"
"""The entry of a mapping that names the type; the others are its fields."""

NAME = "name"
"""The entry of an enumeration's mapping with the name of the member."""

MODULES = (jax.lax, jax.lax.linalg)
"""Modules with the types, the first one that has a name counts."""

PATHS: dict[str, tuple[str, type]] = {
    name: (f"{module.__name__}.{name}", getattr(module, name))
    for module in reversed(MODULES)
    for name in (
        *("ConvDimensionNumbers", "GatherDimensionNumbers", "ScatterDimensionNumbers"),
        *("RaggedDotDimensionNumbers", "DotAlgorithm", "DotAlgorithmPreset"),
        *("GatherScatterMode", "Precision", "RandomAlgorithm", "RoundingMethod"),
        *("FftType", "AccuracyMode", "SvdAlgorithm"),
    )
    # Not every version has them all.
    if hasattr(module, name)
}
"""The path and the type of named tuples, data classes and enumerations, by name."""

RANDOM = "PRNGImpl"
"""Name of the type of an implementation of random numbers."""

PRIMITIVE = "Primitive"
"""Name of the type of a primitive, such as the comparison by which another one selects."""


def encode(value: Any) -> Argument:
    """Returns a value of a case. Raises `UnsupportedError` for what JSON cannot hold."""
    if isinstance(value, enum.Enum):
        return Mapping({TYPE: _known(value), NAME: value.name})
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic):
        return encode(value.item())
    if isinstance(value, int):
        return int(value)
    if isinstance(value, complex) or (isinstance(value, float) and not np.isfinite(value)):
        return Number.of(value)
    if isinstance(value, float):
        return value
    if isinstance(value, np.dtype) and str(value) in DTYPES:
        return DType(str(value))
    if isinstance(value, core.Jaxpr | core.ClosedJaxpr):
        return _encode_computation(value)
    if isinstance(value, core.Primitive):
        return Mapping({TYPE: PRIMITIVE, NAME: value.name})
    if type(value).__name__ == RANDOM:
        return Mapping({TYPE: RANDOM, NAME: value.name})
    fields = tuple(_fields(value))
    if fields:
        entries = {name: encode(getattr(value, name)) for name in fields}
        return Mapping({TYPE: _known(value), **entries})
    if isinstance(value, tuple | list):
        return tuple(encode(element) for element in value)  # type: ignore[misc]
    raise UnsupportedError(f"a {type(value).__name__} cannot be an argument of a case")


def _fields(value: Any) -> Iterator[str]:
    declared: Iterable[str] = getattr(value, "_fields", ())
    yield from declared or getattr(value, "__dataclass_fields__", ())


def _known(value: Any) -> str:
    """Returns the name of a value's type. Raises `UnsupportedError` for one not in `PATHS`."""
    name = type(value).__name__
    if name not in PATHS:
        raise UnsupportedError(f"a {name} cannot be an argument of a case")
    return name


def _encode_computation(value: Any) -> Mapping:
    """Returns the mapping of a program with one step, which takes the program's arguments in their
    order, such as the sum of two numbers. Raises `UnsupportedError` for any other."""
    program = getattr(value, "jaxpr", value)
    steps = program.eqns
    if len(steps) != 1 or list(steps[0].invars) != list(program.invars) or steps[0].params:
        raise UnsupportedError("a computation of several steps cannot be an argument of a case")
    dtypes = tuple(DType(str(variable.aval.dtype)) for variable in program.invars)
    return Mapping({TYPE: type(value).__name__, NAME: steps[0].primitive.name, "dtypes": dtypes})


def _primitive(name: str) -> tuple[str, core.Primitive]:
    """Returns the path and the primitive of a name. Raises `UnsupportedError`."""
    for key, one in vars(core.primitives).items():
        if isinstance(one, core.Primitive) and one.name == name:
            return f"{core.primitives.__name__}.{key}", one
    raise UnsupportedError(f"this version of JAX has no primitive {name}")


def _computation(name: str, dtypes: tuple[Any, ...]) -> Any:
    _, primitive = _primitive(name)
    numbers = [jax.ShapeDtypeStruct((), dtype) for dtype in dtypes]
    return jax.make_jaxpr(primitive.bind)(*numbers)


DECODERS: dict[str, Callable[..., Any]] = {
    RANDOM: lambda name: private.implementation_of(jax.random.key(0, impl=name)),
    PRIMITIVE: lambda name: _primitive(name)[1],
    "ClosedJaxpr": _computation,
    "Jaxpr": lambda name, dtypes: _computation(name, dtypes).jaxpr,
}
"""Functions that make the values of other types, from their entries."""


def decode(value: Any) -> Any:
    """Returns JAX's argument of a value that `encode` has made; any other value unchanged."""
    if isinstance(value, tuple | list):
        return type(value)(decode(element) for element in value)
    if not isinstance(value, dict):
        return value
    entries = {name: decode(one) for name, one in value.items()}
    if TYPE not in entries:
        return entries
    name = entries.pop(TYPE)
    if name in DECODERS:
        return DECODERS[name](**entries)
    if name not in PATHS:
        raise UnsupportedError(f"this version of JAX has no {name}")
    _, kind = PATHS[name]
    return kind[entries[NAME]] if issubclass(kind, enum.Enum) else kind(**entries)


def source(value: Any, other: Callable[[Any], str]) -> str:
    """Returns the Python code of an argument; `other` returns that of a plain value."""
    if isinstance(value, enum.Enum):
        path, _ = PATHS[_known(value)]
        return f"{path}.{value.name}"
    if isinstance(value, core.Jaxpr | core.ClosedJaxpr):
        return _computation_source(value)
    if isinstance(value, core.Primitive):
        return _primitive(value.name)[0]
    if type(value).__name__ == RANDOM:
        return f"jax.random.key(0, impl={value.name!r}).dtype._impl"
    fields = tuple(_fields(value))
    if fields:
        path, _ = PATHS[_known(value)]
        words = (f"{field}={source(getattr(value, field), other)}" for field in fields)
        return f"{path}({', '.join(words)})"
    if isinstance(value, tuple) and any(isinstance(element, enum.Enum) for element in value):
        return f"({', '.join(source(element, other) for element in value)},)"
    return other(value)


def _computation_source(value: Any) -> str:
    entries = _encode_computation(value).entries
    path, _ = _primitive(str(entries[NAME]))
    program = getattr(value, "jaxpr", value)
    numbers = (
        f"jax.ShapeDtypeStruct((), {str(variable.aval.dtype)!r})" for variable in program.invars
    )
    made = f"jax.make_jaxpr({path}.bind)({', '.join(numbers)})"
    return made if isinstance(value, core.ClosedJaxpr) else f"{made}.jaxpr"
