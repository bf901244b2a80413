"""Operators that no function of MXNet's can call: called through its C API, or as a graph.

MXNet makes a function for each operator from what the registry declares. The registry declares
neither the inputs that an operator keeps a state in nor those of an operator with a list of them
that has no name, and MXNet makes no function for a name that it also defines by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opperf.frameworks.mxnet import control_flow, graphs, private, registry
from opperf.frameworks.mxnet.calls import Call, Function, Maker
from opperf.model import Operator

NUMPY = "_np"
"""Prefix of operators on NumPy arrays."""


def make_by_handle(operator: Operator, places: Sequence[str], plain: Mapping[str, Any]) -> Call:
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
    **dict.fromkeys(control_flow.NAMES, control_flow.make),
}
"""Makers of the calls of operators that their function in MXNet cannot call."""


def is_direct(operator: Operator) -> bool:
    """Whether an operator has to be called by this module."""
    return operator.name in MAKERS


def has_graphs(operator: Operator) -> bool:
    """Whether an operator is made of graphs of others: without them, inferring its shapes may end
    the process."""
    return MAKERS.get(operator.name) in (graphs.make_fused, graphs.make_cached, control_flow.make)


def function(operator: Operator) -> Function:
    """Returns a function of an operator."""
    return Function(operator, MAKERS.get(operator.name, make_by_handle))
