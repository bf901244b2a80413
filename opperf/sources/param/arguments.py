"""The values of typed arguments: PARAM's own data generator."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from typing import Any

import msgspec

from opperf.dtypes import DTYPES, PYTORCH_NAMES, canonical, is_floating, is_integer
from opperf.errors import UsageError, unknown
from opperf.model import Argument, Device, DType, Fill, MemoryFormat, Number, TensorSpec
from opperf.plurals import pluralize
from opperf.sources.param.registering import DATA_GENERATORS, Arguments
from opperf.sources.param.schema import (
    AnyArgument,
    BoolArgument,
    DeviceArgument,
    Distribution,
    DtypeArgument,
    FloatArgument,
    IntArgument,
    ListArgument,
    MemoryFormatArgument,
    NoneArgument,
    Spec,
    StrArgument,
    TensorArgument,
    read_argument,
)

GENERATORS = ("PyTorch:DefaultDataGenerator", "PyTorch::DefaultDataGenerator")
"""Names of the generator of this module; files of PARAM's first year have the second."""

DEVICE = re.compile(r"(?P<kind>[a-z]+)(?::(?P<index>\d+))?")
"""`cpu`, `cuda`, `cuda:1`, as PyTorch has it."""

KINDS = {"cpu": "cpu", "cuda": "gpu", "gpu": "gpu", "mps": "mps", "xpu": "xpu", "meta": "meta"}
"""opperf's kinds of devices by PyTorch's."""

DEEPEST = 3
"""Lists in lists that a case's argument may have."""


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


def _tensor(one: TensorArgument, place: str) -> TensorSpec:
    dtype = dtype_named(one.dtype, f"{place}.dtype")
    if one.requires_grad and not is_floating(dtype):
        raise UsageError(f"{place}.requires_grad: a tensor of {dtype} has no gradient")
    for i, extent in enumerate(one.shape):
        if extent < 0:
            raise UsageError(f"{place}.shape[{i}]: {extent} is negative")
    if one.strides is not None and len(one.strides) != len(one.shape):
        strides = pluralize(len(one.strides), "stride")
        raise UsageError(f"{place}.strides: {strides} of {pluralize(len(one.shape), 'extent')}")
    if one.strides is not None and min(one.strides, default=0) < 0:
        raise UsageError(f"{place}.strides: {min(one.strides)} is negative")
    made = TensorSpec(
        tuple(one.shape),
        dtype,
        _fill(one, dtype, place),
        gradient=is_floating(dtype) if one.requires_grad is None else one.requires_grad,
        memory_format="" if one.memory_format == "contiguous" else one.memory_format,
    )
    # Strides that are those of a contiguous tensor are none of its own.
    if one.strides is None or made.steps == tuple(one.strides):
        return made
    if made.memory_format:
        raise UsageError(f"{place}: both strides and memory_format; omit one of them")
    return msgspec.structs.replace(made, strides=tuple(one.strides))


def _fill(one: TensorArgument, dtype: str, place: str) -> Fill:
    """Returns how a tensor is filled; the usual fill if the argument does not say."""
    if one.distribution is None and one.domain is None:
        return Fill("boolean") if dtype == "bool" else Fill()
    usual: Distribution = "integers" if is_integer(dtype) else "uniform"
    low, high = one.domain or (0.0, 1.0)
    distribution: Distribution = one.distribution or usual
    if distribution in ("uniform", "integers") and high <= low:
        raise UsageError(f"{place}.domain: [{low:g}, {high:g}) is empty")
    return Fill(distribution, low, high)


def _number(one: IntArgument | FloatArgument, place: str) -> Any:
    """Returns a number: given, or drawn by its place. Raises `UsageError`."""
    if (one.value is msgspec.UNSET) == (one.value_range is msgspec.UNSET):
        raise UsageError(f"{place}: expected either `value` or `value_range`")
    if one.value is not msgspec.UNSET:
        # JSON's writers in Python have infinity, which a case has in a form of its own.
        if one.value is None or math.isfinite(one.value):
            return one.value
        return Number.of(float(one.value))
    assert not isinstance(one.value_range, msgspec.UnsetType)
    low, high = one.value_range
    if low > high:
        raise UsageError(f"{place}.value_range: {low} is more than {high}")
    # A file's place is the user's, and the key path is the same everywhere.
    drawn = random.Random(place.partition(": ")[2] or place)
    if isinstance(one, IntArgument):
        return drawn.randint(int(low), int(high))
    return drawn.uniform(low, high)


def _list(one: ListArgument, place: str) -> Any:
    return tuple(
        value_of(read_argument(element, f"{place}.value[{i}]"), f"{place}.value[{i}]")
        for i, element in enumerate(one.value)
    )


VALUES: tuple[tuple[type[Any], Callable[[Any, str], Argument]], ...] = (
    (TensorArgument, _tensor),
    (IntArgument, _number),
    (FloatArgument, _number),
    (BoolArgument, lambda one, place: bool(one.value)),
    (StrArgument, lambda one, place: str(one.value)),
    (NoneArgument, lambda one, place: None),
    (DeviceArgument, lambda one, place: Device(device_named(one.value, f"{place}.value"))),
    (DtypeArgument, lambda one, place: DType(dtype_named(one.value, f"{place}.value"))),
    (MemoryFormatArgument, lambda one, place: MemoryFormat(one.value)),
    (ListArgument, _list),
)
"""Functions that make the value of an argument, by its type."""


def value_of(argument: AnyArgument, place: str) -> Argument:
    """Returns the value of an argument. Raises `UsageError` with the key path."""
    make = next(make for kind, make in VALUES if isinstance(argument, kind))
    made = make(argument, place)
    if _depth(made) > DEEPEST:
        raise UsageError(f"{place}: lists nested more than {DEEPEST} deep")
    return made


def _depth(value: object) -> int:
    return 1 + max(map(_depth, value), default=0) if isinstance(value, tuple) else 0


def values_of(spec: Spec, place: str) -> Arguments:
    """Returns the arguments of a spec. Raises `UsageError` with the key path."""
    unnamed = [
        value_of(read_argument(one, f"{place}.args[{i}]"), f"{place}.args[{i}]")
        for i, one in enumerate(spec.args)
    ]
    named = {
        name: value_of(read_argument(one, f"{place}.kwargs.{name}"), f"{place}.kwargs.{name}")
        for name, one in spec.kwargs.items()
    }
    return unnamed, named


for _name in GENERATORS:
    DATA_GENERATORS.add(_name, values_of)
