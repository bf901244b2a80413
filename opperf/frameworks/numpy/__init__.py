"""NumPy: its public functions, arrays, memory. The only package that imports it as a framework."""

from __future__ import annotations

from opperf.frameworks.capabilities import Framework
from opperf.frameworks.installed import Package, renamed, tested_range

SUCCESSORS = renamed(
    "alltrue=all cumproduct=cumprod in1d=isin msort=sort product=prod rank=ndim round_=round "
    "row_stack=vstack sometrue=any trapz=trapezoid"
)


PACKAGE = Package(
    name="numpy",
    offers="forward, memory; python profiler; cpu",
    requirement="numpy",
    tested=tested_range("numpy"),
    # NumPy 2 calls its `core` `_core`.
    build_files=("__init__.py", "version.py", "*core/_multiarray_umath*"),
    variables=("NPY_DISABLE_CPU_FEATURES",),
    successors=SUCCESSORS,
)


def framework() -> Framework:
    """Returns NumPy, imported."""
    from opperf.frameworks.numpy.framework import NumPy

    return NumPy()
