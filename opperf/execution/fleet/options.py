"""The options of a cluster: where it is, which of its nodes measure, and what a worker reserves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
