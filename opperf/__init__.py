"""opperf: benchmarks of a machine-learning framework's operators, one by one.

`import opperf` is cheap: neither NumPy nor a framework is loaded until something is run.
"""

from __future__ import annotations

import importlib

from opperf import numpy_aliases

__version__ = "0.1.0"

__all__ = [
    "ArmComparison",
    "FileComparison",
    "RunResult",
    "__version__",
    "ab",
    "compare",
    "export",
    "read",
    "record",
    "rule_places",
    "run",
    "run_all_mxnet_operator_benchmarks",
    "step",
    "versus",
]

numpy_aliases.install()

MODULES = {
    "ArmComparison": "opperf.api.ab",
    "FileComparison": "opperf.api.compare",
    "RunResult": "opperf.api.run_result",
    "ab": "opperf.api.ab",
    "compare": "opperf.api.compare",
    "export": "opperf.reports.writing",
    "read": "opperf.api.run",
    "record": "opperf.api.run",
    "rule_places": "opperf.api.rules",
    "run": "opperf.api.run",
    "step": "opperf.recording.session",
    "versus": "opperf.api.versus",
    "run_all_mxnet_operator_benchmarks": "opperf.nd_operations",
}
"""Modules of the functions and of the types of their results, imported when they are first used."""


def __getattr__(name: str) -> object:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module(MODULES[name]), name)
    return found
