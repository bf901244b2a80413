"""Arguments of recorded calls: from the values, types, shapes and strides of an execution trace to
those of a case; and schemas of operators."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

import msgspec

from opperf.dtypes import DTYPES, PYTORCH_NAMES
from opperf.frameworks.schema_types import as_declared
from opperf.model import Argument, Device, Fill, Generator, Number, TensorSpec, map_tensors
from opperf.rules.values import below

C10 = {
    "half": "float16",
    "bfloat16": "bfloat16",
    "complex<float>": "complex64",
    "complex<double>": "complex128",
    "complex<half>": "complex32",
    "float8_e4m3fn": "float8_e4m3fn",
    "float8_e5m2": "float8_e5m2",
    "float8_e4m3fnuz": "float8_e4m3fnuz",
    "float8_e5m2fnuz": "float8_e5m2fnuz",
}
"""Dtypes by the names of their C++ types in the namespace `c10`."""

CPP = {
    **PYTORCH_NAMES,
    "long int": "int64",
    "long long": "int64",
    "unsigned char": "uint8",
    "signed char": "int8",
    "short int": "int16",
    "bool": "bool",
    **{f"c10::{name}": dtype for name, dtype in C10.items()},
    **{f"{name.capitalize()}": dtype for name, dtype in C10.items()},
}
"""Dtypes by the names of their C++ types."""

TENSOR = "Tensor("
"""Beginning of the types of tensors."""

UNDEFINED = "Tensor(nullptr (uninitialized))"
"""Type of a tensor that is not defined, as an optional one."""

LONGEST = 4097
"""Elements after which PyTorch cuts lists."""

MOST_AXES = 64
"""Most axes of a tensor, as PyTorch has it."""

LARGEST_NUMBER = 1 << 63
"""Above all numbers of a trace, which has integers of 64 bits."""

LARGEST_EXTENT = 1 << 62
"""Below it, products of extents and bytes of an element are recognised as too large."""

ALIGNMENT = 64
"""Elements to which the beginning of a tensor in a large storage keeps its distance: kernels choose
by at most 64 bytes of alignment, and what precedes the tensor need not be there."""


class Unbuildable(Exception):
    """An argument that no case can have; its text says what it has."""


class Ref(NamedTuple):
    """Which tensor of the program a value is."""

    tensor: int
    storage: int
    offset: int
    """Elements of the storage before its first."""
    size: int
    """Number of elements."""
    itemsize: int
    device: str
    """Empty in traces that do not say it."""


class Placed(NamedTuple):
    """A tensor among the inputs or outputs of a node."""

    position: int
    """Among all tensors of these, those that are not defined included."""
    ref: Ref
    kind: str
    """Its type."""


class Values(NamedTuple):
    """The inputs or outputs of a node, as the trace has them."""

    values: Sequence[Any]
    types: Sequence[str]
    shapes: Sequence[Any]
    strides: Sequence[Any]
    """Empty in traces without strides."""

    def each(self) -> Iterator[tuple[Any, str, Any, Any]]:
        """Yields each value with its type, shape and strides, as far as the trace has them."""
        for index, value in enumerate(self.values):
            shape, strides = element(self.shapes, index), element(self.strides, index)
            yield value, str(element(self.types, index)), shape, strides


def ref_of(value: Any) -> Ref:
    """Returns which tensor a value is. Raises `Unbuildable` if it is none."""
    match value:
        case [
            int() as tensor,
            int() as storage,
            int() as offset,
            int() as size,
            int() as bytes_,
            *device,
        ] if len(device) <= 1 and all(
            0 <= number < LARGEST_NUMBER for number in (tensor, storage, offset, size, bytes_)
        ):
            return Ref(tensor, storage, offset, size, bytes_, str(device[0]) if device else "")
    raise Unbuildable("a tensor without its numbers")


@functools.lru_cache(maxsize=4096)
def inner_types(kind: str) -> list[str] | None:
    """Returns the types of a list's elements; None for no list."""
    for name in ("GenericList[", "Tuple["):
        if kind.startswith(name) and kind.endswith("]"):
            return split_outer(kind[len(name) : -1])
    return None


