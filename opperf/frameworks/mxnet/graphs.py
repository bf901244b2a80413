"""Operators that are called as a graph, made by fusing one, or written in Python."""

from __future__ import annotations

import ctypes
import json
import warnings
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import mxnet as mx
from mxnet.base import _LIB, check_call

from opperf.errors import UnsupportedError
from opperf.frameworks.base import CallArguments
from opperf.frameworks.mxnet.calls import Call, Graph, definitions, render_keywords, source
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
