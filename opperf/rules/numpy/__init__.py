"""Inputs for NumPy's functions: the rules module of the framework, from a module for each kind."""

from __future__ import annotations

from opperf.frameworks.numpy import excluded
from opperf.rules import families as shared
from opperf.rules.registering import Family, families_in, modules_in

MODULES = modules_in(__name__)
FAMILIES = families_in(MODULES, shared.FAMILIES)

FUNCTIONS: dict[str, Family | str] = {
    **excluded.NAMES,
    **dict.fromkeys(("format_float_positional", "format_float_scientific"), excluded.TEXT),
}
"""The public functions that are no operators, each with the reason."""
DTYPE = "float64"
"""That of `np.zeros`, `np.linspace` and random numbers, and of arrays of Python's."""
