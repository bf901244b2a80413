"""A case as a script in plain NumPy, which reproduces what was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from opperf.frameworks import fill_source
from opperf.frameworks.numpy import functions, tensors
from opperf.model import Case, OperatorTarget, TensorSpec

Names = dict[int, str]
"""Expression in the script for each array, by its identity."""


def script(case: Case, arguments: Mapping[str, Any], call: Callable[[], Any]) -> str:
    """The import, the arrays and the call."""
    assert isinstance(call, partial)
    arrays = fill_source.tensors(case, arguments)
    names: Names = {id(array): name for name, _, array in arrays}
    made = [f'{name} = ({contents(spec)}).astype("{spec.dtype}")' for name, spec, _ in arrays]
    words = [_value(value, names) for value in call.args]
    words += [f"{name}={_value(value, names)}" for name, value in call.keywords.items()]
    called = f"out = {dotted(case, call.func)}({', '.join(words)})"
    return "\n".join(["import numpy as np", "", fill_source.GENERATOR, *made, "", called]) + "\n"


def dotted(case: Case, function: Callable[..., Any]) -> str:
    """The function's dotted path in a script; a method's begins with a generator of that seed."""
    target, seed = case.target, case.settings.seed
    if not isinstance(target, OperatorTarget):
        return functions.path_of(function).replace("numpy.", "np.", 1)
    method = target.name.rpartition(".")[2]
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.random.Generator):
        return f"np.random.default_rng({seed}).{method}"
    if isinstance(owner, np.random.RandomState):
        return f"np.random.RandomState({seed}).{method}"
    return f"np.{target.name}"


def contents(spec: TensorSpec) -> str:
    """An expression for an array's contents."""
    if spec.fill.of:
        return fill_source.numbers_of(spec)
    real = fill_source.expression(spec)
    return f"{real} + 1j * {real}" if tensors.has_imaginary_part(spec) else real


def _value(value: Any, names: Names) -> str:
    if id(value) in names:
        return names[id(value)]
    if isinstance(value, list):
        return f"[{', '.join(_value(element, names) for element in value)}]"
    return repr(value)
