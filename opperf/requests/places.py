"""The fields of requests that say where and by what cases are measured: executors, nodes of a
cluster, environments that are installed first."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import msgspec

from opperf.environments.specification import EnvironmentSpec
from opperf.errors import UsageError
from opperf.execution.fleet.nodes import FleetOptions
from opperf.model import Interpreter
from opperf.requests.declaring import CLUSTER, SETTINGS, Group, Option, Say, declared
from opperf.requests.fields import count_option
from opperf.requests.parsers import (
    environment_text,
    label_interpreters,
    parse_labels,
    parse_requirements,
)


class ClusterNodes(Group, frozen=True, kw_only=True):
    """The nodes of a cluster."""

    address: Annotated[
        str,
        Option(
            "--address",
            "Ray cluster: auto, HOST:PORT or ray://HOST:PORT.  [default: $RAY_ADDRESS, or a "
            "cluster of this machine]",
            metavar="ADDRESS",
            section=CLUSTER,
        ),
    ] = ""
    nodes: Annotated[
        dict[str, str],
        Option(
            "--nodes",
            "Nodes with this label, or with this amount of a resource, e.g. GPU=8; name=NAME for "
            "one of them. Repeat it for nodes that have several.",
            gather=parse_labels,
            metavar="LABEL=VALUE",
            section=CLUSTER,
        ),
    ] = {}

    def options(self, executor: str, given: frozenset[str]) -> FleetOptions:
        """Returns the cluster's options. Raises `UsageError` for one that has no effect with the
        executor."""
        from opperf.execution.executor import RAY

        own = [field for name, field in declared(type(self)).items() if name in given]
        if own and executor != RAY:
            raise UsageError(f"{own[0].shown} has no effect without --executor {RAY}")
        return FleetOptions(self.address, self.nodes)


class Cluster(ClusterNodes, frozen=True, kw_only=True):
    """The nodes of a cluster, and their workers."""

    every_node: Annotated[
        bool,
        Option(
            "--every-node",
            "Measure each case on every node that --nodes chooses; `opperf nodes` then says which "
            "of them differs.",
            section=CLUSTER,
            excludes={"node": "both name nodes; use only one of them"},
        ),
    ] = False
    worker_cpus: Annotated[
        int | None,
        count_option(
            "--worker-cpus",
            "Cores that each worker reserves.  [default: one for each thread of its cases]",
            CLUSTER,
        ),
    ] = None
    worker_gpus: Annotated[
        int | None,
        count_option(
            "--worker-gpus",
            "GPUs that each worker reserves.  [default: 1 for cases on a GPU]",
            CLUSTER,
        ),
    ] = None
    workers_per_node: Annotated[
        int | None,
        count_option(
            "--workers-per-node",
            "Workers of each node.  [default: 1, or for cases on a GPU one for each]",
            CLUSTER,
        ),
    ] = None

    def options(self, executor: str, given: frozenset[str]) -> FleetOptions:
        """Returns those of nodes and workers, likewise."""
        return dataclasses.replace(
            super().options(executor, given),
            worker_cpus=self.worker_cpus,
            worker_gpus=self.worker_gpus,
            workers_per_node=self.workers_per_node,
        )


Locked = Annotated[
    Path | None,
    Option(
        "--locked",
        "Install the exact versions of a lock file, which every run with environments writes "
        "beside its results (NAME.lock.json).",
        metavar="FILE",
        section=SETTINGS,
        may_differ=True,
    ),
]
"""The lock file of environments."""


class Environments(Group, frozen=True, kw_only=True):
    """Environments that are installed before anything is measured."""

    requirements: Annotated[
        tuple[EnvironmentSpec, ...],
        Option(
            "--with",
            "Run the workers in an environment of these requirements, which uv or pip installs "
            "first and opperf keeps: torch==2.12, or 'python==3.12,numpy<2'. Repeat it for several "
            "environments, each of which is measured.",
            gather=parse_requirements,
            metavar="REQUIREMENTS",
            text=environment_text,
            section=SETTINGS,
            may_differ=True,
        ),
    ] = ()
    locked: Locked = None

    def installed(self, named: tuple[Interpreter, ...], say: Say) -> tuple[Interpreter, ...]:
        """Returns the interpreters of the environments, which are installed unless they are there,
        behind those that are named. Raises `InstallationError`, and `UsageError` for a lock file
        that has none of the requirements."""
        from opperf.requests.installing import install, read_locked

        if not self.requirements:
            if self.locked is not None:
                raise UsageError(
                    "--locked is for environments; name them with --with, as the run had"
                )
            return named
        locked = read_locked(self.locked)
        built = [install(spec, locked, say).interpreter(spec.text) for spec in self.requirements]
        labelled = [
            msgspec.structs.replace(each, label=each.label or Path(each.path).parent.parent.name)
            for each in named
        ]
        return label_interpreters([*labelled, *built])
