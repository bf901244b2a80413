"""Execution traces of PyTorch, as it and Chakra write them, schemas 1.0.1 to 1.1.1.

Attributes are read by name, as files of one version have different ones, and unknown ones are
ignored. A node is written when it ends, so that children precede their parents.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from opperf.decoding import JsonObject, read_json
from opperf.model import Argument
from opperf.plurals import pluralize
from opperf.traces.anomalies import Anomalies, Anomaly
from opperf.traces.archives import Range, ranges_of
from opperf.traces.collectives import Message, from_inputs, message_of
from opperf.traces.trace import Call, Node, Trace
from opperf.traces.values import (
    TENSOR,
    UNDEFINED,
    Placed,
    Reader,
    Ref,
    Schema,
    SchemaParameter,
    Unbuildable,
    Values,
    device_type,
    inner_types,
    integer_or,
    is_integer,
    parse_schema,
    ref_of,
)

ATEN = "aten::"
"""Beginning of the names of PyTorch's own operators."""

HOST = "cpu"

TRITON = "triton"
"""Backend of kernels that a compiler made."""

TRITON_REFUSAL = "a Triton kernel, whose file is not executed"


def read_nodes(trace: Trace, objects: Iterable[JsonObject]) -> None:
    """Adds the nodes of an execution trace."""
    for raw in objects:
        node = _node(trace, raw)
        if node is None:
            trace.anomalies[Anomaly.NODE_UNNAMED] += 1
        elif node.id in trace.nodes:
            trace.anomalies[Anomaly.NODE_REPEATED] += 1
        else:
            trace.nodes[node.id] = node
    nodes = trace.nodes.values()
    found = Anomalies()
    found[Anomaly.NODE_PARENTLESS] = sum(
        node.parent not in (0, node.id) and node.parent not in trace.nodes for node in nodes
    )
    found[Anomaly.NODE_CIRCULAR] = _circular(trace.nodes)
    found[Anomaly.NO_SCHEMA] = sum(
        node.name.startswith(ATEN) and not trace.is_operator(node) for node in nodes
    )
    trace.anomalies.update(+found)
    if not any(map(trace.is_operator, nodes)):
        trace.anomalies[Anomaly.NO_CALL] = len(nodes)


def _circular(nodes: Mapping[int, Node]) -> int:
    """Returns the number of nodes that are above themselves; the topmost is its own parent."""
    count = 0
    passed: dict[int, int] = {}
    for start in nodes:
        path: list[int] = []
        identity = start
        while identity in nodes and identity not in passed:
            passed[identity] = start
            path.append(identity)
            identity = nodes[identity].parent
        if path and passed.get(identity) == start and nodes[identity].parent != identity:
            count += len(path) - path.index(identity)
    return count


def _node(trace: Trace, raw: JsonObject) -> Node | None:
    attributes = _attributes(raw)
    identity, name = raw.get("id"), raw.get("name")
    parent = raw.get("ctrl_deps", raw.get("parent", 0))
    if not (is_integer(identity) and is_integer(parent) and isinstance(name, str)):
        return None
    if min(identity, parent) < 0:
        return None
    node = Node(
        identity,
        parent,
        name,
        rf_id=integer_or(attributes.get("rf_id")),
        seq_id=integer_or(attributes.get("seq_id"), -1),
        thread=integer_or(attributes.get("tid")),
    )
    schema = attributes.get("op_schema") or ""
    is_triton = attributes.get("kernel_backend") == TRITON
    message = message_of(name, attributes)
    if message or is_triton or (schema and not name.startswith("c10d::")):
        inputs, outputs = _values(raw, "inputs"), _values(raw, "outputs")
        tensors = tensors_of(inputs)
        node.inputs = tuple(tensor.ref for tensor in tensors)
        node.outputs = tuple(tensor.ref for tensor in tensors_of(outputs))
        if message is None:
            ranges = _ranges(attributes.get("tensor_range")) or ranges_of(
                identity, tensors, trace.contents
            )
            node.call = trace.call_index(
                _key(name, str(schema), inputs, node.inputs, str(ranges or "")),
                lambda: (
                    Call(name, "", (), refusal=TRITON_REFUSAL)
                    if is_triton
                    else _built(name, str(schema), inputs, node.inputs, ranges)
                ),
            )
        else:
            message, node.seq_id = from_inputs(message, inputs, node.inputs)
            node.call = collective_call(trace, name, message)
        node.output_specs = _outputs(trace, outputs, node.outputs)
    return node


def _attributes(raw: JsonObject) -> JsonObject:
    """In a list of its own, or beside the others."""
    listed = raw.get("attrs")
    if not isinstance(listed, list):
        return raw
    return {
        attribute["name"]: attribute.get("value")
        for attribute in listed
        if isinstance(attribute, dict) and isinstance(attribute.get("name"), str)
    }


def _values(raw: JsonObject, name: str) -> Values:
    found = raw.get(name)
    singular = name.removesuffix("s")
    if isinstance(found, dict):
        parts = [found.get(key) for key in ("values", "types", "shapes", "strides")]
    else:
        parts = [found, raw.get(f"{singular}_types"), raw.get(f"{singular}_shapes"), []]
    return Values(*(part if isinstance(part, list) else [] for part in parts))


