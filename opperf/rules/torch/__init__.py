"""Inputs for PyTorch's operators: the framework's rules module, from one module for each kind."""

from __future__ import annotations

from opperf.model import Kind
from opperf.rules import families as shared
from opperf.rules.engine import Alternatives
from opperf.rules.not_finite import NotFinite
from opperf.rules.registering import Families, Family
from opperf.rules.torch import (
    activations,
    attention,
    conversion,
    convolution,
    creation,
    elementwise,
    images,
    indexing,
    joining,
    layers,
    layouts,
    linalg,
    losses,
    nested,
    operations,
    optimizers,
    pooling,
    quantization,
    recurrent,
    reductions,
    sampling,
    searching,
    shapes,
    sparse,
    transforms,
)

MODULES = (
    activations,
    attention,
    conversion,
    convolution,
    creation,
    elementwise,
    images,
    indexing,
    joining,
    layers,
    layouts,
    linalg,
    losses,
    nested,
    optimizers,
    pooling,
    quantization,
    recurrent,
    reductions,
    sampling,
    searching,
    shapes,
    sparse,
    transforms,
)
"""Modules that have `FAMILIES`."""

FAMILIES = Families()
FAMILIES.merge(shared.FAMILIES)
for _module in MODULES:
    FAMILIES.merge(_module.FAMILIES)

OPERATIONS = operations.TABLE
FUNCTIONS: dict[str, Family | str] = {}
NUMPY_INTERFACE = ""
GRADIENTS = True
TABLE: dict[tuple[str, Kind], Alternatives] = {}
OPTIONAL_TENSORS: frozenset[str] = frozenset()
TRAIN_PHASE: frozenset[str] = frozenset()
NEEDS_OUTPUT: frozenset[str] = frozenset()

PACKED = "its packed weight is a pointer to memory of FBGEMM, which no data can stand for"

NOT_BENCHMARKED: dict[str, str] = {
    **dict.fromkeys(
        (
            "fbgemm_linear_fp16_weight",
            "fbgemm_linear_fp16_weight_fp32_activation",
            "fbgemm_linear_int8_weight",
            "fbgemm_linear_int8_weight_fp32_activation",
        ),
        PACKED,
    ),
    "sparse_compressed_tensor": "it requires a layout, and no case has an argument of that type",
}
"""Operators that cannot be called on their own, each with the reason."""

NOT_FINITE: dict[str, NotFinite] = {
    "_ctc_loss": NotFinite(
        "the logarithms of the probability of impossible alignments are infinite"
    ),
}
"""Operators whose results may have NaN or infinity, each with the reason."""