class Reader:
    """Makes the arguments of one call. Storages are named in the order in which they are met."""

    def __init__(self, device: str, ranges: Mapping[int, tuple[int, int]]) -> None:
        self._device = device
        self._ranges = ranges
        self._storages: dict[tuple[int, str], str] = {}
        self._offsets: dict[str, list[int]] = {}
        self._shared: dict[str, str] = {}
        self._tensors = 0

    def read(self, value: Any, kind: str, shape: Any, strides: Any, declared: str) -> Argument:
        """Returns the argument of a value. `declared` is its type in the schema, empty if that is
        unknown. Raises `Unbuildable`."""
        inner = inner_types(kind)
        if inner is not None:
            return self._list(value, inner, shape, strides, declared)
        if kind.startswith(TENSOR):
            return self._tensor(value, kind, shape, strides)
        if value == "<None>" or value is None or kind == "None":
            return None
        if kind == "Generator":
            return Generator()
        plain = PLAIN.get(kind)
        if plain is None or (isinstance(value, str) and value.startswith("<")):
            raise Unbuildable(f"an argument of the type {kind}, which the trace does not hold")
        if kind == "Device":
            return Device("" if str(value) == self._device else device_type(str(value)))
        try:
            return as_declared(plain(value), declared)
        except ValueError as error:
            raise Unbuildable(str(error)) from None

    def _list(
        self, value: Any, inner: Sequence[str], shape: Any, strides: Any, declared: str
    ) -> Argument:
        if not isinstance(value, list):
            raise Unbuildable("a list without its elements")
        if len(value) >= LONGEST:
            raise Unbuildable(f"a list of more than {LONGEST - 1:,} elements, which the trace cuts")
        made: Any = [
            self.read(
                one,
                inner[min(index, len(inner) - 1)] if inner else "None",
                element(shape, index),
                element(strides, index),
                "",
            )
            for index, one in enumerate(value)
        ]
        return tuple(made)

    def _tensor(self, value: Any, kind: str, shape: Any, strides: Any) -> TensorSpec | None:
        position, self._tensors = self._tensors, self._tensors + 1
        if kind == UNDEFINED:
            return None
        ref = ref_of(value)
        made = tensor_of(kind, shape, strides)
        name = self._storages.setdefault((ref.storage, ref.device), str(len(self._storages)))
        self._offsets.setdefault(name, []).append(ref.offset)
        return msgspec.structs.replace(
            made,
            fill=_fill(made.dtype, self._ranges.get(position)),
            offset=ref.offset,
            storage=name,
            device="" if ref.device in ("", self._device) else device_type(ref.device),
        )

    def own_storages(self, argument: Argument) -> Argument:
        """Returns an argument with the names of storages that several tensors of the call have, and
        offsets from where the first of these is."""

        def placed(spec: TensorSpec) -> TensorSpec:
            offsets = self._offsets[spec.storage]
            first = min(offsets) // ALIGNMENT * ALIGNMENT
            name = ""
            if len(offsets) > 1:
                name = self._shared.setdefault(spec.storage, f"s{len(self._shared)}")
            return msgspec.structs.replace(spec, storage=name, offset=spec.offset - first)

        return map_tensors(argument, placed)


def element(value: Any, index: int) -> Any:
    """Returns an element of a list; an empty list where there is none."""
    return value[index] if isinstance(value, list) and index < len(value) else []


def tensor_of(kind: str, shape: Any, strides: Any) -> TensorSpec:
    """Returns a tensor of a type, shape and strides of a trace. Raises `Unbuildable`."""
    dtype = dtype_of(kind)
    made = TensorSpec(extents_of(shape), dtype)
    steps = extents_of(strides) if isinstance(strides, list) and strides else ()
    if not steps or steps == made.steps:
        return made
    if len(steps) != len(made.shape):
        raise Unbuildable(f"{len(made.shape)} extents and {len(steps)} strides")
    return msgspec.structs.replace(made, strides=steps)


