"""Inputs for PyTorch's operators: the framework's rules module, from one module for each kind."""

from __future__ import annotations

from opperf.model import Kind
from opperf.rules import families as shared
from opperf.rules.differences import IN_DOUBLE
from opperf.rules.engine import Alternatives
from opperf.rules.not_finite import UNWRITTEN, NotFinite
from opperf.rules.registering import Families
from opperf.rules.torch import (
    activations,
    attention,
    attention_kernels,
    conversion,
    convolution,
    convolution_gradients,
    creation,
    detection,
    diffusion,
    elementwise,
    functions,
    grids,
    grouped_products,
    half_precision,
    images,
    indexing,
    integers,
    joining,
    language_models,
    layers,
    linalg,
    logged,
    losses,
    nested,
    normalisation,
    onednn,
    operations,
    optimizers,
    padding,
    pooling,
    product_layouts,
    quantization,
    quantized_elementwise,
    quantized_layers,
    queries,
    recorded,
    recorded_fills,
    recurrent,
    reductions,
    replacing,
    resizing,
    results,
    sampling,
    scattering,
    searching,
    shapes,
    sparse,
    transforms,
    views,
    work,
)

MODULES = (
    activations,
    attention,
    attention_kernels,
    conversion,
    convolution,
    convolution_gradients,
    creation,
    detection,
    diffusion,
    elementwise,
    grids,
    grouped_products,
    half_precision,
    images,
    indexing,
    integers,
    joining,
    language_models,
    layers,
    product_layouts,
    linalg,
    losses,
    nested,
    normalisation,
    onednn,
    optimizers,
    padding,
    pooling,
    quantization,
    quantized_elementwise,
    quantized_layers,
    queries,
    recurrent,
    reductions,
    replacing,
    resizing,
    sampling,
    scattering,
    searching,
    shapes,
    sparse,
    transforms,
    views,
    recorded,
)
"""Modules that have `FAMILIES`. What models were recorded with follows all other configurations."""

FAMILIES = Families()
FAMILIES.merge(shared.FAMILIES)
for _module in MODULES:
    FAMILIES.merge(_module.FAMILIES)

OPERATIONS = operations.TABLE
FUNCTIONS = functions.FUNCTIONS
NUMPY_INTERFACE = ""
GRADIENTS = True
TABLE: dict[tuple[str, Kind], Alternatives] = {}
OPTIONAL_TENSORS: frozenset[str] = frozenset()
TRAIN_PHASE: frozenset[str] = frozenset()
NEEDS_OUTPUT: frozenset[str] = frozenset()

PACKED = "its packed weight is a pointer to memory of FBGEMM, which no data can stand for"

NOT_BENCHMARKED: dict[str, str] = {
    **dict.fromkeys(
        ("set.source_Storage", "set.source_Storage_storage_offset"),
        "it takes a storage, the memory under a tensor, which is no tensor",
    ),
    "from_file": "it maps a file of the user's into memory",
    "get_gradients": "it reads the gradients of a pass of distributed autograd, which has to run",
    **convolution.NOT_BENCHMARKED,
    **pooling.NOT_BENCHMARKED,
    **quantized_layers.NOT_BENCHMARKED,
    **recurrent.NOT_BENCHMARKED,
    **dict.fromkeys(
        (
            "fbgemm_linear_fp16_weight",
            "fbgemm_linear_fp16_weight_fp32_activation",
            "fbgemm_linear_int8_weight",
            "fbgemm_linear_int8_weight_fp32_activation",
        ),
        PACKED,
    ),
    "sparse_resize_": "it shrinks no tensor, so that a second call cannot have what the first had",
    "sparse_compressed_tensor": "it requires a layout, and no case has an argument of that type",
}
"""Operators that cannot be called on their own, each with the reason."""

RECORDED = logged.own_arguments
CONTENTS = recorded_fills.FILLS
WORK = work.WORK
RESULTS = results.RESULTS
DIFFERENCES = {"float_power": IN_DOUBLE}
NOT_FINITE: dict[str, NotFinite] = {
    **dict.fromkeys(
        (
            "empty",
            "empty_like",
            "empty_permuted",
            "empty_quantized",
            "empty_strided",
            "new_empty",
            "new_empty_strided",
        ),
        UNWRITTEN,
    ),
    **dict.fromkeys(("masked_fill", "masked_fill_"), NotFinite("models mask with infinity")),
    "_ctc_loss": NotFinite(
        "the logarithms of the probability of impossible alignments are infinite"
    ),
}
"""Operators whose results may have NaN or infinity, each with the reason."""
