"""Traces for tests: the nodes of both forms of execution traces, and files of them."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

ADD = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
RELU = "aten::relu(Tensor self) -> Tensor"


def tensor(number: int, storage: int, offset: int = 0, size: int = 8, device: str = "cuda:0"):
    """Returns the value of a float tensor."""
    return [number, storage, offset, size, 4, device]


def node(identity: int, name: str, parent: int = 1, schema: str = "", **parts: Any):
    """Returns a node in the newer form. `parts` are inputs, types, shapes, strides, outputs, and
    attributes."""
    inputs = {
        "values": parts.pop("inputs", []),
        "types": parts.pop("types", []),
        "shapes": parts.pop("shapes", []),
        "strides": parts.pop("strides", []),
    }
    made = parts.pop("outputs", [])
    outputs = {"values": made, "shapes": [[8]] * len(made), "types": ["Tensor(float)"] * len(made)}
    attributes = {"op_schema": schema, "rf_id": identity, "tid": 1, "seq_id": -1, **parts}
    return {
        "id": identity,
        "name": name,
        "ctrl_deps": parent,
        "inputs": inputs,
        "outputs": outputs,
        "attrs": [{"name": key, "type": "", "value": value} for key, value in attributes.items()],
    }


def relu(identity: int, parent: int = 1, shape: tuple[int, ...] = (2, 4), **parts: Any):
    """Returns a node of a call of relu."""
    return node(
        identity,
        "aten::relu",
        parent,
        RELU,
        inputs=[tensor(identity + 1000, identity + 2000)],
        types=["Tensor(float)"],
        shapes=[list(shape)],
        **parts,
    )


def flat(newer: dict[str, Any]) -> dict[str, Any]:
    """Returns a node in the form of schema 1.0.1."""
    inputs, outputs = newer["inputs"], newer["outputs"]
    return {
        "id": newer["id"],
        "name": newer["name"],
        "parent": newer["ctrl_deps"],
        **{one["name"]: one["value"] for one in newer["attrs"]},
        "inputs": inputs["values"],
        "input_types": inputs["types"],
        "input_shapes": inputs["shapes"],
        "outputs": outputs["values"],
        "output_types": [],
        "output_shapes": [],
    }


ROOTS = [
    node(2, "[pytorch|profiler|execution_trace|thread]", 1),
    node(1, "[pytorch|profiler|execution_trace|process]", 1),
]


def text(nodes: list[dict[str, Any]], schema: str = "1.1.1-chakra.0.0.4") -> str:
    """Returns an execution trace as its file has it."""
    return json.dumps({"schema": schema, "pid": 1, "nodes": [*nodes, *ROOTS], "finish_ts": 9})


def write(path: Path, nodes: list[dict[str, Any]], schema: str = "1.1.1-chakra.0.0.4") -> Path:
    """Writes an execution trace in the form that the path's name has, and returns the path."""
    content = text(nodes, schema).encode()
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path, "w:gz") as archive:
            entry = tarfile.TarInfo("../../escaping.json")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        return path
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def event(name: str, begin: float, time: float, category: str = "cpu_op", thread: int = 1, **args):
    """Returns a complete event of a Chrome trace; times in microseconds."""
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 7,
        "tid": thread,
        "ts": begin,
        "dur": time,
        "args": args,
    }


def collective(
    identity: int, name: str, size: int = 8, parent: int = 2, number: int = -1, group: str = "0"
):
    """Returns a node of a collective operation; a number is that in its group."""
    numbered = number >= 0
    return node(
        identity,
        "record_param_comms",
        parent,
        inputs=[[tensor(5, 6, size=size)], *([number] if numbered else [])],
        types=["GenericList[Tensor(float)]", *(["Int"] if numbered else [])],
        shapes=[[[size]], *([[]] if numbered else [])],
        collective_name=name,
        dtype="Float",
        in_msg_nelems=size,
        out_msg_nelems=size,
        pg_name=group,
        pg_desc="default_pg",
        pg_size=2,
    )
