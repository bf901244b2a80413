"""Loops and branches: operators that are given the graphs they run.

A rule names functions of `bodies` where the operator takes a graph, and gives the tensors in the
order in which these functions name them, no name twice. What the operator wants to know beside -
how many outputs there are, and which inputs of the graphs are which tensors - is found here.

MXNet has no function of arrays for these operators, but for graphs only: the call is that of a
graph of nothing else. Those on NumPy arrays are called as `mx.npx.foreach` calls them, which makes
the graphs anew each time, and takes no weights but those of a Gluon block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import mxnet as mx

from opperf.frameworks.mxnet.bodies import Graph, definitions
from opperf.frameworks.mxnet.calls import Call, words
from opperf.model import Operator

NUMPY = "_npx_"

Locations = dict[str, Any]
"""What an operator is told about the graphs it is given, in the order it declares that."""


def foreach(names: Sequence[str], fn: Graph) -> Locations:
    """What a loop over a sequence is told: its tensors are slices, states, and the rest."""
    slices, states = fn.body.slices, fn.body.states
    return {
        "num_outputs": fn.outputs,
        "num_out_data": fn.outputs - states,
        "in_state_locs": fn.positions(names[slices : slices + states]),
        "in_data_locs": fn.positions(names[:slices]),
        "remain_locs": fn.positions(names[slices + states :]),
        "in_state_index": tuple(range(states)),
    }


def while_loop(names: Sequence[str], cond: Graph, func: Graph) -> Locations:
    """What a loop with a condition is told."""
    states = func.body.states
    return {
        "cond_input_locs": cond.positions_among(names),
        "func_input_locs": func.positions_among(names),
        "func_var_locs": func.positions(func.body.names[:states]),
        "num_out_data": func.outputs - states,
        "num_outputs": func.outputs,
    }


def branch(names: Sequence[str], cond: Graph, then_branch: Graph, else_branch: Graph) -> Locations:
    """What a branch is told."""
    return {
        "cond_input_locs": cond.positions_among(names),
        "then_input_locs": then_branch.positions_among(names),
        "else_input_locs": else_branch.positions_among(names),
        "num_outputs": then_branch.outputs,
    }


class ControlFlow(NamedTuple):
    """What an operator takes beside tensors."""

    graphs: tuple[str, ...]
    """The parameters that take a graph."""
    locations: Callable[..., Locations]


OPERATORS = {
    "foreach": ControlFlow(("fn",), foreach),
    "while_loop": ControlFlow(("cond", "func"), while_loop),
    "cond": ControlFlow(("cond", "then_branch", "else_branch"), branch),
}

NAMES = frozenset(f"{prefix}{name}" for prefix in ("_", NUMPY) for name in OPERATORS)
"""Names of the operators, on arrays of either kind."""


def make(operator: Operator, places: Sequence[str], plain: Mapping[str, Any]) -> Call:
    """The call of a loop or a branch. Raises `UnsupportedError` for a graph there is none of."""
    numpy = operator.name.startswith(NUMPY)
    name = operator.name.removeprefix(NUMPY if numpy else "_")
    taken, locations = OPERATORS[name]
    graphs = {parameter: Graph(plain[parameter], numpy) for parameter in taken}
    names = list(dict.fromkeys(n for graph in graphs.values() for n in graph.body.names))
    values = {n: value for n, value in plain.items() if n not in graphs} | {
        n: value
        for n, value in locations(names, **graphs).items()
        if operator.parameter(n) is not None
    }
    called = _by_handle if numpy else _by_graph
    return called(name, graphs, names, values)


def _by_graph(
    name: str, graphs: Mapping[str, Graph], names: Sequence[str], values: Mapping[str, Any]
) -> Call:
    """A call of the graph of the operator alone."""
    symbols = (graph.symbol for graph in graphs.values())
    node = getattr(mx.sym._internal, f"_{name}")(*symbols, *map(mx.sym.Variable, names), **values)
    return Call(
        mx.nd.CachedOp(mx.sym.Group(list(node))),
        (
            *definitions(graphs.values()),
            *(f"{parameter} = {graph.expression}" for parameter, graph in graphs.items()),
            f"graph = mx.sym._internal._{name}(",
            f"    {', '.join(graphs)}, *map(variable, {names}), {words(values)}",
            ")",
            "call = mx.nd.CachedOp(mx.sym.Group(list(graph)))",
        ),
        "call({})",
    )


def _by_handle(
    name: str, graphs: Mapping[str, Graph], names: Sequence[str], values: Mapping[str, Any]
) -> Call:
    """A call by way of what MXNet's functions of NumPy arrays call."""
    function = getattr(mx.nd.numpy_extension._api_internal, name)
    several = values["num_outputs"] > 1

    def run(*tensors: Any) -> Any:
        handles = (graph.symbol.handle for graph in graphs.values())
        given = function(*handles, *tensors, *values.values())
        return list(given) if several else given

    handles = ", ".join(f"{parameter}.handle" for parameter in graphs)
    told = ", ".join(map(repr, values.values()))
    text = f"mx.nd.numpy_extension._api_internal.{name}({handles}, {{}}, {told})"
    return Call(
        run,
        (
            *definitions(graphs.values(), numpy=True),
            *(f"{parameter} = {graph.expression}" for parameter, graph in graphs.items()),
        ),
        f"list({text})" if several else text,
    )
