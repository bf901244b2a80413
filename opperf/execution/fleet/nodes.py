"""The nodes of a cluster: their names, labels and resources, and which of them are chosen;
what a worker reserves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opperf.decoding import JsonObject
from opperf.errors import UsageError
from opperf.model import Struct

NAME = "name"
"""Label that names a node."""

RAY_LABELS = "ray.io/"
"""Beginning of the labels that Ray sets itself."""


class Node(Struct, frozen=True):
    """A node that is alive."""

    id: str
    """Ray's, which a node that starts again has not any more."""
    name: str
    """Of its label `name`, its name in Ray, or its host: the same when it starts again."""
    cpus: int = 0
    gpus: int = 0
    labels: dict[str, str] = {}
    resources: dict[str, float] = {}


def alive(listed: Iterable[Mapping[str, Any]]) -> tuple[Node, ...]:
    """Returns the nodes that are alive, by name, of what `ray.nodes` lists. Of several with one
    name, as those of one machine have, each has a number."""
    found = [entry for entry in listed if entry["Alive"]]
    names = Counter(map(_name, found))
    numbers: Counter[str] = Counter()
    nodes = []
    # Their ports grow in the order in which they started.
    for entry in sorted(found, key=lambda entry: (_name(entry), entry["NodeManagerPort"])):
        name = _name(entry)
        numbers[name] += 1
        resources = entry.get("Resources", {})
        nodes.append(
            Node(
                id=entry["NodeID"],
                name=name if names[name] == 1 else f"{name}-{numbers[name]}",
                cpus=int(resources.get("CPU", 0)),
                gpus=int(resources.get("GPU", 0)),
                labels=dict(entry.get("Labels") or {}),
                resources=dict(resources),
            )
        )
    return tuple(nodes)


def _name(entry: JsonObject) -> str:
    labels, address = entry.get("Labels") or {}, entry.get("NodeManagerAddress", "")
    named = entry.get("NodeName", "")
    if labels.get(NAME):
        return str(labels[NAME])
    # Without a name, Ray's is the address.
    return str(entry.get("NodeManagerHostname", "") or address if named in ("", address) else named)


def choose(nodes: Sequence[Node], labels: Mapping[str, str]) -> tuple[Node, ...]:
    """Returns the nodes with these labels, or at least these amounts of resources. Raises
    `UsageError`, with what there is, if there is none."""
    found = tuple(node for node in nodes if has_labels(node, labels))
    if found:
        return found
    asked = ", ".join(f"{name}={value}" for name, value in labels.items())
    known = sorted({word for node in nodes for word in _words(node)})
    raise UsageError(
        f"--nodes {asked}: none of the cluster's {len(nodes)} nodes has it; they have "
        f"{', '.join(known) or 'no labels'}"
    )


def has_labels(node: Node, labels: Mapping[str, str]) -> bool:
    """Whether a node has these labels, or at least these amounts of resources."""
    return all(_has(node, *item) for item in labels.items())


def _has(node: Node, name: str, value: str) -> bool:
    if name in node.labels:
        return node.labels[name] == value
    if name == NAME:
        return node.name == value
    try:
        return node.resources.get(name, 0.0) >= float(value)
    except ValueError:
        return False


def _words(node: Node) -> list[str]:
    labels = node.labels.items()
    own = [f"{name}={value}" for name, value in labels if not name.startswith(RAY_LABELS)]
    gpus = [f"GPU={node.gpus}"] if node.gpus else []
    return [*own, f"{NAME}={node.name}", f"CPU={node.cpus}", *gpus]


@dataclass(frozen=True)
class FleetOptions:
    """A cluster, and its workers."""

    address: str = ""
    """As `ray.init` takes it: `auto`, `HOST:PORT` or `ray://HOST:PORT`. Empty for `$RAY_ADDRESS`,
    or else for a cluster of this machine that ends with the run."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the nodes that measure, or amounts of their resources."""
    worker_cpus: int | None = None
    """Cores that a worker reserves; None for as many as its cases need."""
    worker_gpus: int | None = None
    workers_per_node: int | None = None
    """None for one, or of cases on a GPU for one on each."""
