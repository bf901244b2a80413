"""Why a worker of a cluster answers no more: its node has ended, Ray has ended it for the node's
memory, or its process alone has ended."""

from __future__ import annotations

import time
from typing import Any

from opperf.errors import one_line
from opperf.execution.fleet.connecting import list_nodes

RESTART_S = 30.0
"""Limit on what follows the end of a worker: Ray has it again within seconds on a node that is
alive, and gives up a node that does not answer for that long."""

POLL_S = 0.1
"""Seconds between looks at the node while the worker may start again."""

AGAIN = "measure it again with --retry crashed"


def reason_of(ray: Any, error: Exception) -> str:
    """Returns why a worker answers no more, as far as its error says it."""
    errors = ray.exceptions
    if isinstance(error, errors.OutOfMemoryError):
        return "Ray ended it, as the node is short of memory"
    if isinstance(error, errors.ActorUnavailableError):
        return "it answers no more"
    # The lines above are ids.
    return one_line(str(error).strip().splitlines()[-1], 160)


def explain_end(ray: Any, node: str, node_id: str, actor: Any, error: Exception) -> str:
    """Returns why the worker of a node, whose id in Ray is `node_id`, has ended with an error, and
    what to do. Raises `WorkerError` if the cluster answers no more."""
    errors = ray.exceptions
    if isinstance(error, errors.OutOfMemoryError):
        return (
            f"the worker of node {node} was ended by Ray, as the node is short of memory; {AGAIN}"
        )
    if isinstance(error, errors.NodeDiedError) or not _goes_on(ray, node_id, actor):
        return f"node {node} has ended; {AGAIN}"
    why = ""
    if isinstance(error, errors.ActorDiedError):
        why = f": {reason_of(ray, error)}"
    return f"the worker of node {node} has ended{why}, and the node goes on; {AGAIN}"


def _goes_on(ray: Any, node_id: str, actor: Any) -> bool:
    """Returns whether a node is alive after the end of its worker: Ray restarts that there, or says
    that the node has ended."""
    answer = actor.version.options(max_task_retries=-1).remote()
    until = time.monotonic() + RESTART_S
    while time.monotonic() < until:
        ready, _ = ray.wait([answer], timeout=POLL_S)
        if node_id not in {node.id for node in list_nodes(ray)}:
            return False
        if ready:
            break
    return True
