"""Operators that no function of MXNet's can call: called through its C API, or as a graph.

The registry, of which MXNet makes functions, declares neither the inputs that an operator keeps a
state in nor a list of inputs without a name, and MXNet makes no function for a name that it also
defines by hand. Arguments of loops and branches are graphs: a rule names functions of `calls`, and
has the tensors in the order of their parameters, each name once. Such an operator is called as a
graph of one, on NumPy arrays as by `mx.npx.foreach`, which makes the graphs anew each time, and
takes no weights but those of a Gluon block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import mxnet as mx

from opperf.frameworks.base import CallArguments
from opperf.frameworks.mxnet import graphs, private, registry
from opperf.frameworks.mxnet.calls import Call, Function, Graph, Maker, definitions, render_keywords
from opperf.model import Operator

EXTENSION = "_npx_"

Locations = dict[str, Any]
"""An operator's arguments about its graphs, in declared order."""


def foreach(names: Sequence[str], fn: Graph) -> Locations:
    """Returns the locations in a loop over a sequence, of slices, states and the rest."""
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
    """Returns the locations in a loop with a condition."""
    states = func.body.states
    return {
        "cond_input_locs": cond.positions_among(names),
        "func_input_locs": func.positions_among(names),
        "func_var_locs": func.positions(func.body.names[:states]),
        "num_out_data": func.outputs - states,
        "num_outputs": func.outputs,
    }


def branch(names: Sequence[str], cond: Graph, then_branch: Graph, else_branch: Graph) -> Locations:
    """Returns the locations in a branch."""
    return {
        "cond_input_locs": cond.positions_among(names),
        "then_input_locs": then_branch.positions_among(names),
        "else_input_locs": else_branch.positions_among(names),
        "num_outputs": then_branch.outputs,
    }


class ControlFlow(NamedTuple):
    """An operator's arguments besides tensors."""

    graphs: tuple[str, ...]
    """The parameters that take a graph."""
    locations: Callable[..., Locations]


OPERATORS = {
    "foreach": ControlFlow(("fn",), foreach),
    "while_loop": ControlFlow(("cond", "func"), while_loop),
    "cond": ControlFlow(("cond", "then_branch", "else_branch"), branch),
}

NAMES = frozenset(f"{prefix}{name}" for prefix in ("_", EXTENSION) for name in OPERATORS)
"""Names of the operators, on arrays of either kind."""


def make_control_flow(operator: Operator, places: Sequence[str], plain: CallArguments) -> Call:
    """Returns the call of a loop or a branch. Raises `UnsupportedError` for an unknown graph."""
    numpy = operator.name.startswith(EXTENSION)
    name = operator.name.removeprefix(EXTENSION if numpy else "_")
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
    name: str, graphs: Mapping[str, Graph], names: Sequence[str], values: CallArguments
) -> Call:
    symbols = (graph.symbol for graph in graphs.values())
    function = getattr(private.SYMBOLS.get(), f"_{name}")
    node = function(*symbols, *map(mx.sym.Variable, names), **values)
    return Call(
        mx.nd.CachedOp(mx.sym.Group(list(node))),
        (
            *definitions(graphs.values()),
            *(f"{parameter} = {graph.expression}" for parameter, graph in graphs.items()),
            f"graph = mx.sym._internal._{name}(",
            f"    {', '.join(graphs)}, *map(variable, {names}), {render_keywords(values)}",
            ")",
            "call = mx.nd.CachedOp(mx.sym.Group(list(graph)))",
        ),
        "call({})",
    )


def _by_handle(
    name: str, graphs: Mapping[str, Graph], names: Sequence[str], values: CallArguments
) -> Call:
    function = getattr(private.CONTROL_FLOW.get(), name)
    several = values["num_outputs"] > 1

    def run(*tensors: Any) -> Any:
        handles = (graph.symbol.handle for graph in graphs.values())
        outputs = function(*handles, *tensors, *values.values())
        return list(outputs) if several else outputs

    handles = ", ".join(f"{parameter}.handle" for parameter in graphs)
    locations = ", ".join(map(repr, values.values()))
    text = f"mx.nd.numpy_extension._api_internal.{name}({handles}, {{}}, {locations})"
    return Call(
        run,
        (
            *definitions(graphs.values(), numpy=True),
            *(f"{parameter} = {graph.expression}" for parameter, graph in graphs.items()),
        ),
        f"list({text})" if several else text,
    )


NUMPY = "_np"
"""Prefix of operators on NumPy arrays."""


def make_by_handle(operator: Operator, places: Sequence[str], plain: CallArguments) -> Call:
    """Returns a call as MXNet's own functions make it."""
    handle, numpy = registry.handle(operator.name), operator.name.startswith(NUMPY)
    invoke = private.INVOKE.get()
    names, values = list(plain), list(map(str, plain.values()))

    def run(*tensors: Any) -> Any:
        return invoke(handle, tensors, names, values, None, numpy, False)

    return Call(
        run,
        (
            "import ctypes",
            "from mxnet.base import _LIB, c_str, check_call",
            "from mxnet.ndarray._internal import _imperative_invoke",
            "handle = ctypes.c_void_p()  # no function of MXNet's can call this operator",
            f'check_call(_LIB.NNGetOpHandle(c_str("{operator.name}"), ctypes.byref(handle)))',
        ),
        f"_imperative_invoke(handle.value, [{{}}], {names}, {values}, None, {numpy}, False)",
    )


MAKERS: dict[str, Maker] = {
    # Keep running statistics in inputs that the registry does not declare.
    "BatchNorm_v1": make_by_handle,
    "IdentityAttachKLSparseReg": make_by_handle,
    # Declares none of its inputs.
    "_sg_onednn_batch_dot": make_by_handle,
    # Takes a dtype as a number, which its function does not let through.
    "_zeros_without_dtype": make_by_handle,
    "_contrib_quantized_elemwise_mul": graphs.make_single,
    **dict.fromkeys(graphs.FUSED_NAMES, graphs.make_fused),
    **dict.fromkeys(graphs.CACHED, graphs.make_cached),
    **dict.fromkeys(graphs.PYTHON, graphs.make_python_operator),
    "_CustomFunction": graphs.make_python_function,
    **dict.fromkeys(NAMES, make_control_flow),
}
"""Makers of the calls of operators that their function in MXNet cannot call."""


def is_direct(operator: Operator) -> bool:
    """Whether an operator has to be called by this module."""
    return operator.name in MAKERS


def has_graphs(operator: Operator) -> bool:
    """Whether an operator is made of graphs; inferring shapes without them may end the process."""
    return MAKERS.get(operator.name) in (graphs.make_fused, graphs.make_cached, make_control_flow)


def function(operator: Operator) -> Function:
    """Returns a function of an operator."""
    return Function(operator, MAKERS.get(operator.name, make_by_handle))
