"""The nodes of a cluster that measure each case."""

from __future__ import annotations

from dataclasses import replace

from opperf.requests.resolved_run import ResolvedRun


def on_every_node(request: ResolvedRun) -> ResolvedRun:
    """Returns the request with an axis of the cluster's nodes, if it is for every one. A run that
    is resumed has it already. Raises as `connected` and `choose` do."""
    if not request.every_node or request.resuming:
        return request
    from opperf.execution.fleet.connecting import connect, list_nodes
    from opperf.execution.fleet.nodes import choose

    # It stays connected for the executor.
    ray, _ = connect(request.cluster)
    # A head often has no cores, so that it does nothing else.
    measuring = [node for node in list_nodes(ray) if node.cpus]
    names = tuple(node.name for node in choose(measuring, request.cluster.labels))
    return replace(
        request, axes={**request.axes, "node": names}, explicit=request.explicit | {"node"}
    )
