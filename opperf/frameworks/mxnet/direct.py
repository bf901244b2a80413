"""Operators that no function of MXNet's can call: called through its C API, or as a graph.

The registry, of which MXNet makes functions, declares neither the inputs that an operator keeps a
state in nor a list of inputs without a name, and MXNet makes no function for a name that it also
defines by hand. Arguments of loops and branches are graphs: a rule names functions of `calls`, and
has the tensors in the order of their parameters, each name once. Such an operator is called as a
graph of one, on NumPy arrays as by `mx.npx.foreach`, which makes the graphs anew each time, and
takes no weights but those of a Gluon block.
"""

from __future__ import annotations

import ctypes
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import mxnet as mx
from mxnet.base import _LIB, check_call

from opperf.errors import UnsupportedError
from opperf.frameworks.base import CallArguments
from opperf.frameworks.mxnet import private, registry
from opperf.frameworks.mxnet.calls import (
    Call,
    Function,
    Graph,
    Maker,
    definitions,
    render_keywords,
    source,
)
from opperf.model import Operator

# These copy in place: a new array would be freed by another thread, at any time, and the operator's
# peak memory be random.


class NumpyAddOne(mx.operator.NumpyOp):  # type: ignore[misc]
    """On NumPy arrays."""

    def forward(self, in_data: list[Any], out_data: list[Any]) -> None:
        out_data[0][:] = in_data[0]
        out_data[0] += 1

    def backward(
        self, out_grad: list[Any], in_data: list[Any], out_data: list[Any], in_grad: list[Any]
    ) -> None:
        in_grad[0][:] = out_grad[0]


class NDArrayAddOne(mx.operator.NDArrayOp):  # type: ignore[misc]
    """On MXNet's arrays."""

    def forward(self, in_data: list[Any], out_data: list[Any]) -> None:
        in_data[0].copyto(out_data[0])
        out_data[0] += 1

    def backward(
        self, out_grad: list[Any], in_data: list[Any], out_data: list[Any], in_grad: list[Any]
    ) -> None:
        out_grad[0].copyto(in_grad[0])


class AddOne(mx.autograd.Function):  # type: ignore[misc]
    """Called at once; only its gradient is an operator that calls back."""

    def forward(self, x: Any) -> Any:
        return x + 1

    def backward(self, gradient: Any) -> Any:
        return gradient


FUSED = {
    "conv": "Convolution",
    "fully_connected": "FullyConnected",
    "selfatt_qk": "contrib.interleaved_matmul_selfatt_qk",
    "selfatt_valatt": "contrib.interleaved_matmul_selfatt_valatt",
}
"""The operator that each fused one replaces, by its name without the library's prefix."""

LIBRARIES = {"_sg_mkldnn_": "MKLDNN", "_sg_onednn_": "ONEDNN"}
"""Prefixes of fused operators, and the backend that MXNet optimises for."""

FUSED_NAMES = (
    "_sg_mkldnn_conv",
    "_sg_mkldnn_fully_connected",
    "_sg_onednn_conv",
    "_sg_onednn_fully_connected",
    # MXNet 2, which has these under another name, can call them; in MXNet 1 they end the process
    # unless they are made from a graph.
    "_sg_mkldnn_selfatt_qk",
    "_sg_mkldnn_selfatt_valatt",
)
"""Operators that have to be made by fusing a graph."""

ACTIVATION = "act_type"
"""The argument for the activation that is fused with an operator, if any."""

PYTHON: dict[str, Callable[[], Any]] = {"_Native": NumpyAddOne, "_NDArray": NDArrayAddOne}
"""Operators that call Python, and the class that each is measured with."""

TWICE_FREED = frozenset({"_NDArray"})
"""Operators whose arrays MXNet 2, which has loops on NumPy arrays, frees twice."""


def make_single(operator: Operator, places: Sequence[str], plain: CallArguments) -> Call:
    """Returns a graph of the operator alone: some builds infer shapes in a graph only."""
    name = f"{operator.namespace}.{operator.name.removeprefix(f'_{operator.namespace}_')}"
    symbol = attrgetter(name)(mx.sym)(*map(mx.sym.Variable, places), **plain)
    made = f"mx.sym.{name}(*map(mx.sym.Variable, {list(places)}), {render_keywords(plain)})"
    return Call(mx.nd.CachedOp(symbol), (f"call = mx.nd.CachedOp({made})",), "call({})")


