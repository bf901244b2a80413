"""The typed arguments of a configuration: their values, as PARAM's own data generator makes them,
and written of values."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from opperf.dtypes import DTYPES, PYTORCH_NAMES, canonical, is_floating, is_integer
from opperf.errors import UsageError, unknown
from opperf.formats.param.schema import (
    BoolArgument,
    DeviceArgument,
    Distribution,
    DtypeArgument,
    FloatArgument,
    IntArgument,
    ListArgument,
    MemoryFormatArgument,
    NoneArgument,
    Raw,
    Spec,
    StrArgument,
    TensorArgument,
    Typed,
    read_argument,
)
from opperf.model import Argument, Device, DType, Fill, MemoryFormat, Number, TensorSpec
from opperf.model import Mapping as Entries
from opperf.model.values import DEEPEST, nesting
from opperf.plurals import pluralize

DEVICE = re.compile(r"(?P<kind>[a-z]+)(?::(?P<index>\d+))?")
"""`cpu`, `cuda`, `cuda:1`, as PyTorch has it."""

KINDS = {"cpu": "cpu", "cuda": "gpu", "gpu": "gpu", "mps": "mps", "xpu": "xpu", "meta": "meta"}
"""opperf's kinds of devices by PyTorch's."""

PYTORCH_KINDS = {"gpu": "cuda"}
"""PyTorch's kinds of devices, where they are not opperf's."""

DTYPE_NAMES = {"float32": "float", "float64": "double", "int32": "int", "int64": "long"}
"""PARAM's names of dtypes, where they are not opperf's."""

Arguments = tuple[Sequence[Argument], dict[str, Argument]]
"""Positional arguments and named ones."""


def dtype_named(name: str, place: str) -> str:
    """Returns opperf's name of a dtype. Raises `UsageError` for an unknown one."""
    short = name.removeprefix("torch.")
    found = PYTORCH_NAMES.get(short, canonical(short))
    if found not in DTYPES:
        raise UsageError(f"{place}: {unknown('dtype', name, [*PYTORCH_NAMES, *DTYPES])}")
    return found


def device_named(name: str, place: str) -> str:
    """Returns opperf's name of a device. Raises `UsageError` for what is none."""
    match = DEVICE.fullmatch(name)
    if match is None or match["kind"] not in KINDS:
        raise UsageError(f"{place}: {name!r} is no device; write cpu, cuda or cuda:1")
    return f"{KINDS[match['kind']]}({match['index'] or 0})"


def _tensor(argument: TensorArgument, place: str) -> TensorSpec:
    dtype = dtype_named(argument.dtype, f"{place}.dtype")
    if argument.requires_grad and not is_floating(dtype):
        raise UsageError(f"{place}.requires_grad: a tensor of {dtype} has no gradient")
    for i, extent in enumerate(argument.shape):
        if extent < 0:
            raise UsageError(f"{place}.shape[{i}]: {extent} is negative")
    if argument.strides is not None and len(argument.strides) != len(argument.shape):
        strides = pluralize(len(argument.strides), "stride")
        raise UsageError(
            f"{place}.strides: {strides} of {pluralize(len(argument.shape), 'extent')}"
        )
    if argument.strides is not None and min(argument.strides, default=0) < 0:
        raise UsageError(f"{place}.strides: {min(argument.strides)} is negative")
    made = TensorSpec(
        tuple(argument.shape),
        dtype,
        _fill(argument, dtype, place),
        gradient=is_floating(dtype) if argument.requires_grad is None else argument.requires_grad,
        memory_format="" if argument.memory_format == "contiguous" else argument.memory_format,
    )
    # Strides that are those of a contiguous tensor are none of its own.
    if argument.strides is None or made.steps == tuple(argument.strides):
        return made
    if made.memory_format:
        raise UsageError(f"{place}: both strides and memory_format; omit one of them")
    return msgspec.structs.replace(made, strides=tuple(argument.strides))


def _fill(argument: TensorArgument, dtype: str, place: str) -> Fill:
    if argument.distribution is None and argument.domain is None:
        return Fill("boolean") if dtype == "bool" else Fill()
    usual: Distribution = "integers" if is_integer(dtype) else "uniform"
    low, high = argument.domain or (0.0, 1.0)
    distribution: Distribution = argument.distribution or usual
    if distribution in ("uniform", "integers") and high <= low:
        raise UsageError(f"{place}.domain: [{low:g}, {high:g}) is empty")
    return Fill(distribution, low, high)


