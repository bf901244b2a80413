"""opperf: benchmarks of a machine-learning framework's operators, one by one.

`import opperf` is cheap: neither NumPy nor a framework is loaded until something is run.
"""

from __future__ import annotations

from opperf import numpy_aliases

__version__ = "0.1.0"

__all__ = ["__version__", "run_all_mxnet_operator_benchmarks"]

numpy_aliases.install()


def __getattr__(name: str) -> object:
    if name == "run_all_mxnet_operator_benchmarks":
        from opperf.nd_operations import run_all_mxnet_operator_benchmarks

        return run_all_mxnet_operator_benchmarks
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
