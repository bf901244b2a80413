"""Inputs for MXNet's operators. Each module holds one family of rules; here they meet."""

from __future__ import annotations

from opperf.rules import families as shared
from opperf.rules.engine import Families
from opperf.rules.mxnet import (
    attention,
    control_flow,
    convolution,
    detection,
    elementwise,
    fused,
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
    operations,
    optimizers,
    quantization,
    reductions,
    sampling,
    sequences,
    shapes,
    sorting,
)

MODULES = (
    attention,
    control_flow,
    convolution,
    detection,
    elementwise,
    fused,
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
    reductions,
    sampling,
    sequences,
    shapes,
    sorting,
)
"""Modules that offer `FAMILIES`."""

FAMILIES = Families()
FAMILIES.merge(shared.FAMILIES)
for _module in MODULES:
    FAMILIES.merge(_module.FAMILIES)

OPERATIONS = operations.TABLE
GRADIENTS = True
TABLE = names.TABLE
OPTIONAL_TENSORS = names.OPTIONAL_TENSORS

TRAIN_PHASE = frozenset(
    {
        "BatchNorm",
        "BatchNorm_v1",
        "Dropout",
        "Pooling",
        "RNN",
        "_contrib_BatchNormWithReLU",
        "_contrib_SyncBatchNorm",
    }
)
"""Operators that run in the training phase, where they compute something else: to predict, Dropout
copies its input and BatchNorm reads its statistics instead of computing them. Pooling by oneDNN
keeps the places of the maxima in that phase only: to predict, its gradient reads memory that
nothing has written."""

NEEDS_OUTPUT = frozenset({"_copyto"})
"""Operators that only write to an array of the caller's."""

NOT_BENCHMARKED: dict[str, str] = {
    "_CrossDeviceCopy": "cannot be called directly: only graphs split over devices run it",
    "_NoGradient": "a placeholder for a missing gradient, which computes nothing",
    "_imdecode": "reads a picture as text up to the first zero byte, which every picture file "
    "contains; `_cvimdecode` takes bytes",
}
"""Operators that cannot be called on their own, each with the reason."""
