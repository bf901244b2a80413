"""Parameters of JAX's functions: names and defaults from signatures, kinds from annotations."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp

from opperf.frameworks import paths
from opperf.frameworks.jax.devices import DTYPES
from opperf.frameworks.paths import kind_of_default
from opperf.model import Kind, Parameter

Parameters = Mapping[str, inspect.Parameter]

KEYS = ("key", "keys")
"""Names of the parameter of a random function that takes a key, which is one of the case's seed."""

UFUNC_INPUTS = {1: ("x",), 2: ("x", "y")}
"""Names of the inputs of JAX's ufuncs in its documentation: their signatures have `*args`."""

TENSOR = r"ArrayLike|Array|RealArray|IntegerArray|DuckTypedArray|jax\.Array|numpy\.ndarray"

KINDS: tuple[tuple[str, Kind], ...] = (
    (r"Callable", Kind.OTHER),
    (r"Sharding|Device|Precision|PRNGSpec|DotAlgorithm", Kind.OTHER),
    (r"DimensionNumbers|PathLike|Algorithm", Kind.OTHER),
    (rf"(?:Sequence|tuple|list)\[[^\]]*(?:{TENSOR})", Kind.TENSORS),
    (rf"\b(?:{TENSOR})\b", Kind.TENSOR),
    (r"DType|SupportsDType|numpy\.dtype", Kind.ENUM),
    (r"Sequence\[tuple|PadValueLike", Kind.OTHER),
    (r"Shape|Sequence\[(?:int|DimSize)|tuple\[int|Axis", Kind.SHAPE),
    (r"tuple\[float", Kind.FLOATS),
    (r"\bint\b|DimSize", Kind.INT),
    (r"\bbool\b", Kind.BOOL),
    (r"\bfloat\b", Kind.FLOAT),
    (r"\bstr\b|Literal|Method|Mode|FftType", Kind.STRING),
)
"""Kinds by what an annotation has; the first that matches counts."""

BY_NAME: Mapping[str, Kind] = {
    **dict.fromkeys(
        (
            *("a", "arr", "b", "f", "ar", "A", "x", "y", "x0", "obs", "code_book", "segment_ids"),
            *("condition", "image"),
        ),
        Kind.TENSOR,
    ),
    # Of a distribution, by default the integers 0 and 1.
    **dict.fromkeys(("loc", "scale"), Kind.TENSOR),
    **dict.fromkeys(("operands", "arys", "arrays", "args", "xi"), Kind.TENSORS),
    "axis": Kind.INT,
    "dtype": Kind.ENUM,
    "shape": Kind.SHAPE,
}
"""Kinds of parameters without an annotation."""


OF_ONE: Mapping[tuple[str, str], Kind] = {
    ("jnp.array", "object"): Kind.TENSOR,
    ("jnp.asarray", "a"): Kind.TENSOR,
    ("jnp.frombuffer", "buffer"): Kind.OTHER,
    ("jnp.from_dlpack", "x"): Kind.OTHER,
    **{
        (f"jnp.{name}", "shape"): Kind.TENSOR
        for name in ("empty_like", "full_like", "ones_like", "zeros_like")
    },
    **{
        (f"jnp.{name}", "shape"): Kind.SHAPE
        for name in ("empty", "full", "ones", "zeros", "fromfunction")
    },
}
"""Kinds of a function's parameter that its annotation does not tell."""

OPTIONAL = re.compile(r"\s*\|\s*None\b|\bNone\s*\|\s*|,? NoneType|\| DeprecatedArg")

SAYS_NOTHING = (inspect.Parameter.empty.__name__, "", "Any", "typing.Any")
"""Annotations that leave the kind to the name and the default."""

ADDRESS = re.compile(r" at 0x[0-9a-f]+")

OMITTED = frozenset({"out", "device", "sharding", "out_sharding", "precision"})
"""Optional parameters that no rule sets: outputs, and what the settings decide."""


@functools.cache
def signature_of(function: Callable[..., Any]) -> Parameters:
    """Returns the parameters of a function by name; none if they cannot be read."""
    if isinstance(function, jnp.ufunc) and function.nin in UFUNC_INPUTS:
        names = UFUNC_INPUTS[function.nin]
        kind = inspect.Parameter.POSITIONAL_ONLY
        return {name: inspect.Parameter(name, kind, annotation="ArrayLike") for name in names}
    return paths.signature_of(function)


def declared(name: str, function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Returns the parameters of a function, by its name in the registry."""
    return tuple(
        _parameter(name, parameter)
        for parameter in signature_of(function).values()
        if parameter.kind is not parameter.VAR_KEYWORD and not parameter.name.startswith("_")
    )


def _parameter(name: str, one: inspect.Parameter) -> Parameter:
    kind = kind_of(name, one)
    is_key = one.name in KEYS and name.startswith("random.")
    required = one.default is one.empty and not is_key
    return Parameter(
        name=one.name,
        kind=Kind.OTHER if is_key else kind,
        required=required,
        default=None if required else "of the seed" if is_key else _stable(one.default),
        choices=DTYPES if (one.name, kind) == ("dtype", Kind.ENUM) else (),
        declared=_stable(one),
    )


def _stable(value: Any) -> str:
    """Returns a value as text that is the same in every process: without addresses of objects."""
    return ADDRESS.sub("", str(value))


def kind_of(name: str, one: inspect.Parameter) -> Kind:
    """Returns the kind of a parameter. A variadic one takes arrays."""
    if (name, one.name) in OF_ONE:
        return OF_ONE[name, one.name]
    if one.name in OMITTED:
        return Kind.OTHER
    if one.kind is one.VAR_POSITIONAL:
        return Kind.TENSORS
    # Optional: None beside what it takes.
    of = one.annotation
    text = OPTIONAL.sub("", of.__name__ if isinstance(of, type) else str(of)).strip()
    if text in SAYS_NOTHING:
        return BY_NAME.get(one.name) or kind_of_default(one)
    return next((kind for pattern, kind in KINDS if re.search(pattern, text)), Kind.OTHER)