def extents_of(value: Any) -> tuple[int, ...]:
    """Returns the extents or strides of a tensor. Raises `Unbuildable`."""
    if not isinstance(value, list) or len(value) > MOST_AXES:
        raise Unbuildable("a tensor without a shape")
    # A bool is an int, and no extent.
    if not all(type(extent) is int and 0 <= extent < LARGEST_EXTENT for extent in value):
        raise Unbuildable(f"a shape or strides of no integers in range, {str(value)[:40]}")
    return tuple(value)


def _fill(dtype: str, known: tuple[int, int] | None) -> Fill:
    if known is None or DTYPES[dtype].kind != "integer" or known[0] > known[1]:
        return Fill()
    return below(known[1] + 1, start=known[0])


def dtype_of(kind: str) -> str:
    """Returns the dtype of a tensor's type, `Tensor(float)`. Raises `Unbuildable`."""
    name = kind.removeprefix(TENSOR).removesuffix(")").strip()
    dtype = name if name in DTYPES else CPP.get(name, CPP.get(name.lower(), ""))
    if not dtype:
        raise Unbuildable(f"a tensor of the type {name}")
    return dtype


def device_type(name: str) -> str:
    """Returns a device without its number: that of the program may not be here."""
    return name.partition(":")[0]


def _number(value: Any) -> Argument:
    """Infinite ones are strings in traces."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise Unbuildable(f"a double of the value {str(value)[:20]!r}") from None
    return number if math.isfinite(number) else Number.of(number)


def is_integer(value: Any) -> TypeGuard[int]:
    """Whether a value of JSON is an integer of 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    return -LARGEST_NUMBER <= value < LARGEST_NUMBER


def integer_or(value: Any, default: int = 0) -> int:
    """Returns an integer of 64 bits; the default for anything else."""
    return value if is_integer(value) else default


def _integer(value: Any) -> int:
    if not is_integer(value):
        raise Unbuildable(f"an integer of the value {str(value)[:20]!r}")
    return value


def _bool(value: Any) -> bool:
    if not isinstance(value, (bool, int)):
        raise Unbuildable(f"a bool of the value {str(value)[:20]!r}")
    return bool(value)


PLAIN: Mapping[str, Any] = {
    "Int": _integer,
    "SymInt": _integer,
    "Double": _number,
    "SymFloat": _number,
    "Bool": _bool,
    "SymBool": _bool,
    "String": str,
    "Device": str,
}
"""Functions that make the argument of a plain value, by its type."""


HEAD = re.compile(r"(?P<namespace>\w+)::(?P<name>\w+)(?:\.(?P<overload>\w+))?\s*\(")
OPENING, CLOSING = "([", ")]"


class SchemaParameter(NamedTuple):
    """A parameter as a schema declares it."""

    name: str
    type: str
    """As it is written: `Tensor(a!)`, `int[2]`, `ScalarType?`."""
    default: str | None
    """As it is written; None without one."""
    keyword_only: bool = False


class Schema(NamedTuple):
    """An operator's schema."""

    path: str
    """Namespace and name, as `aten.add`."""
    overload: str
    """`default` if it has no name."""
    parameters: tuple[SchemaParameter, ...]


@functools.lru_cache(maxsize=4096)
def parse_schema(text: str) -> Schema | None:
    """Returns the schema of a text; None if it is none."""
    head = HEAD.match(text)
    if head is None:
        return None
    parameters = []
    keyword_only = False
    for part in split_outer(text[head.end() : _closing(text, head.end())]):
        if part == "*":
            keyword_only = True
            continue
        declared, equals, default = part.partition("=")
        words = declared.rsplit(None, 1)
        if len(words) < 2 or not words[1].isidentifier():
            return None
        kind, name = words
        parameters.append(SchemaParameter(name, kind, default if equals else None, keyword_only))
    path = f"{head['namespace']}.{head['name']}"
    return Schema(path, head["overload"] or "default", tuple(parameters))


def _closing(text: str, start: int) -> int:
    depth = 1
    for index in range(start, len(text)):
        depth += (text[index] in OPENING) - (text[index] in CLOSING)
        if not depth:
            return index
    return len(text)


def split_outer(text: str) -> list[str]:
    """Returns the parts between the commas that are in no brackets."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        depth += (character in OPENING) - (character in CLOSING)
        if character == "," and not depth:
            parts.append(text[start:index].strip())
            start = index + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts
