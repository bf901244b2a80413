"""Inputs for PyTorch's operators: the framework's rules module, from one module for each kind."""

from __future__ import annotations

from opperf.rules import families as shared
from opperf.rules.registering import families_in, modules_in
from opperf.rules.torch.recorded import own_arguments

MODULES = modules_in(__name__)
FAMILIES = families_in(MODULES, shared.FAMILIES)

GRADIENTS = True

RECORDED = own_arguments
