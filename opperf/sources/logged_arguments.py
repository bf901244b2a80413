"""The notation of PyTorch's logs of operator inputs: Python's literals, in which
`T([2, 3], f16, stride=(1, 2))` is a tensor, `ST([2, 3], f32, torch.sparse_coo, True, 4)` a sparse
one of which four elements are stored, `f16` a dtype and `torch.strided` a layout. A tensor without
strides is contiguous.

It is read by this grammar, and never evaluated.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

from opperf.decoding import parse_python
from opperf.dtypes import kind_of
from opperf.model import Argument, DType, MemoryFormat, Number, TensorSpec
from opperf.model.values import DEEPEST, nesting
from opperf.plurals import pluralize

DTYPES: Mapping[str, str] = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "c32": "complex32",
    "c64": "complex64",
    "c128": "complex128",
    "i64": "int64",
    "i32": "int32",
    "i16": "int16",
    "i8": "int8",
    "u8": "uint8",
    "b8": "bool",
}
"""Dtypes by their abbreviations. Those of arguments are written as `torch.bool`, too."""

LAYOUTS: Mapping[str, str] = {
    "sparse_coo": "coo",
    "sparse_csr": "csr",
    "sparse_csc": "csc",
    "sparse_bsr": "bsr",
    "sparse_bsc": "bsc",
}
"""opperf's names of the layouts of sparse tensors."""

STRIDED = "strided"

MEMORY_FORMATS: Mapping[str, str] = {
    "contiguous_format": "contiguous",
    "channels_last": "channels_last",
    "channels_last_3d": "channels_last_3d",
    "preserve_format": "preserve",
}
"""opperf's names of the orders of axes in memory."""

Arguments = tuple[tuple[Argument, ...], dict[str, Argument]]
"""Positional arguments and named ones."""


def read_arguments(text: str) -> Arguments:
    """Returns the arguments of a logged call, `(args, kwargs)`. Raises `ValueError`."""
    try:
        return _read(parse_python(text, mode="eval").body)
    except SyntaxError as error:
        raise ValueError("it is no Python literal") from error
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _read(body: ast.expr) -> Arguments:
    match body:
        case ast.Tuple(elts=[ast.Tuple(elts=positional), ast.Dict(keys=keys, values=values)]):
            unnamed = tuple(_argument(element) for element in positional)
            return unnamed, {
                _word(key): _argument(value) for key, value in zip(keys, values, strict=True)
            }
    raise ValueError("expected (arguments, named arguments)")


def _argument(node: ast.expr) -> Argument:
    match node:
        case ast.Constant(value=bool() | str() | None as plain):
            return plain
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            made: Any = tuple(_argument(element) for element in elements)
            if nesting(made) > DEEPEST:
                raise ValueError(f"lists nested more than {DEEPEST} deep: {_shown(node)}")
            return made  # type: ignore[no-any-return]
        case ast.Name(id=name) if name in DTYPES:
            return DType(DTYPES[name])
        case ast.Attribute(value=ast.Name(id="torch"), attr=name):
            return _attribute(name)
        case ast.Call(func=ast.Name(id=name)) if name in CONSTRUCTORS:
            return CONSTRUCTORS[name](node)
    number = _number(node)
    if isinstance(number, complex) or not math.isfinite(number):
        return Number.of(number)
    return number


def _number(node: ast.expr) -> int | float | complex:
    match node:
        case ast.Constant(value=int() | float() | complex() as number):
            return number
        case ast.Name(id="inf" | "nan" as name):
            return float(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand)
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=complex() as imaginary)):
            return _number(left) + imaginary
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=complex() as imaginary)):
            return _number(left) - imaginary
    raise ValueError(f"unknown notation: {_shown(node)}")


def _attribute(name: str) -> Argument:
    """An attribute of `torch` is a layout by its name, a memory format, or a dtype."""
    if name == STRIDED or name in LAYOUTS:
        return name
    if name in MEMORY_FORMATS:
        return MemoryFormat(MEMORY_FORMATS[name])
    if kind_of(name) is None:
        raise ValueError(f"unknown notation: torch.{name}")
    return DType(name)


def _tensor(node: ast.Call) -> TensorSpec:
    match node:
        case ast.Call(args=[shape, dtype], keywords=[]):
            return TensorSpec(_extents(shape), _dtype(dtype))
        case ast.Call(args=[shape, dtype, strides], keywords=[]):
            return _strided(shape, dtype, strides)
        case ast.Call(args=[shape, dtype], keywords=[ast.keyword(arg="stride", value=strides)]):
            return _strided(shape, dtype, strides)
    raise ValueError(f"unknown tensor: {_shown(node)}")


def _strided(shape: ast.expr, dtype: ast.expr, strides: ast.expr) -> TensorSpec:
    extents, steps = _extents(shape), _extents(strides)
    if len(extents) != len(steps):
        numbers = pluralize(len(extents), "extent"), pluralize(len(steps), "stride")
        raise ValueError(" and ".join(numbers))
    made = TensorSpec(extents, _dtype(dtype))
    # Strides that are those of a contiguous tensor are none of its own.
    return made if made.steps == steps else TensorSpec(extents, made.dtype, strides=steps)


def _sparse(node: ast.Call) -> TensorSpec:
    """Returns a sparse tensor: `ST(shape, dtype, layout, coalesced[, stored])`."""
    match node:
        case ast.Call(
            args=[shape, dtype, ast.Attribute(attr=layout), ast.Constant(value=bool()), *further]
        ) if layout in LAYOUTS and len(further) + len(node.keywords) <= 1:
            made = TensorSpec(_extents(shape), _dtype(dtype), layout=LAYOUTS[layout])
            stored = [
                *further,
                *(keyword.value for keyword in node.keywords if keyword.arg == "nnz"),
            ]
            if not stored:
                return made
            (count,) = _extents(ast.Tuple(elts=stored))
            # A sparse tensor has at least one element.
            density = min(1.0, max(count, 1) / max(made.size, 1))
            return TensorSpec(made.shape, made.dtype, layout=made.layout, density=density)
    raise ValueError(f"unknown sparse tensor: {_shown(node)}")


CONSTRUCTORS: Mapping[str, Callable[[ast.Call], TensorSpec]] = {"T": _tensor, "ST": _sparse}
"""Functions that read a tensor, by the notation's name of it."""


def _extents(node: ast.expr) -> tuple[int, ...]:
    match node:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            numbers = [_number(element) for element in elements]
            found = tuple(number for number in numbers if isinstance(number, int) and number >= 0)
            if len(found) == len(numbers):
                return found
    raise ValueError(f"expected a list of integers: {_shown(node)}")


def _dtype(node: ast.expr) -> str:
    made = _argument(node)
    if not isinstance(made, DType):
        raise ValueError(f"expected a dtype: {_shown(node)}")
    return made.name


def _word(node: ast.expr | None) -> str:
    match node:
        case ast.Constant(value=str() as word):
            return word
    raise ValueError("the name of an argument is a string")


LONGEST_SHOWN = 60
"""Characters of what is unknown that a message has."""


def _shown(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."
