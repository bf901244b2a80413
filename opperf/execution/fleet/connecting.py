"""The connection to a Ray cluster, and the cores and GPUs of its nodes, by which benches are
planned that run there. Ray is imported here alone, and only when it is used."""

from __future__ import annotations

import importlib
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from opperf.errors import UsageError, WorkerError, one_line
from opperf.execution.fleet.nodes import FleetOptions, Node, alive, choose
from opperf.extras import load_extra
from opperf.machine.gpus import gpu_facts
from opperf.machine.kernel import usable_cpus
from opperf.machine.topology import physical_cores
from opperf.reading import is_writable

START = "start one with `ray start --head`, or omit --address for a cluster of this machine"

PRINTING, PRINTER = "ray._private.worker", "print_to_stdstream"
"""Module and name of Ray's function that prints what the cluster says of its processes."""

ANSWER_S = 5.0
"""Seconds within which a machine answers, on a network that a cluster is on."""

QUIET = {
    # Of a cluster of this machine: no statistics are sent, and no page is served.
    "RAY_USAGE_STATS_ENABLED": "0"
}


def connect(options: FleetOptions) -> tuple[Any, bool]:
    """Returns the module, connected to the cluster, and whether it was connected now. Raises
    `UsageError` if Ray is not installed, and `WorkerError` if no cluster answers."""
    ray = load_extra("ray", "--executor ray")
    if ray.is_initialized():
        return ray, False
    address = options.address or os.environ.get("RAY_ADDRESS", "")
    if not is_writable(address):
        raise UsageError("the address of the Ray cluster is no text in UTF-8; set RAY_ADDRESS anew")
    check_answers(address)
    quiet = {"logging_level": "CRITICAL", "log_to_driver": False}
    try:
        if address:
            ray.init(address=address, **quiet)
        else:
            for name, value in QUIET.items():
                os.environ.setdefault(name, value)
            ray.init(address="local", include_dashboard=False, **quiet)
    except Exception as error:
        # Ray raises what its parts raise: also `Exception` itself, and assertions on an address.
        reason = one_line(str(error), 200)
        where = f"no Ray cluster answers at {address}" if address else "Ray does not start here"
        raise WorkerError(f"{where}: {reason}; {START if address else 'see --address'}") from error
    return ray, True


def check_answers(address: str) -> None:
    """Raises `WorkerError` if nothing answers at an address, where Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), ANSWER_S).close()
    except (OSError, OverflowError, UnicodeError) as error:
        # The last one is of a host that no name server takes.
        why = getattr(error, "strerror", None) or str(error)
        raise WorkerError(f"no Ray cluster answers at {address} ({why}); {START}") from error


@contextmanager
def connected(options: FleetOptions) -> Iterator[Any]:
    """Returns a context with the module; a connection that was made for it ends with it."""
    handler = signal.getsignal(signal.SIGTERM)
    ray, is_new = connect(options)
    with silenced():
        try:
            yield ray
        finally:
            if is_new:
                ray.shutdown()
                # Ray has set its own, which ends this process without a word to whoever comes
                # after. None is one that Python did not set, nor can.
                if handler is not None and threading.current_thread() is threading.main_thread():
                    signal.signal(signal.SIGTERM, handler)


@contextmanager
def silenced() -> Iterator[None]:
    """Lets Ray print nothing of nodes and workers that end, with the last lines of their logs:
    whoever misses them says so. Ray has no option for that; a version without it prints."""
    module = importlib.import_module(PRINTING)
    printer = getattr(module, PRINTER, None)
    if printer is not None:
        setattr(module, PRINTER, lambda *args, **named: None)
    try:
        yield
    finally:
        # A connection may be the user's own.
        if printer is not None:
            setattr(module, PRINTER, printer)


def list_nodes(ray: Any) -> tuple[Node, ...]:
    """Returns the nodes that are alive. Raises `WorkerError` if the cluster answers no more."""
    try:
        return alive(ray.nodes())
    except (ConnectionError, RuntimeError, ray.exceptions.RayError) as error:
        reason = one_line(str(error), 200)
        raise WorkerError(f"the Ray cluster answers no more: {reason}") from error


def measuring_nodes(options: FleetOptions) -> tuple[Node, ...]:
    """Returns the nodes that measure, and stays connected. Raises as `connect` and `choose`."""
    ray, _ = connect(options)
    # A head often has no cores, so that it does nothing else.
    measuring = [node for node in list_nodes(ray) if node.cpus]
    return choose(measuring, options.labels)


START_S = 120.0
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
    """Returns what the nodes have that measure, by name. Raises as `measuring_nodes` does, and
    `WorkerError` if a node does not answer."""
    chosen = measuring_nodes(options)
    ray, _ = connect(options)
    asked = [_ask(ray, node.id) for node in chosen]
    try:
        counts: list[tuple[int, int]] = ray.get(asked, timeout=START_S)
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
