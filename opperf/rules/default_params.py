"""Default inputs of MXNet's operators by argument name, where its users import them."""

from __future__ import annotations

from typing import Any

from opperf.model import Kind, Operator, TensorSpec
from opperf.rules.mxnet import names
from opperf.rules.sizes import INT64, PRESETS, Preset

ANY_OPERATOR = Operator(framework="mxnet", namespace="nd", name="any")
"""Stands for the operator where a table's value does not depend on it."""


def defaults(preset: Preset) -> dict[str, list[Any]]:
    """The values of arguments by name, one for each configuration, with shapes for tensors."""
    found: dict[str, list[Any]] = {}
    for (name, kind), alternatives in names.TABLE.items():
        if name not in found or kind is Kind.TENSOR:
            found[name] = [_plain(value) for value in alternatives(ANY_OPERATOR, preset)]
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, TensorSpec):
        return value.shape
    if isinstance(value, tuple):
        return tuple(_plain(element) for element in value)
    return value


DEFAULTS_INPUTS = defaults(PRESETS["default"])
"""Default values of arguments at the default size."""

DEFAULTS_INPUTS_LARGE_TENSOR = defaults(PRESETS[INT64])
"""Default values of arguments for tensors of more than 2**31 elements."""

PARAMS_OF_TYPE_NDARRAY = sorted(
    {name for name, kind in names.TABLE if kind in (Kind.TENSOR, Kind.TENSORS)}
)
"""Names of the arguments that are tensors."""
