"""The names of MXNet that opperf uses and that are no public API: its C library, and the modules of
the functions that it generates from its registry. MXNet has no other interface to its registry.
1.9.1 and 2.0.0b1 have all of these, and no version follows them."""

from __future__ import annotations

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
