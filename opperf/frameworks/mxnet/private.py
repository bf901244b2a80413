"""The names of MXNet that opperf uses and that are no public API: its C library, and the modules of
the functions that it generates from its registry. MXNet has no other interface to its registry.
1.9.1 and 2.0.0b1 have all of these, and no version follows them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

from opperf.frameworks.installed import PrivateName

REGISTRY = "the list of operators"
GENERATED = "the functions of operators"

LIBRARY = PrivateName(REGISTRY, "mxnet.base:_LIB")
CHECK_CALL = PrivateName(REGISTRY, "mxnet.base:check_call")
C_STR = PrivateName(REGISTRY, "mxnet.base:c_str")
PY_STR = PrivateName(REGISTRY, "mxnet.base:py_str")

INVOKE = PrivateName(GENERATED, "mxnet.ndarray._internal:_imperative_invoke")
INTERNAL = PrivateName(GENERATED, "mxnet:nd._internal")
NUMPY_INTERNAL = PrivateName(GENERATED, "mxnet:nd.numpy._internal")
NUMPY_OPERATORS = PrivateName(GENERATED, "mxnet:nd.numpy._op")
EXTENSION_OPERATORS = PrivateName(GENERATED, "mxnet:nd.numpy_extension._op")
SYMBOLS = PrivateName(GENERATED, "mxnet:sym._internal")
CONTROL_FLOW = PrivateName(
    # 1.9 has them as graphs alone.
    "loops and conditions on NumPy arrays",
    "mxnet:nd.numpy_extension._api_internal",
)

REGISTERING = PrivateName("recording a program", "mxnet.ndarray:register")

library = LIBRARY.get()
check_call = CHECK_CALL.get()
c_str = C_STR.get()
py_str = PY_STR.get()


CACHED = "_call_cached_op"
"""The method of a hybridized block that calls its graph."""


def one_by_one(call_graph: Callable[..., Any]) -> Callable[..., Any]:
    """Returns what calls a hybridized block's operators, in the place of its graph."""

    def call(block: Any, *args: Any) -> Any:
        block._active = False
        try:
            return block.forward(*args)
        finally:
            block._active = True

    return call


def children(block: Any) -> Iterator[tuple[str, Any]]:
    """Yields the blocks of which a block consists, with their names."""
    for name, child in block._children.items():
        # MXNet 2 has references to them.
        yield name, child() if isinstance(child, weakref.ref) else child


def weights_of(block: Any) -> set[str]:
    """Returns the names under which a block passes its own parameters to `hybrid_forward`."""
    return set(block._reg_params)


def is_initialised(parameter: Any) -> bool:
    """Whether a parameter has values: its shape is known, and a device."""
    return parameter._data is not None
