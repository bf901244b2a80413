"""Tensors that a rule has for the arguments of a callable, by name."""

from __future__ import annotations

from typing import Any

import msgspec

from opperf.frameworks import Framework
from opperf.model import Operator, TensorSpec
from opperf.rules.engine import inputs_for, rename_arguments, rules_module
from opperf.rules.registering import NoInputs
from opperf.rules.sizes import PRESETS


def rule_tensors(
    framework: Framework, operator: Operator, wrapped: Operator | None, dtype: str
) -> dict[str, TensorSpec]:
    """Returns the tensors of the rule for the operator that a callable wraps, by the callable's own
    arguments: of a list the first, and each as `data.0` if they differ. For a callable that wraps
    none, only the names of its arguments count, as a user's function `sum` need not compute one."""
    known = wrapped or msgspec.structs.replace(operator, name="", category="")
    made = inputs_for(known, rules_module(framework.rules), PRESETS["small"], dtype)
    if isinstance(made, NoInputs):
        return {}
    specs: dict[str, TensorSpec] = {}
    for inputs in reversed(made):
        for name, value in rename_arguments(operator, inputs.arguments).items():
            if isinstance(value, TensorSpec):
                specs[name] = value
            elif isinstance(value, tuple) and value and isinstance(value[0], TensorSpec):
                specs |= _listed(name, value, dtype)
    return specs


def _listed(name: str, value: tuple[Any, ...], dtype: str) -> dict[str, TensorSpec]:
    """Returns the tensors of a rule's list: the first, and each if they differ in more than their
    dtype."""
    listed = [element for element in value if isinstance(element, TensorSpec)]
    alike = [msgspec.structs.replace(spec, dtype=dtype) for spec in listed]
    # An operator that mixes dtypes, as amp_multicast, needs none of them.
    mixed = len({spec.dtype for spec in listed}) > 1
    specs = {name: alike[0] if mixed else listed[0]}
    if any(spec != alike[0] for spec in alike):
        specs.update((f"{name}.{i}", spec) for i, spec in enumerate(listed))
    return specs
