"""The fields of requests that say where and by what cases are measured: executors, nodes of a
cluster, environments that are installed first; and their installation, as locked where there is
a lock file."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from opperf.environments.specification import (
    EnvironmentSpec,
    Installed,
    Locked,
    lock_path,
    lock_text,
    read_lock,
    read_requirements,
)
from opperf.errors import UsageError
from opperf.execution.fleet.nodes import FleetOptions
from opperf.model import Interpreter
from opperf.requests.declaring import Group, Option, Say, declared
from opperf.requests.parsers import (
    environment_text,
    label_interpreters,
    parse_labels,
    parse_requirements,
)

if TYPE_CHECKING:
    from opperf.comparison.ab.arms import ArmSpec


def read_locked(path: Path | None) -> Locked | None:
    """Returns the lock file of `--locked`. Raises `UsageError` for another file."""
    return None if path is None else read_lock(path)


def install(spec: EnvironmentSpec, locked: Locked | None, say: Say) -> Installed:
    """Returns the environment, which is installed unless it is there. Raises `InstallationError`,
    and `UsageError` if the lock file has none of its requirements."""
    from opperf.environments.building import build_environment

    return build_environment(spec, say, () if locked is None else locked.packages(spec))


def install_arm(arm: ArmSpec, locked: Locked | None, say: Say) -> ArmSpec:
    """Returns an arm of `ab` with its environment, if it has one of its own, installed. Raises as
    `install` does."""
    if not arm.requirements:
        return arm
    built = install(read_requirements(",".join(arm.requirements)), locked, say)
    return msgspec.structs.replace(arm, python=str(built.python), packages=built.packages)


def write_lock(results: Path, interpreters: Iterable[Interpreter]) -> Path | None:
    """Writes the lock file beside results, and returns its path; None where opperf installed no
    environment, or the results are printed. Raises `OutputError`."""
    from opperf.results.output import STDOUT, replace

    text = lock_text(interpreters)
    if not text or results == STDOUT:
        return None
    path = lock_path(results)
    replace(path, text)
    return path


class ClusterNodes(Group, frozen=True, kw_only=True):
    """The nodes of a cluster."""

    address: Annotated[
        str,
        Option(
            "Ray cluster: auto, HOST:PORT or ray://HOST:PORT.  [default: $RAY_ADDRESS, or a "
            "cluster of this machine]",
            metavar="ADDRESS",
            section="Cluster",
        ),
    ] = ""
    nodes: Annotated[
        dict[str, str],
        Option(
            "Nodes with this label, or with this amount of a resource, e.g. GPU=8; name=NAME for "
            "one of them. Repeat it for nodes that have several.",
            gather=parse_labels,
            metavar="LABEL=VALUE",
            section="Cluster",
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

    section: ClassVar[str] = "Cluster"

    every_node: Annotated[
        bool,
        Option(
            "Measure each case on every node that --nodes chooses; `opperf nodes` then says which "
            "of them differs.",
            excludes={"node": "both name nodes; use only one of them"},
        ),
    ] = False
    worker_cpus: Annotated[
        int | None,
        Option(
            "Cores that each worker reserves.  [default: one for each thread of its cases]", low=1
        ),
    ] = None
    worker_gpus: Annotated[
        int | None,
        Option("GPUs that each worker reserves.  [default: 1 for cases on a GPU]", low=1),
    ] = None
    workers_per_node: Annotated[
        int | None,
        Option("Workers of each node.  [default: 1, or for cases on a GPU one for each]", low=1),
    ] = None

    def options(self, executor: str, given: frozenset[str]) -> FleetOptions:
        """Returns those of nodes and workers, likewise."""
        return dataclasses.replace(
            super().options(executor, given),
            worker_cpus=self.worker_cpus,
            worker_gpus=self.worker_gpus,
            workers_per_node=self.workers_per_node,
        )


LockFile = Annotated[
    Path | None,
    Option(
        "Install the exact versions of a lock file, which every run with environments writes "
        "beside its results (NAME.lock.json).",
        section="Settings",
        may_differ=True,
        spellings="--locked",
    ),
]
"""The lock file of environments."""


class Environments(Group, frozen=True, kw_only=True):
    """Environments that are installed before anything is measured."""

    requirements: Annotated[
        tuple[EnvironmentSpec, ...],
        Option(
            "Run the workers in an environment of these requirements, which uv or pip installs "
            "first and opperf keeps: torch==2.12, or 'python==3.12,numpy<2'. Repeat it for several "
            "environments, each of which is measured.",
            gather=parse_requirements,
            metavar="REQUIREMENTS",
            section="Settings",
            text=environment_text,
            may_differ=True,
            spellings="--with",
        ),
    ] = ()
    locked: LockFile = None

    def installed(self, named: tuple[Interpreter, ...], say: Say) -> tuple[Interpreter, ...]:
        """Returns the interpreters of the environments, which are installed unless they are there,
        behind those that are named. Raises `InstallationError`, and `UsageError` for a lock file
        that has none of the requirements."""

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
