"""Inputs for JAX's functions: the framework's rules module, from one module for each kind."""

from __future__ import annotations

from opperf.rules import families as shared
from opperf.rules.registering import families_in, modules_in

MODULES = modules_in(__name__)
FAMILIES = families_in(MODULES, shared.FAMILIES)

NUMPY_INTERFACE = "numpy."
GRADIENTS = True
