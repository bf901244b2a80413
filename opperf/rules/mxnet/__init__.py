"""Inputs for MXNet's operators: the framework's rules module, from one module for each kind."""

from __future__ import annotations

from opperf.rules import families as shared
from opperf.rules.registering import families_in, modules_in

MODULES = modules_in(__name__)
FAMILIES = families_in(MODULES, shared.FAMILIES)

NUMPY_INTERFACE = "numpy."
GRADIENTS = True

NOT_BENCHMARKED: dict[str, str] = {
    "_CrossDeviceCopy": "cannot be called directly: only graphs split over devices run it",
    "_NoGradient": "a placeholder for a missing gradient, which computes nothing",
}
"""Operators that cannot be called on their own, each with the reason."""
