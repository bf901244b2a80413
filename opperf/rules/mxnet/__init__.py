"""Inputs for MXNet's operators. Each module holds one family of rules; here they meet."""

from __future__ import annotations

from opperf.rules.engine import Families
from opperf.rules.mxnet import (
    convolution,
    elementwise,
    indexing,
    linalg,
    matrices,
    miscellany,
    names,
    numpy_like,
    quantization,
    reductions,
    sampling,
    sequences,
    shapes,
    sorting,
)

MODULES = (
    convolution,
    elementwise,
    indexing,
    linalg,
    matrices,
    miscellany,
    numpy_like,
    quantization,
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

TRAIN_MODE = frozenset({
    "BatchNorm", "BatchNorm_v1", "Dropout", "RNN", "_contrib_BatchNormWithReLU",
    "_contrib_SyncBatchNorm", "IdentityAttachKLSparseReg",
})
"""Operators that do something else when they train: predicting, Dropout copies its input and
BatchNorm reads its statistics instead of computing them."""

NEEDS_OUTPUT = frozenset({"_copyto"})
"""Operators that copy into an array they are given, and cannot make one."""

NOT_BENCHMARKED: dict[str, str] = {}
"""Operators that cannot be called on their own, each with the reason."""
