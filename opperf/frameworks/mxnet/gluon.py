"""Layers of Gluon: what they are called with."""

from __future__ import annotations

import dis
from types import FunctionType

import mxnet as mx

from opperf.frameworks import user_code
from opperf.frameworks.user_code import parameters_of


def call_parameters(built: type) -> dict[str, bool] | None:
    """Returns the names of what an object of a class is called with, each with whether it is
    required; None for a class whose objects are not called."""
    if not issubclass(built, mx.gluon.Block):
        return user_code.call_parameters(built)
    if not issubclass(built, mx.gluon.HybridBlock):
        return parameters_of(getattr(built, "forward"))  # noqa: B009
    own = _own_methods(built)
    for name in ("__call__", "forward"):
        if name in own:
            return parameters_of(getattr(built, name))
    # The first ones are the object itself and the module of its functions.
    named = parameters_of(getattr(built, "hybrid_forward"), bound=2)  # noqa: B009
    weights = _weights(built)
    return {name: required for name, required in named.items() if name not in weights}


def _own_classes(built: type) -> tuple[type, ...]:
    """Returns a class, and its bases below Gluon's own."""
    return built.__mro__[: built.__mro__.index(mx.gluon.HybridBlock)]


def _own_methods(built: type) -> set[str]:
    """Returns the names that a class, or a base of it below Gluon's own, defines."""
    return {name for base in _own_classes(built) for name in vars(base)}


def _weights(built: type) -> set[str]:
    """Returns the arguments of `hybrid_forward` that Gluon passes itself: the weights that an
    object registers. They are read of one whose required arguments are all 1; of a class that
    refuses these they are the attributes that its constructors set."""
    required = [name for name, needed in parameters_of(built.__init__).items() if needed]  # type: ignore[misc]
    try:
        return set(built(**dict.fromkeys(required, 1))._reg_params)
    except Exception:
        # A class may refuse its arguments in any way.
        return _attributes_set(built)


def _attributes_set(built: type) -> set[str]:
    """Returns the names of the attributes that the constructors of a class, and of its bases below
    Gluon's own, assign."""
    constructors = (vars(base).get("__init__") for base in _own_classes(built))
    return {
        step.argval
        for made in constructors
        if isinstance(made, FunctionType)
        for step in dis.get_instructions(made)
        if step.opname == "STORE_ATTR"
    }
