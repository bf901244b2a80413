"""Bodies of loops, branches and cached graphs, as a user would write them.

Each function takes a module of functions on symbols, `mx.sym` or `mx.sym.np`, and symbols. Both
modules have the functions it uses, with the same meaning. A script that reproduces a call contains
these functions unchanged.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import mxnet as mx

from opperf.errors import UnsupportedError, suggest
from opperf.frameworks.mxnet.calls import source


def elman(F: Any, x: Any, hidden: Any, inward: Any, recurrent: Any, outward: Any) -> Any:
    """A step of an Elman network: its output and its new state."""
    hidden = F.tanh(F.dot(x, inward) + F.dot(hidden, recurrent))
    return F.dot(hidden, outward), hidden


def deviation(F: Any, x: Any, mean: Any) -> Any:
    """The deviation of a signal from its running mean, and the new mean."""
    mean = 0.9 * mean + 0.1 * x
    return x - mean, mean


def few(F: Any, step: Any) -> Any:
    """Whether a loop has made few steps yet."""
    return ((step < 1000) * 1,)


def richardson(F: Any, step: Any, x: Any, matrix: Any, right: Any) -> Any:
    """A step of Richardson's iteration for a system of linear equations: the squared error, the
    number of the next step, and a better solution."""
    residual = right - F.dot(matrix, x)
    return F.sum(residual * residual, axis=0), step + 1, x + 0.1 * residual


def finite(F: Any, gradient: Any, limit: Any) -> Any:
    """Whether a gradient is within limits, as training in half precision checks."""
    return ((F.sum(gradient * gradient) < limit) * 1,)


def descend(F: Any, weight: Any, gradient: Any) -> Any:
    """A step of gradient descent, with decay of weights."""
    return (0.9999 * weight - 0.01 * gradient,)


def decay(F: Any, weight: Any) -> Any:
    """The same step without its gradient."""
    return (0.9999 * weight,)


def perceptron(F: Any, x: Any, first: Any, second: Any) -> Any:
    """Two dense layers."""
    return (F.dot(F.tanh(F.dot(x, first)), second),)


class Body(NamedTuple):
    """A function above, and the meaning of its first parameters in a loop."""

    compute: Callable[..., tuple[Any, ...]]
    slices: int = 0
    """Number of parameters that take a slice of a sequence at each step."""
    states: int = 0
    """Number of the next ones, which take the last outputs of the step before."""

    @property
    def names(self) -> list[str]:
        """Names of the symbols it takes."""
        return list(inspect.signature(self.compute).parameters)[1:]


BODIES = {
    body.compute.__name__: body
    for body in (
        Body(elman, slices=1, states=1),
        Body(deviation, slices=1, states=1),
        Body(few),
        Body(richardson, states=2),
        Body(finite),
        Body(descend),
        Body(decay),
        Body(perceptron),
    )
}
"""By the name used in rules."""


def legacy_variable(name: str) -> Any:
    """A symbol of an array of `mx.nd`."""
    return mx.sym.Variable(name)


def numpy_variable(name: str) -> Any:
    """A symbol of an array of `mx.np`."""
    return mx.sym.Variable(name).as_np_ndarray()


class Graph:
    """A body as a graph. Raises `UnsupportedError` for an unknown body."""

    def __init__(self, name: str, numpy: bool = False) -> None:
        if name not in BODIES:
            raise UnsupportedError(
                f"unknown graph {name!r}{suggest(name, BODIES)}; known: {', '.join(BODIES)}"
            )
        self.body = BODIES[name]
        functions, variable = (mx.sym.np, numpy_variable) if numpy else (mx.sym, legacy_variable)
        outputs = self.body.compute(functions, *map(variable, self.body.names))
        self.outputs = len(outputs)
        self.symbol = mx.sym.Group(list(outputs))
        self._inputs: list[str] = self.symbol.list_inputs()

    def positions(self, names: Sequence[str]) -> tuple[int, ...]:
        """Positions of these names among the graph's inputs."""
        return tuple(map(self._inputs.index, names))

    def positions_among(self, names: Sequence[str]) -> tuple[int, ...]:
        """Positions of the graph's inputs among these names."""
        return tuple(map(names.index, self._inputs))

    @property
    def expression(self) -> str:
        """The graph in a script, behind `definitions`."""
        body = self.body
        name = body.compute.__name__
        return f"mx.sym.Group(list({name}(F, *map(variable, {body.names}))))"


def definitions(
    graphs: Iterable[Graph], numpy: bool = False, functions: Iterable[Callable[..., Any]] = ()
) -> list[str]:
    """A script's lines that define the bodies of graphs, and other functions."""
    symbols = (
        "F, variable = mx.sym.np, lambda name: mx.sym.Variable(name).as_np_ndarray()"
        if numpy
        else "F, variable = mx.sym, mx.sym.Variable"
    )
    return [*source(*functions, *dict.fromkeys(graph.body.compute for graph in graphs)), symbols]
