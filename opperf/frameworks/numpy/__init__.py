"""NumPy: its public functions, arrays, memory. The only package that imports it as a framework."""

from __future__ import annotations

from opperf.frameworks.base import Framework
from opperf.frameworks.installed import package_identity


def identity() -> str:
    """What tells this build of NumPy from another. Raises `ImportError` when it is missing."""
    return package_identity("numpy", ("__init__.py", "version.py", "core/_multiarray_umath*"))


def framework() -> Framework:
    """NumPy, imported."""
    from opperf.frameworks.numpy.framework import NumPy

    return NumPy()