def tensors_of(values: Values) -> list[Placed]:
    """Returns which tensors values are, those of lists included; without those that are not
    there, which have positions too."""
    found: list[Placed] = []
    positions = itertools.count()

    def add(value: Any, kind: str) -> None:
        inner = inner_types(kind)
        if inner is not None and isinstance(value, list) and inner:
            for index, element in enumerate(value):
                add(element, inner[min(index, len(inner) - 1)])
        elif kind.startswith(TENSOR):
            position = next(positions)
            if kind != UNDEFINED:
                # The call says which one has no numbers.
                with suppress(Unbuildable):
                    found.append(Placed(position, ref_of(value), kind))

    for value, kind in zip(values.values, values.types, strict=False):
        if isinstance(kind, str):
            add(value, kind)
    return found


def _key(kind: str, schema: str, values: Values, refs: Sequence[Ref], ranges: str) -> Hashable:
    """Returns what distinguishes a call or its outputs: all but which tensors they are. Tensors are
    alike if they share storages alike."""
    storages: dict[tuple[int, str], int] = {}
    tensors = [
        (storages.setdefault((ref.storage, ref.device), len(storages)), ref.offset, ref.device)
        for ref in refs
    ]
    plain = [
        None if TENSOR in str(kind) else value
        for value, kind in zip(values.values, values.types, strict=False)
    ]
    return (
        kind,
        schema,
        ranges,
        msgspec.json.encode((tensors, plain, values.types, values.shapes, values.strides)),
    )


def collective_call(trace: Trace, name: str, message: Message) -> int:
    """Returns the index of the distinct call of a collective operation."""
    return trace.call_index(
        message, lambda: Call(name, "", (), collective=message.name, message=message)
    )


def _built(
    name: str, schema: str, inputs: Values, refs: Sequence[Ref], ranges: Mapping[int, Range]
) -> Call:
    parsed = parse_schema(schema)
    if parsed is None:
        return Call(name.replace("::", "."), "", (), schema, refusal="its schema cannot be read")
    device = main_device(refs)
    try:
        arguments, notes = _arguments(parsed, inputs, device, ranges)
    except Unbuildable as error:
        return Call(parsed.path, parsed.overload, (), schema, refusal=str(error))
    return Call(parsed.path, parsed.overload, arguments, schema, notes, device=device_type(device))


def _arguments(
    schema: Schema, inputs: Values, device: str, ranges: Mapping[int, Range]
) -> tuple[tuple[tuple[str, Argument], ...], tuple[str, ...]]:
    if len(inputs.values) > len(schema.parameters):
        raise Unbuildable(
            f"{len(inputs.values)} inputs of {pluralize(len(schema.parameters), 'parameter')}"
        )
    reader = Reader(device, ranges)
    made: list[tuple[str, Argument]] = []
    notes: list[str] = []
    for parameter, own in zip(schema.parameters, inputs.each(), strict=False):
        argument = reader.read(*own, parameter.type)
        precise, note = with_digits(argument, parameter)
        made.append((parameter.name, precise))
        notes += [note] if note else []
    return tuple((name, reader.own_storages(value)) for name, value in made), tuple(notes)


SMALLEST = 5e-7
"""Below it, a double is written as zero: traces have six decimals."""

EPSILONS = ("eps", "epsilon")
EPSILON = 1e-8
"""An epsilon whose schema has no default: that of PyTorch's optimizers."""


def with_digits(argument: Argument, parameter: SchemaParameter) -> tuple[Argument, str]:
    """Returns a double with the digits that six decimals do not hold, and a note on it; empty
    without one. The schema's default has them, or it is an epsilon, which is never zero."""
    if not isinstance(argument, float):
        return argument, ""
    default = _default(parameter)
    if default is not None and default != argument and abs(default - argument) < SMALLEST:
        precise = default
    elif argument == 0 and parameter.name in EPSILONS:
        precise = EPSILON if default is None else default
    else:
        return argument, ""
    return precise, f"{parameter.name} is {precise:g}, as the trace has six decimals of it"


def _default(parameter: SchemaParameter) -> float | None:
    if not parameter.type.startswith("float") or parameter.default is None:
        return None
    try:
        return float(parameter.default)
    except ValueError:
        return None


def _outputs(trace: Trace, outputs: Values, refs: Sequence[Ref]) -> int:

    def make() -> Iterator[Argument]:
        reader = Reader(main_device(refs), {})
        for own in itertools.islice(outputs.each(), len(outputs.types)):
            try:
                yield reader.read(*own, "")
            except Unbuildable:
                # Outputs are counted and replayed as far as the trace has them.
                yield None

    return trace.outputs_index(_key("outputs", "", outputs, refs, ""), lambda: tuple(make()))


def main_device(refs: Iterable[Ref]) -> str:
    """Returns the device of most tensors, and rather not the CPU, where numbers of calls on other
    devices are; empty if the trace does not say it."""
    counts = Counter(ref.device for ref in refs)
    return max(counts, key=lambda name: (not name.startswith(HOST), counts[name]), default="")


def _ranges(text: Any) -> dict[int, Range]:
    try:
        found = read_json(text) if isinstance(text, str) and text else {}
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        int(index): (pair[0], pair[1])
        for index, pair in found.items()
        if index.isdecimal()
        and isinstance(pair, list)
        and len(pair) == 2
        and all(map(is_integer, pair))
    }
