"""Shapes of outputs, which JAX infers without a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax

from opperf.frameworks.base import Core
from opperf.frameworks.jax import functions
from opperf.frameworks.jax.dtypes import dtype_of
from opperf.frameworks.jax.messages import refusal
from opperf.frameworks.jax.programs import Flat
from opperf.model import Case, DType, Generator, OperatorTarget, TensorSpec


def output_shapes(framework: Core, case: Case) -> list[tuple[int, ...]] | None:
    """Returns the shapes of the case's outputs; None if only a call can show them."""
    if not isinstance(case.target, OperatorTarget):
        # A user's function may exist in the caller's process only.
        return None
    try:
        arguments = {name: _abstract(value) for name, value in case.arguments.items()}
        call = functions.bind(framework.function(case.target), arguments, case.settings.seed)
        flat = Flat(call, (jax.Array, jax.ShapeDtypeStruct))
        made = jax.eval_shape(flat, *flat.arrays)
    except Exception as error:
        if refusal(error) is None:
            raise
        # The call's own refusal is the better message.
        return None
    return [tuple(one.shape) for one in jax.tree_util.tree_leaves(made)]


def _abstract(value: Any) -> Any:
    """Returns an argument with shapes in place of arrays."""
    if isinstance(value, tuple):
        made = [_abstract(one) for one in value]
        return made if any(isinstance(one, TensorSpec) for one in value) else tuple(made)
    if isinstance(value, Mapping):
        return {name: _abstract(one) for name, one in value.items()}
    if isinstance(value, TensorSpec):
        return jax.ShapeDtypeStruct(value.shape, dtype_of(value.dtype))
    if isinstance(value, DType):
        return dtype_of(value.name)
    if isinstance(value, Generator):
        return jax.random.key(value.seed)
    return value
