"""Calls of PyTorch's operators as cases, and the keys of equal ones."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import torch

from opperf.errors import UnsupportedError
from opperf.frameworks.base import CallArguments
from opperf.frameworks.calls import Range, RecordedCall
from opperf.frameworks.torch import devices, private, registry, tensors, user_tensors
from opperf.model import (
    Argument,
    Case,
    Device,
    DType,
    Generator,
    MemoryFormat,
    Number,
    OperatorTarget,
    Settings,
    TensorSpec,
)
from opperf.model.targets import DEFAULT_OVERLOAD

NUMBERS = (int, float, complex)
"""Types of plain numbers; `bool`, a word of two, is none."""

TENSORS = frozenset({torch.Tensor, torch.nn.Parameter})
"""The usual classes of tensors, which a look at the type finds faster."""


def key_of(
    func: Any, args: tuple[Any, ...], named: CallArguments, numbers: bool = True
) -> Hashable:
    """Returns what two equal calls of an operator have in common: shapes, dtypes, strides, devices,
    sharing of storages and plain values; without `numbers`, all but the values of numbers."""
    parts: list[Hashable] = [func]
    storages: list[tuple[int, int]] = []
    _add(args, parts, storages, numbers)
    for name, value in named.items():
        parts.append(name)
        _add((value,), parts, storages, numbers)
    if len(storages) > 1:
        begins = [begin for begin, _ in storages]
        if len(set(begins)) < len(begins):
            first = {begin: index for index, begin in reversed(list(enumerate(begins)))}
            # Where a tensor begins matters only to those that share its storage.
            parts.append(tuple((first[begin], offset) for begin, offset in storages))
    return tuple(parts)


def _add(
    values: Iterable[Any], parts: list[Hashable], storages: list[tuple[int, int]], numbers: bool
) -> None:
    """Adds values to the parts of a key, and the storages of tensors to `storages`, by their
    addresses, each with the number of elements before the tensor."""
    for value in values:
        kind = type(value)
        if kind in TENSORS or isinstance(value, torch.Tensor):
            parts.append(value.dtype)
            parts.append(value.shape)
            parts.append(value.device)
            if value.layout is not torch.strided:
                parts.append(value.layout)
                continue
            parts.append(value.stride())
            offset = value.storage_offset()
            address = value.data_ptr()
            if address:
                storages.append((address - offset * value.element_size(), offset))
        elif kind is list or kind is tuple or isinstance(value, (list, tuple)):
            parts.append(len(value))
            _add(value, parts, storages, numbers)
        elif kind in NUMBERS:
            # One, 1.0 and True are equal.
            parts.append(kind.__name__)
            if numbers:
                parts.append(value)
        elif kind is bool or value is None or kind is str:
            parts.append((value,))
        else:
            parts.append(value if isinstance(value, Hashable) else repr(kind))


def name_of(func: Any) -> str:
    """Returns the name of an overload, as opperf shows it."""
    return _target(func).path


def _target(func: Any) -> OperatorTarget:
    entry = registry.Entry.of(func.name())
    overload = entry.overload or DEFAULT_OVERLOAD
    return OperatorTarget(registry.FRAMEWORK, entry.shown, overload)


def describe(func: Any, args: tuple[Any, ...], named: CallArguments) -> RecordedCall:
    """Returns a call, of which nothing was counted yet. Raises `UnsupportedError` for an argument
    that no case can have."""
    values = {**{str(place): value for place, value in enumerate(args)}, **named}
    found = list(_tensors(tuple(values.values())))
    used = [tensor for tensor in found if tensor.device.type != "cpu"] or found
    device = _device_name(used[0].device) if used else ""
    storages = _storages(found)
    arguments = {name: _argument(value, device, storages) for name, value in values.items()}
    case = Case(
        target=_target(func),
        arguments=arguments,
        settings=Settings(device=device, imports=_imports(func)),
        # The backward pass makes calls of its own.
        passes=("forward",),
    )
    return RecordedCall(case, _ranges(found))


def _imports(func: Any) -> tuple[str, ...]:
    """Returns the module that registers an operator, if that has the name of its namespace, as
    packages do; none of PyTorch's own."""
    name = func.namespace
    return (name,) if name != registry.OWN and name in sys.modules else ()


def _device_name(device: torch.device) -> str:
    shown = devices.SHOWN.get(device.type, device.type)
    return f"{shown}({device.index or 0})"


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for element in value:
            yield from _tensors(element)


def _storages(found: Iterable[torch.Tensor]) -> dict[int, str]:
    """Returns the names of the storages that several tensors share, by where each begins."""
    dtypes_of: dict[int, list[torch.dtype]] = {}
    for found_tensor in found:
        begin = _begin(found_tensor)
        if begin:
            dtypes_of.setdefault(begin, []).append(found_tensor.dtype)
    shared = [
        begin
        for begin, listed in dtypes_of.items()
        # A case has no storage with tensors of two dtypes.
        if len(listed) > 1 and len(set(listed)) == 1
    ]
    return {begin: f"storage{place}" for place, begin in enumerate(shared)}


def _begin(value: torch.Tensor) -> int:
    """Returns the address of a dense tensor's storage; 0 for any other, and for an empty one."""
    if tensors.layout_of(value) != "dense" or value.is_quantized or not value.numel():
        return 0
    return int(value.data_ptr()) - int(value.storage_offset()) * value.element_size()


def _argument(value: Any, device: str, storages: Mapping[int, str]) -> Argument:
    if isinstance(value, torch.Tensor):
        return _spec(value, device, storages)
    if isinstance(value, (list, tuple)):
        return tuple(_argument(element, device, storages) for element in value)  # type: ignore[misc]
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        return Number.of(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, torch.dtype):
        return DType(devices.name_of(value))
    if isinstance(value, torch.device):
        return Device(_device_name(value))
    if isinstance(value, torch.layout):
        return str(value).removeprefix("torch.")
    if isinstance(value, torch.Generator):
        return Generator()
    for name, format in tensors.MEMORY_FORMATS.items():
        if value is format:
            return MemoryFormat(name)
    raise UnsupportedError(f"a {type(value).__name__} cannot be an argument of a case")


def _spec(value: torch.Tensor, device: str, storages: Mapping[int, str]) -> TensorSpec:
    """Returns the spec of a tensor, whose contents are not looked at."""
    layout = tensors.layout_of(value)
    shape = () if layout in ("nested", "jagged") else tuple(value.shape)
    strides, offset, order = user_tensors.place(value)
    storage = storages.get(_begin(value), "")
    own = _device_name(value.device)
    return TensorSpec(
        shape=shape,
        dtype=devices.name_of(value.dtype),
        layout=layout,
        strides=strides,
        offset=offset if storage else 0,
        memory_format=order,
        storage=storage,
        device="" if own == device else own,
        density=_density(value, layout),
    )


def _density(value: torch.Tensor, layout: str) -> float:
    if not layout.startswith("cs") and layout != "coo":
        return 1.0
    return min(1.0, max(1, private.count_stored(value)) / max(1, value.numel()))


MOST_RANGED = 2**20
"""Elements of the tensors of integers whose range is read: reading more would take milliseconds."""


def _ranges(found: Iterable[torch.Tensor]) -> dict[int, Range]:
    ranges = {}
    for place, one in enumerate(found):
        is_whole = not (one.is_floating_point() or one.is_complex() or one.dtype is torch.bool)
        if is_whole and _begin(one) and one.numel() <= MOST_RANGED:
            low, high = torch.aminmax(one.detach())
            ranges[place] = (int(low), int(high))
    return ranges