def make_fused(operator: Operator, places: Sequence[str], plain: CallArguments) -> Call:
    """Returns a graph that MXNet fuses to this operator. Raises `UnsupportedError` if not."""
    prefix = next(prefix for prefix in LIBRARIES if operator.name.startswith(prefix))
    name, library = FUSED[operator.name.removeprefix(prefix)], LIBRARIES[prefix]
    values = {n: value for n, value in plain.items() if n != ACTIVATION}
    symbol = attrgetter(name)(mx.sym)(*map(mx.sym.Variable, places), **values)
    made = f"mx.sym.{name}(*map(mx.sym.Variable, {list(places)}), {render_keywords(values)})"
    if ACTIVATION in plain:
        symbol = mx.sym.Activation(symbol, act_type=plain[ACTIVATION])
        made = f"mx.sym.Activation({made}, act_type={plain[ACTIVATION]!r})"
    partitioned = symbol.optimize_for(library)
    nodes = [node["op"] for node in json.loads(partitioned.tojson())["nodes"]]
    found = [node for node in nodes if node != "null"]
    if found != [operator.name]:
        raise UnsupportedError(
            f"fusing {name} for {library}, this build makes {', '.join(found)} instead"
        )
    return Call(
        mx.nd.CachedOp(partitioned),
        (f"graph = {made}", f'call = mx.nd.CachedOp(graph.optimize_for("{library}"))'),
        "call({})",
    )


GRAPH = "sym"
"""The argument that names the graph of a cached operator, one of `calls.BODIES`."""


def one_thread(graph: Any) -> Any:
    """Returns a graph as a hybridised Gluon block calls it."""
    return mx.nd.CachedOp(graph)


def thread_safe(graph: Any) -> Any:
    """Returns a graph that several threads may call."""
    if not hasattr(_LIB, "MXCreateCachedOpEX"):
        return mx.nd.CachedOp(graph, thread_safe=True)
    # MXNet 1 has no Python function for it.
    call = mx.nd.CachedOp(graph)
    check_call(_LIB.MXFreeCachedOp(call.handle))
    create, safe = _LIB.MXCreateCachedOpEX, ctypes.c_bool(True)
    check_call(create(graph.handle, 0, None, None, ctypes.byref(call.handle), safe))
    return call


class Cached(NamedTuple):
    """A function that makes a call of a graph."""

    make: Callable[[Any], Any]
    imports: tuple[str, ...] = ()
    """Imports of the function in a script."""


CACHED = {
    "_CachedOp": Cached(one_thread),
    "_CachedOpThreadSafe": Cached(
        thread_safe, ("import ctypes", "from mxnet.base import _LIB, check_call")
    ),
}
"""Operators that run a graph, and the makers of their calls."""


def make_cached(operator: Operator, places: Sequence[str], plain: CallArguments) -> Call:
    """Returns a whole graph."""
    graph, (make, imports) = Graph(plain[GRAPH]), CACHED[operator.name]
    return Call(
        make(graph.symbol),
        (
            *imports,
            *definitions([graph], functions=[make]),
            f"call = {make.__name__}({graph.expression})",
        ),
        "call({})",
    )


def make_python_operator(operator: Operator, places: Sequence[str], plain: CallArguments) -> Call:
    """Returns an operator in Python. Raises `UnsupportedError` if it would end the process."""
    if operator.name in TWICE_FREED and hasattr(mx.npx, "foreach"):
        raise UnsupportedError("MXNet 2 frees its arrays twice, which ends the process; use 1.9")
    written, (place,) = PYTHON[operator.name], places
    with warnings.catch_warnings():
        # `Custom` replaces it, and is measured as well.
        warnings.filterwarnings("ignore", ".*deprecated")
        symbol = written()(data=mx.sym.Variable(place))
    made = f"{written.__name__}()(data=mx.sym.Variable({place!r}))"
    return Call(
        mx.nd.CachedOp(symbol), (*source(written), f"call = mx.nd.CachedOp({made})"), "call({})"
    )


def make_python_function(operator: Operator, places: Sequence[str], plain: CallArguments) -> Call:
    """Returns a function with a gradient in Python, of which each instance may be called once."""
    return Call(lambda *tensors: AddOne()(*tensors), tuple(source(AddOne)), "AddOne()({})")


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
    "_contrib_quantized_elemwise_mul": make_single,
    **dict.fromkeys(FUSED_NAMES, make_fused),
    **dict.fromkeys(CACHED, make_cached),
    **dict.fromkeys(PYTHON, make_python_operator),
    "_CustomFunction": make_python_function,
    **dict.fromkeys(NAMES, make_control_flow),
}
"""Makers of the calls of operators that their function in MXNet cannot call."""


def has_graphs(operator: Operator) -> bool:
    """Whether an operator is made of graphs; inferring shapes without them may end the process."""
    return MAKERS.get(operator.name) in (make_fused, make_cached, make_control_flow)


def function(operator: Operator) -> Function:
    """Returns a function of an operator."""
    return Function(operator, MAKERS.get(operator.name, make_by_handle))
