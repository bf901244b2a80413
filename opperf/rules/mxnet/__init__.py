"""Inputs for MXNet's operators. Each module holds one family of rules; here they meet."""

from __future__ import annotations

from opperf.rules.engine import Families
from opperf.rules.mxnet import (
    attention,
    convolution,
    detection,
    elementwise,
    graphs,
    image,
    in_place,
    indexing,
    layers,
    linalg,
    losses,
    matrices,
    miscellany,
    names,
    normalisation,
    numpy_like,
    optimizers,
    quantization,
    recurrent,
    reductions,
    sampling,
    sequences,
    shapes,
    sorting,
)

MODULES = (
    attention,
    convolution,
    detection,
    elementwise,
    graphs,
    image,
    in_place,
    indexing,
    layers,
    linalg,
    losses,
    matrices,
    miscellany,
    normalisation,
    numpy_like,
    optimizers,
    quantization,
    recurrent,
    reductions,
    sampling,
    sequences,
    shapes,
    sorting,
)
"""Modules that offer `FAMILIES`."""

FAMILIES = Families()
for _module in MODULES:
    FAMILIES.merge(_module.FAMILIES)

TABLE = names.TABLE
OPTIONAL_TENSORS = names.OPTIONAL_TENSORS

TRAIN_MODE = frozenset(
    {
        "BatchNorm",
        "BatchNorm_v1",
        "Dropout",
        "RNN",
        "_contrib_BatchNormWithReLU",
        "_contrib_SyncBatchNorm",
    }
)
"""Operators that do something else when they train: predicting, Dropout copies its input and
BatchNorm reads its statistics instead of computing them."""

NEEDS_OUTPUT = frozenset({"_copyto"})
"""Operators that copy into an array they are given, and cannot make one."""

_CONTROL_FLOW = "control flow: it takes subgraphs, not tensors, and has no imperative form"
_FUSED = "made only by MXNet itself, when it replaces a part of a graph by a fused operator"
_CALLBACKS = "takes the address of a Python operator's callbacks, which only that operator has"
_CACHED = "stands for a whole graph, which only an `mx.nd.CachedOp` can give it"

NOT_BENCHMARKED: dict[str, str] = {
    **dict.fromkeys(("_CachedOp", "_CachedOpThreadSafe"), _CACHED),
    **dict.fromkeys(("_NDArray", "_Native"), _CALLBACKS),
    "_CrossDeviceCopy": "copies from device to device inside of a graph; a direct call is refused",
    "_CustomFunction": "what an `mx.autograd.Function` leaves on the tape for its gradient",
    "_NoGradient": "marks that there is no gradient, and computes nothing",
    **dict.fromkeys(
        ("_cond", "_foreach", "_while_loop", "_npx_cond", "_npx_foreach", "_npx_while_loop"),
        _CONTROL_FLOW,
    ),
    **dict.fromkeys(
        (
            "_sg_mkldnn_conv",
            "_sg_mkldnn_fully_connected",
        ),
        _FUSED,
    ),
    "_imdecode": "takes a picture as text that ends at the first zero byte, and every picture "
    "file has one; `_cvimdecode` takes bytes",
}
"""Operators that cannot be called on their own, each with the reason."""
