"""The cores and GPUs of a cluster's nodes, by which benches are planned that run there."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

from opperf.errors import WorkerError, one_line
from opperf.execution.fleet.connecting import connect, list_nodes
from opperf.execution.fleet.nodes import FleetOptions, choose
from opperf.machine.gpus import gpu_facts
from opperf.machine.kernel import usable_cpus
from opperf.machine.topology import physical_cores

ANSWER_S = 120.0
"""Limit on the start of a process of Ray on each node, which takes seconds."""


class NodeCounts(NamedTuple):
    """The cores and GPUs of a node."""

    name: str
    cpus: int
    """Cores that Ray gives to workers."""
    cores: int
    """Physical ones."""
    gpus: int
    gpu_bytes: int = 0
    """Memory of its smallest GPU."""


def count_here() -> tuple[int, int]:
    """Returns the number of physical cores of this machine that may be used, and the bytes of the
    memory of its smallest GPU, 0 without one."""
    sizes = [int(facts["memory_bytes"]) for facts in gpu_facts() if "memory_bytes" in facts]
    return len(physical_cores(usable_cpus())), min(sizes, default=0)


def count_nodes(options: FleetOptions) -> tuple[NodeCounts, ...]:
    """Returns what the nodes have that measure, by name. The connection stays for the executor.
    Raises as `connect` and `choose` do, and `WorkerError` if a node does not answer."""
    ray, _ = connect(options)
    # A head often has no cores, so that it does nothing else.
    measuring = [node for node in list_nodes(ray) if node.cpus]
    chosen = choose(measuring, options.labels)
    asked = [_ask(ray, node.id) for node in chosen]
    try:
        counts: list[tuple[int, int]] = ray.get(asked, timeout=ANSWER_S)
    except ray.exceptions.RayError as error:
        reason = one_line(str(error), 200)
        raise WorkerError(f"a node of the cluster does not say its cores: {reason}") from error
    return tuple(
        NodeCounts(node.name, node.cpus, min(cores, node.cpus), node.gpus, gpu_bytes)
        for node, (cores, gpu_bytes) in zip(chosen, counts, strict=True)
    )


def _ask(ray: Any, node: str) -> Any:
    strategies = importlib.import_module("ray.util.scheduling_strategies")
    there = strategies.NodeAffinitySchedulingStrategy(node, soft=False)
    return ray.remote(count_here).options(num_cpus=0, scheduling_strategy=there).remote()
