"""Options of a cluster, and what they choose."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import click

from opperf.errors import UsageError
from opperf.execution.fleet.options import FleetOptions
from opperf.parameters import combine, count_option, setting_options, spelling
from opperf.parsing import parse_labels

OPTIONS = ("address", "nodes", "every_node", "worker_cpus", "worker_gpus", "workers_per_node")
"""Parameters that mean something to a cluster only. A node, which cases may have of their file, is
checked when they are measured."""

address = click.option(
    "--address",
    default="",
    metavar="ADDRESS",
    help="Ray cluster: auto, HOST:PORT or ray://HOST:PORT.  [default: $RAY_ADDRESS, or a "
    "cluster of this machine]",
)

nodes = click.option(
    "--nodes",
    multiple=True,
    metavar="LABEL=VALUE",
    callback=parse_labels,
    help="Nodes with this label, or with this amount of a resource, e.g. GPU=8; name=NAME for "
    "one of them. Repeat it for nodes that have several.",
)

cluster_options = combine(
    address,
    nodes,
    setting_options("node"),
    click.option(
        "--every-node",
        is_flag=True,
        help="Measure each case on every node that --nodes chooses; `opperf nodes` then says which "
        "of them differs.",
    ),
    count_option(
        "--worker-cpus",
        help="Cores that each worker reserves.  [default: one for each thread of its cases]",
    ),
    count_option(
        "--worker-gpus",
        help="GPUs that each worker reserves.  [default: 1 for cases on a GPU]",
    ),
    count_option(
        "--workers-per-node",
        help="Workers of each node.  [default: 1, or for cases on a GPU one for each]",
    ),
)


def read_cluster(options: Mapping[str, Any], explicit: Collection[str]) -> FleetOptions:
    """Returns the options of the cluster. Raises `UsageError` for one that has no effect."""
    from opperf.execution.executor import RAY

    given = [name for name in OPTIONS if name in explicit]
    if given and options["executor"] != RAY:
        raise UsageError(f"{spelling(given[0])} has no effect without --executor {RAY}")
    if "node" in explicit and options["every_node"]:
        raise UsageError("--node and --every-node both name nodes; use only one of them")
    return FleetOptions(
        address=options["address"],
        labels=options["nodes"],
        worker_cpus=options["worker_cpus"],
        worker_gpus=options["worker_gpus"],
        workers_per_node=options["workers_per_node"],
    )


def measuring_nodes(options: FleetOptions) -> tuple[str, ...]:
    """Returns the names of the cluster's nodes that measure. Raises as `connect` and `choose`
    do."""
    from opperf.execution.fleet.connecting import connect, list_nodes
    from opperf.execution.fleet.nodes import choose

    # It stays connected for the executor.
    ray, _ = connect(options)
    # A head often has no cores, so that it does nothing else.
    measuring = [node for node in list_nodes(ray) if node.cpus]
    return tuple(node.name for node in choose(measuring, options.labels))
