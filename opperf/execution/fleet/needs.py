"""The cores and GPUs that cases need, and which of them one node measures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opperf.dtypes import DTYPES
from opperf.execution.fleet.nodes import Node
from opperf.execution.fleet.options import FleetOptions
from opperf.frameworks.base import CPU
from opperf.machine.pinning import thread_count
from opperf.metrics import process_settings
from opperf.model import Case, DType, ScriptTarget, display_argument
from opperf.model.base import digest


class Reserved(NamedTuple):
    """The reservation of each worker of a node."""

    cpus: int
    gpus: int
    workers: int


def reserve(cases: Sequence[Case], node: Node, options: FleetOptions) -> Reserved | None:
    """Returns the reservation of the workers of a node; None if it has too few cores or GPUs. A
    program has the whole node, and a case without a number of threads all cores."""
    programs = any(isinstance(case.target, ScriptTarget) for case in cases)
    threads = [thread_count(process_settings(case.settings), {}) for case in cases]
    counts = [count for count in threads if count is not None]
    takes_all = programs or len(counts) < len(threads)
    cpus = options.worker_cpus or (node.cpus if takes_all else max(counts, default=1))
    gpus = options.worker_gpus
    if gpus is None:
        on_gpu = any(case.settings.device != CPU for case in cases)
        gpus = node.gpus if programs else int(on_gpu)
    if not 0 < cpus <= node.cpus or gpus > node.gpus:
        return None
    # Cases on CPUs share memory and caches, and those on GPUs have each their own.
    fitting = min(node.cpus // cpus, node.gpus // gpus if gpus else 1)
    return Reserved(cpus, gpus, max(1, min(options.workers_per_node or fitting, node.cpus // cpus)))


def pair_key(case: Case) -> str:
    """Returns a key that is the same for cases that a comparison joins: those of one target with
    inputs of the same shapes, whatever their settings."""
    arguments = {
        name: display_argument(value)
        for name, value in case.arguments.items()
        if not isinstance(value, DType) and not (isinstance(value, str) and value in DTYPES)
    }
    return digest((case.target, arguments))


def pairs_of(measured: Iterable[tuple[Case, str]]) -> dict[str, str]:
    """Returns the node of each key, of cases with the node that measured them."""
    return {pair_key(case): node for case, node in measured if node}
