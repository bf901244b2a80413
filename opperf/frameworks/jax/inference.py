"""Shapes of outputs, which JAX infers without a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from opperf.frameworks.base import Constant, Core
from opperf.frameworks.jax import constants, functions
from opperf.frameworks.jax.dtypes import dtype_of
from opperf.frameworks.jax.messages import refusal
from opperf.frameworks.jax.programs import Flat
from opperf.model import Case, Mapping, Number, OperatorTarget, TensorSpec


def output_shapes(framework: Core, case: Case) -> list[tuple[int, ...]] | None:
    """Returns the shapes of the case's outputs; None if only a call can show them."""
    if not isinstance(case.target, OperatorTarget):
        # A user's function may exist in the caller's process only.
        return None
    try:
        device = case.settings.device
        arguments = {name: abstract(value, device) for name, value in case.arguments.items()}
        call = functions.bind(framework.function(case.target), arguments, case.settings.seed)
        flat = Flat(call, (jax.Array, jax.ShapeDtypeStruct))
        made = jax.eval_shape(flat, *flat.arrays)
    except Exception as error:
        if refusal(error) is None:
            raise
        # The call's own refusal is the better message.
        return None
    return [tuple(leaf.shape) for leaf in jax.tree_util.tree_leaves(made)]


def _as_made(spec: TensorSpec, made: Any) -> Any:
    return made


def abstract(value: Any, device: str, array: Callable[[TensorSpec, Any], Any] = _as_made) -> Any:
    """Returns an argument with shapes in place of arrays. `array` sees each spec with its shape,
    and returns what takes the array's place."""
    if isinstance(value, tuple):
        made = [abstract(element, device, array) for element in value]
        return made if any(isinstance(element, TensorSpec) for element in value) else tuple(made)
    if isinstance(value, Mapping):
        return {name: abstract(one, device, array) for name, one in value.entries.items()}
    if isinstance(value, TensorSpec):
        return array(value, jax.ShapeDtypeStruct(value.shape, dtype_of(value.dtype)))
    if isinstance(value, Number):
        return value.value
    if isinstance(value, Constant):
        return constants.constant(value, device)
    return value
