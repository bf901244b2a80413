"""Starts workers at the same time: an import takes a core more than a second, and nothing is
measured yet. While something is, no worker starts: an import on another core makes operators slower
by a percent, and their scatter larger by half (`benchmarks/import_beside.py`)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from opperf.worker.client import Worker
from opperf.worker.protocol import ForkRequest


def start_together(workers: Sequence[Worker], forks: Sequence[ForkRequest]) -> None:
    """Starts workers, which prepare their forks, and waits for all. The first starts on its own
    cores, each further one on others if as many are left. Raises `WorkerError` for one that cannot
    start."""
    taken = frozenset[int]()
    for worker, asked in zip(workers, forks, strict=True):
        own, usable = worker.cpus
        free = sorted(usable - taken - own, reverse=True)[: len(own)]
        place = own if not own & taken else frozenset(free) if len(free) == len(own) else own
        taken |= place
        worker.launch(place, [msgspec.json.encode(asked).decode()])
    for worker in workers:
        worker.environment()
