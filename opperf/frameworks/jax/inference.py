"""Shapes of outputs, which JAX infers without a call."""

from __future__ import annotations

from typing import Any

import jax

from opperf.frameworks.base import Constant, Core
from opperf.frameworks.jax import constants, functions
from opperf.frameworks.jax.dtypes import dtype_of
from opperf.frameworks.jax.messages import refusal
from opperf.frameworks.jax.programs import Flat
from opperf.model import Argument, Case, Mapping, Number, TensorSpec


def output_shapes(framework: Core, case: Case) -> list[tuple[int, ...]] | None:
    """Returns the shapes of the case's outputs; None if only a call can show them."""
    try:
        device = case.settings.device
        arguments = {name: _abstract(value, device) for name, value in case.arguments.items()}
        call = functions.bind(framework.function(case.target), arguments, case.settings.seed)
        flat = Flat(call, (jax.Array, jax.ShapeDtypeStruct))
        made = jax.eval_shape(flat, *flat.arrays)
    except Exception as error:
        if refusal(error) is None:
            raise
        # The call's own refusal is the better message.
        return None
    return [tuple(one.shape) for one in jax.tree_util.tree_leaves(made)]


def _abstract(value: Argument, device: str) -> Any:
    """Returns an argument with shapes in place of arrays."""
    if isinstance(value, tuple):
        made = [_abstract(one, device) for one in value]
        return made if any(isinstance(one, TensorSpec) for one in value) else tuple(made)
    if isinstance(value, Mapping):
        return {name: _abstract(one, device) for name, one in value.entries.items()}
    if isinstance(value, TensorSpec):
        return jax.ShapeDtypeStruct(value.shape, dtype_of(value.dtype))
    if isinstance(value, Number):
        return value.value
    if isinstance(value, Constant):
        return constants.constant(value, device)
    return value