def _number(argument: IntArgument | FloatArgument, place: str) -> Any:
    if (argument.value is msgspec.UNSET) == (argument.value_range is msgspec.UNSET):
        raise UsageError(f"{place}: expected either `value` or `value_range`")
    if argument.value is not msgspec.UNSET:
        # JSON's writers in Python have infinity, which a case has in a form of its own.
        if argument.value is None or math.isfinite(argument.value):
            return argument.value
        return Number.of(float(argument.value))
    assert not isinstance(argument.value_range, msgspec.UnsetType)
    low, high = argument.value_range
    if low > high:
        raise UsageError(f"{place}.value_range: {low} is more than {high}")
    # A file's place is the user's, and the key path is the same everywhere.
    drawn = random.Random(place.partition(": ")[2] or place)
    if isinstance(argument, IntArgument):
        return drawn.randint(int(low), int(high))
    return drawn.uniform(low, high)


def _list(argument: ListArgument, place: str) -> Any:
    return tuple(
        value_of(read_argument(element, f"{place}.value[{i}]"), f"{place}.value[{i}]")
        for i, element in enumerate(argument.value)
    )


VALUES: dict[type[Typed], Callable[[Any, str], Argument]] = {
    TensorArgument: _tensor,
    IntArgument: _number,
    FloatArgument: _number,
    BoolArgument: lambda argument, place: bool(argument.value),
    StrArgument: lambda argument, place: str(argument.value),
    NoneArgument: lambda argument, place: None,
    DeviceArgument: lambda argument, place: Device(device_named(argument.value, f"{place}.value")),
    DtypeArgument: lambda argument, place: DType(dtype_named(argument.value, f"{place}.value")),
    MemoryFormatArgument: lambda argument, place: MemoryFormat(argument.value),
    ListArgument: _list,
}
"""Functions that make the value of an argument, by its type."""


def value_of(argument: Typed, place: str) -> Argument:
    """Returns the value of an argument. Raises `UsageError` with the key path."""
    made = VALUES[type(argument)](argument, place)
    if nesting(made) > DEEPEST:
        raise UsageError(f"{place}: lists nested more than {DEEPEST} deep")
    return made


def values_of(spec: Spec, place: str) -> Arguments:
    """Returns the arguments of a spec. Raises `UsageError` with the key path."""
    unnamed = [
        value_of(read_argument(argument, f"{place}.args[{i}]"), f"{place}.args[{i}]")
        for i, argument in enumerate(spec.args)
    ]
    named = {
        name: value_of(read_argument(argument, f"{place}.kwargs.{name}"), f"{place}.kwargs.{name}")
        for name, argument in spec.kwargs.items()
    }
    return unnamed, named


def device_name(device: str) -> str:
    """Returns a device by PyTorch's name: `cuda:1` for `gpu(1)`, `cpu` for `cpu(0)`."""
    kind, _, rest = device.partition("(")
    index = rest.rstrip(")")
    return kind if kind == "cpu" else f"{PYTORCH_KINDS.get(kind, kind)}:{index or 0}"


def _dtype_name(name: str) -> str:
    return DTYPE_NAMES.get(name, name)


def written_argument(value: Argument) -> Raw:
    """Returns an argument as a configuration has it: what `value_of` reads."""
    match value:
        case TensorSpec():
            return {
                "type": "tensor",
                "dtype": _dtype_name(value.dtype),
                "shape": list(value.shape),
                "requires_grad": value.gradient,
                **({"strides": list(value.strides)} if value.strides else {}),
                **({"memory_format": value.memory_format} if value.memory_format else {}),
            }
        case None:
            return {"type": "none"}
        case bool() | int() | float():
            return {"type": type(value).__name__, "value": value}
        case tuple():
            return {
                "type": "genericlist",
                "value": [written_argument(element) for element in value],
            }
        case Device():
            return {"type": "device", "value": device_name(value.name or "cpu")}
        case DType():
            return {"type": "dtype", "value": _dtype_name(value.name)}
        case Number(imaginary=""):
            # As Python's JSON has it: Infinity.
            return {"type": "float", "value": value.value}
        case Number():
            return {"type": "str", "value": str(value.value)}
        case MemoryFormat():
            return {"type": "memory_format", "value": value.name}
        case Entries():
            return {
                "type": "genericlist",
                "value": [*map(written_argument, value.entries.values())],
            }
    return {"type": "str", "value": str(getattr(value, "name", value))}
