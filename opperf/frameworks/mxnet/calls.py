"""Calls of operators without a function in MXNet, their lines in a script, and the graphs that some
of them take: loops, branches and cached graphs, as a user would write them. A body takes a module
of functions on symbols, `mx.sym` or `mx.sym.np`, and symbols; a script contains it unchanged."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import mxnet as mx

from opperf.errors import UnsupportedError, suggest
from opperf.frameworks.base import CallArguments
from opperf.model import Operator


@dataclass(frozen=True)
class Call:
    """A call with its plain values bound, which takes only tensors."""

    run: Callable[..., Any]
    lines: tuple[str, ...]
    """Lines of a script before the tensors are made."""
    text: str
    """The call in a script, with `{}` for the tensors."""

    def __call__(self, *tensors: Any) -> Any:
        return self.run(*tensors)


Maker = Callable[[Operator, Sequence[str], Mapping[str, Any]], Call]
"""Makes the call of an operator from the names of its tensors and its plain values."""


class Function:
    """A function of an operator, which takes everything by keyword, in the operator's order."""

    def __init__(self, operator: Operator, make: Maker) -> None:
        self.operator, self._make = operator, make
        self.__name__ = self.__qualname__ = operator.name

    def bind(self, arguments: CallArguments) -> partial[Any]:
        tensors, plain = split_arguments(arguments)
        return partial(self._make(self.operator, list(tensors), plain), *tensors.values())

    def __call__(self, **arguments: Any) -> Any:
        return self.bind(arguments)()


def split_arguments(arguments: CallArguments) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the tensors, those of a list as `data0`, `data1` ..., and the other arguments."""
    tensors: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    for name, value in arguments.items():
        if isinstance(value, mx.nd.NDArray):
            tensors[name] = value
        elif isinstance(value, list):
            tensors.update((f"{name}{i}", element) for i, element in enumerate(value))
        else:
            plain[name] = value
    return tensors, plain


def render_keywords(values: CallArguments) -> str:
    """Returns the plain values as keywords in a script."""
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


REMARK = re.compile(r"  # type: ignore\S*")
"""A type checker's directive at the end of a line."""


def source(*defined: Callable[..., Any]) -> list[str]:
    """Returns the source of functions or classes, each after an empty line."""
    lines = ["from typing import Any"]
    for function in defined:
        lines += ["", *REMARK.sub("", inspect.getsource(function)).splitlines()]
    return [*lines, ""]


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


class Graph:
    """A body as a graph. Raises `UnsupportedError` for an unknown body."""

    def __init__(self, name: str, numpy: bool = False) -> None:
        if name not in BODIES:
            raise UnsupportedError(
                f"unknown graph {name!r}{suggest(name, BODIES)}; known: {', '.join(BODIES)}"
            )
        self.body = BODIES[name]
        variables = map(mx.sym.Variable, self.body.names)
        if numpy:
            outputs = self.body.compute(
                mx.sym.np, *(variable.as_np_ndarray() for variable in variables)
            )
        else:
            outputs = self.body.compute(mx.sym, *variables)
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
