"""Shapes that follow from others, by MXNet's own inference on a symbol: nothing is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import mxnet as mx

from opperf.errors import UnsupportedError
from opperf.frameworks.mxnet import direct, registry, user_operators
from opperf.model import UNKNOWN, Argument, Case, TensorSpec

Shape = tuple[int, ...]

MODULES = (
    ("", "op"),
    ("", "_internal"),
    ("_contrib_", "contrib"),
    ("_linalg_", "linalg"),
    ("_image_", "image"),
    ("_random_", "random"),
    ("_sparse_", "sparse"),
    ("_npi_", "numpy._internal"),
    ("_np_", "numpy._op"),
    ("_npx_", "numpy_extension._op"),
)
"""Prefix of a registered name, and the module of `mx.sym` that has the rest of the name."""

CRASHING = frozenset(
    {
        # Without outputs.
        "reset_arrays",
        # As a symbol of more than ten parameters.
        *("_multi_lamb_update", "_multi_mp_lamb_update"),
        *("_multi_lans_update", "_multi_mp_lans_update"),
    }
)
"""Operators whose shape inference ends the process."""

REFUSALS = (
    *(mx.base.MXNetError, TypeError, ValueError),
    *(AttributeError, NotImplementedError, LookupError),
)
"""Raised in building or inferring a symbol for incompatible arguments."""


def symbol_function(name: str) -> Callable[..., Any] | None:
    """Returns the function that makes a symbol of an operator; None if MXNet generates none."""
    operator = registry.by_name().get(name)
    if operator is not None and user_operators.type_of(operator):
        return user_operators.symbol(operator)
    for candidate in operator.names if operator else ():
        for prefix, path in MODULES:
            if candidate.startswith(prefix):
                place: Any = mx.sym
                for word in path.split("."):
                    place = getattr(place, word, None)
                function = getattr(place, candidate[len(prefix) :], None)
                if callable(function):
                    found: Callable[..., Any] = function
                    return found
    return None


def infer_shapes(
    name: str, arguments: Mapping[str, Argument], known: Mapping[str, Shape]
) -> tuple[dict[str, Shape], list[Shape]] | None:
    """Returns the shapes of an operator's tensors, by argument, and of its outputs, as far as they
    follow from the known ones; else None. Elements of a list are `args0`, `args1`."""
    operator = registry.by_name().get(name)
    if operator is None or direct.has_graphs(operator) or name in CRASHING:
        return None
    function = symbol_function(name)
    if function is None:
        return None

    def variable(called: str) -> Any:
        made = mx.sym.Variable(called)
        return made.as_np_ndarray() if name.startswith("_np") else made

    positional, keywords = [], {}
    for argument, value in arguments.items():
        if isinstance(value, TensorSpec):
            keywords[argument] = variable(argument)
        elif isinstance(value, tuple) and any(isinstance(e, TensorSpec) for e in value):
            positional += [variable(f"{argument}{i}") for i in range(len(value))]
        else:
            keywords[argument] = value
    try:
        symbol = function(*positional, **keywords)
        given = {
            n: shape
            for n, shape in known.items()
            if n in {*symbol.list_arguments(), *symbol.list_auxiliary_states()}
        }
        shapes, outputs, auxiliary = symbol.infer_shape_partial(**given)
    except REFUSALS:
        return None
    listed = [
        *zip(symbol.list_arguments(), shapes or (), strict=False),
        *zip(symbol.list_auxiliary_states(), auxiliary or (), strict=False),
    ]
    return (
        {n: tuple(shape) for n, shape in listed if _is_known(shape)},
        [tuple(shape) for shape in outputs or () if _is_known(shape)],
    )


def complete_shapes(case: Case) -> Case:
    """Returns the case with `UNKNOWN` shapes inferred. Raises `UnsupportedError`."""
    known = {
        name: spec.shape
        for name, spec in case.arguments.items()
        if isinstance(spec, TensorSpec) and spec.shape != UNKNOWN
    }
    found = infer_shapes(case.label, case.arguments, known)
    shapes: Mapping[str, Shape] = {} if found is None else found[0]
    made = dict(case.arguments)
    for name, spec in case.arguments.items():
        if isinstance(spec, TensorSpec) and spec.shape == UNKNOWN:
            if name not in shapes:
                raise UnsupportedError(f"MXNet does not infer the shape of {name}")
            made[name] = msgspec.structs.replace(spec, shape=shapes[name])
    return msgspec.structs.replace(case, arguments=made)


def _is_known(shape: Any) -> bool:
    """Whether every extent has been inferred: 0 and -1 mean that one has not."""
    return bool(shape) and all(extent > 0 for extent in shape)


def output_shapes(name: str, arguments: Mapping[str, Argument]) -> list[Shape] | None:
    """Returns the shapes of a call's outputs, as far as MXNet infers them without the call."""
    known: dict[str, Shape] = {}
    for argument, value in arguments.items():
        if isinstance(value, TensorSpec):
            known[argument] = value.shape
        elif isinstance(value, tuple):
            known.update(
                (f"{argument}{i}", element.shape)
                for i, element in enumerate(value)
                if isinstance(element, TensorSpec)
            )
    found = infer_shapes(name, arguments, known)
    return None if found is None else found[1]
