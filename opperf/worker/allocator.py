"""Configures the heap of a process that measures a framework."""

from __future__ import annotations

import os

from opperf.frameworks import available, package_of
from opperf.instruments.callgrind.counter import DUMPS
from opperf.instruments.callgrind.heap import is_loaded
from opperf.machine import heap


def configure_heap(framework: str) -> str:
    """Configures this process's heap, for the first framework that it measures, and returns a
    description. Call it before the framework starts its threads. A process that counts instructions
    has an allocator of opperf's own, if that could be built."""
    return heap.configure_heap(_settings(framework))


def _settings(framework: str) -> heap.Wanted:
    if DUMPS in os.environ:
        return heap.OWN_ALLOCATOR if is_loaded() else heap.MAPPED
    package = package_of(framework) if framework in available() else None
    is_parallel = package is not None and package.allocates_in_parallel
    return heap.KEEPING if is_parallel else heap.KEEPING_ONE
