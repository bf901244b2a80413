"""Operators that no function of MXNet's can call: called through its C API, or as a graph.

MXNet makes a function for each operator from what the registry declares. The registry declares
neither the inputs that an operator keeps a state in nor those of an operator with a list of them
that has no name, and MXNet makes no function for a name that it also defines by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mxnet as mx
from mxnet.ndarray._internal import _imperative_invoke

from opperf.frameworks.mxnet import registry
from opperf.model import Kind, Operator

NUMPY = "_np"
"""What the names of operators on NumPy arrays begin with."""

OPERATORS = frozenset(
    {
        # Keep running statistics in inputs that the registry does not declare.
        "BatchNorm_v1",
        "IdentityAttachKLSparseReg",
        # Declares none of its inputs.
        "_sg_onednn_batch_dot",
        # Takes a dtype as a number, which its function does not let through.
        "_zeros_without_dtype",
    }
)
"""Operators that have a function, and cannot be called by it."""

AS_GRAPH = frozenset({"_contrib_quantized_elemwise_mul"})
"""Operators whose shapes some builds infer in a graph only: a call of one fails there."""


def takes(operator: Operator) -> bool:
    """Whether an operator has to be called from here."""
    return operator.name in OPERATORS or operator.name in AS_GRAPH


MADE: dict[int, Operator] = {}
"""Operator by the identity of each function made here; these are kept, so that no other object
comes to have one's identity."""


def function(operator: Operator) -> Callable[..., Any]:
    """A function of an operator, that takes everything by keyword: the tensors in the order in
    which the operator has them, and plain values."""
    called = as_graph(operator) if operator.name in AS_GRAPH else by_handle(operator)
    called.__name__ = called.__qualname__ = operator.name
    MADE[id(called)] = operator
    return called


def bare_name(operator: Operator) -> str:
    """An operator's name in its namespace."""
    return operator.name.removeprefix(f"_{operator.namespace}_")


def by_handle(operator: Operator) -> Callable[..., Any]:
    """A function that calls an operator as MXNet's own functions do."""
    handle = registry.handle(operator.name)
    numpy, as_list = operator.name.startswith(NUMPY), False

    def call(out: Any = None, **arguments: Any) -> Any:
        tensors = [value for value in arguments.values() if isinstance(value, mx.nd.NDArray)]
        plain = {n: v for n, v in arguments.items() if not isinstance(v, mx.nd.NDArray)}
        values = list(map(str, plain.values()))
        return _imperative_invoke(handle, tensors, list(plain), values, out, numpy, as_list)

    return call


def as_graph(operator: Operator) -> Callable[..., Any]:
    """A function that calls an operator as a graph of nothing else, made at the first call."""
    place = getattr(mx.sym, operator.namespace)
    make = getattr(place, bare_name(operator))
    inputs = [p.name for p in operator.tensors if p.kind is Kind.TENSOR]
    made: dict[tuple[Any, ...], Any] = {}

    def call(**arguments: Any) -> Any:
        plain = {n: v for n, v in arguments.items() if n not in inputs}
        key = tuple(plain.items())
        if key not in made:
            made[key] = mx.nd.CachedOp(make(*map(mx.sym.Variable, inputs), **plain))
        return made[key](*(arguments[name] for name in inputs))

    return call
