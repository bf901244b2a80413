"""Collective operations in traces: what each sends, in which process group, and in which order."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from opperf.decoding import JsonObject
from opperf.model import Struct

if TYPE_CHECKING:
    from opperf.traces.values import Ref, Values

RECORDED = "record_param_comms"
"""Name of the nodes of collective operations."""

BY_BACKEND = re.compile(r"(?:gloo|mpi|ucc):(\w+)")
"""Names of the nodes of backends that write none of these."""

UNNAMED = "collective"
"""Name of one that the trace does not name."""

WAIT = "wait"
"""The host waits for an earlier one, which sends nothing."""

POINT_TO_POINT = frozenset({"send", "recv", "isend", "irecv"})
"""Those of two ranks, which the others do not make."""


class Message(Struct, frozen=True):
    """The data of a collective operation."""

    name: str
    """As `all_reduce`."""
    dtype: str = ""
    sent: int = -1
    """Elements that each rank has; -1 if unknown."""
    received: int = -1
    """Elements that each rank gets; -1 if unknown."""
    group: str = ""
    """Name of the process group."""
    description: str = ""
    """Of the group: `default_pg`."""
    ranks: int = 0
    """Number of ranks of the group; 0 if unknown."""


FIELDS: Mapping[str, tuple[str, str]] = {
    "name": ("collective_name", "Collective name"),
    "dtype": ("dtype", "dtype"),
    "sent": ("in_msg_nelems", "In msg nelems"),
    "received": ("out_msg_nelems", "Out msg nelems"),
    "group": ("pg_name", "Process Group Name"),
    "description": ("pg_desc", "Process Group Description"),
    "ranks": ("pg_size", "Group size"),
}
"""Names of the fields of a message in execution traces and in profilers' traces."""

SEQUENCE = "Seq"
"""Name of the number in the process group, in profilers' traces."""


def message_of(name: str, facts: JsonObject) -> Message | None:
    """Returns the message of a node, by its name and attributes; None for no collective."""
    if name != RECORDED:
        match = BY_BACKEND.fullmatch(name)
        return Message(match[1]) if match else None
    found: dict[str, Any] = {}
    for field, (ours, theirs) in FIELDS.items():
        value = facts.get(ours, facts.get(theirs))
        if field in NUMBERS:
            value = whole(value)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
            found[field] = value
    return Message(**{"name": UNNAMED, **found})


NUMBERS = frozenset({"sent", "received", "ranks"})


def whole(value: Any) -> int | None:
    """Returns a number of elements or ranks, which some versions write as text; None for none."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 20:
        return int(value)
    is_whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63
    return value if is_whole else None


def from_inputs(message: Message, inputs: Values, refs: Sequence[Ref]) -> tuple[Message, int]:
    """Returns a message with what only the inputs of its node say, and the number of the operation
    in its process group, -1 if unknown."""
    pairs = list(zip(inputs.values, inputs.types, strict=False))
    texts = [value for value, kind in pairs if kind == "String" and isinstance(value, str)]
    groups = [value for value, kind in pairs if kind == "Tuple[String,String]"]
    groups = [value for value in groups if isinstance(value, list) and len(value) == 2]
    found: dict[str, Any] = {}
    if message.name == UNNAMED and texts:
        found["name"] = texts[0]
    if not message.group and groups:
        found["group"], found["description"] = map(str, groups[0])
    if message.sent < 0 and refs:
        found["sent"] = sum(ref.size for ref in refs)
        found["dtype"] = _dtype_in(next(str(kind) for kind in inputs.types if kind))
    return msgspec.structs.replace(message, **found), _number_in(inputs)


def _dtype_in(kind: str) -> str:
    return kind.rpartition("Tensor(")[2].partition(")")[0]


def of_shapes(message: Message, shapes: Any, kinds: Any) -> Message:
    """Returns a message with the elements that shapes of a profiler's trace have."""
    if message.sent >= 0 or not isinstance(shapes, list) or not isinstance(kinds, list):
        return message
    extents = [shape for shape in shapes if isinstance(shape, list) and shape]
    try:
        sent = sum(math.prod(map(int, shape)) for shape in extents)
    except (TypeError, ValueError):
        return message
    if not extents or not 0 <= sent < 1 << 63:
        return message
    return msgspec.structs.replace(message, sent=sent, dtype=str(kinds[0]))


def _number_in(inputs: Values) -> int:
    """The first plain number, or that of a pair with whether it is of two ranks."""
    for value, kind in zip(inputs.values, inputs.types, strict=False):
        if isinstance(value, list) and str(kind).startswith("Tuple[Int"):
            value, kind = (value or [None])[0], "Int"
        if kind == "Int" and (number := whole(value)) is not None:
            return number
    return -1
