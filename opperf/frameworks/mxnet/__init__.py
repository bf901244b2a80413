"""MXNet: its registry, arrays, autograd, profiler and memory counter.

Written against MXNet 1.9.1 and 2.0.0b1; what differs between them is found by looking for
it, never by comparing versions.
"""

from __future__ import annotations

from opperf.frameworks.base import Framework
from opperf.frameworks.installed import package_identity


def identity() -> str:
    """What tells this build of MXNet from another. Raises `ImportError` when it is missing."""
    return package_identity("mxnet", ("__init__.py", "libinfo.py", "libmxnet*"))


def framework() -> Framework:
    """The MXNet framework. Raises `ImportError` when MXNet is not installed."""
    from opperf.frameworks.mxnet.framework import MXNet

    return MXNet()
