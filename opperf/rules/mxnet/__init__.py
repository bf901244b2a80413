"""Inputs for MXNet's operators: the framework's rules module, from one module for each kind."""

from __future__ import annotations

from opperf.rules import families as shared
from opperf.rules.differences import OF_LOSS, SCALED, Difference
from opperf.rules.mxnet import (
    attention,
    control_flow,
    convolution,
    detection,
    elementwise,
    functions,
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
    regions,
    sampling,
    sequences,
    shapes,
    slicing,
    sorting,
    sparse,
    sparse_creation,
    sparse_updates,
)
from opperf.rules.not_finite import NotFinite
from opperf.rules.registering import Families

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
    regions,
    sampling,
    sequences,
    shapes,
    slicing,
    sorting,
    sparse,
    sparse_creation,
    sparse_updates,
)
"""Modules that have `FAMILIES`."""

FAMILIES = Families()
FAMILIES.merge(shared.FAMILIES)
for _module in MODULES:
    FAMILIES.merge(_module.FAMILIES)

OPERATIONS = operations.TABLE
FUNCTIONS = functions.FUNCTIONS
NUMPY_INTERFACE = "numpy."
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
"""Operators that run in the train phase. In the predict phase Dropout only copies its input, and
BatchNorm reads its statistics instead of computing them. Pooling by oneDNN keeps the places of the
maxima in the train phase alone: after the predict phase its gradient reads uninitialised memory."""

NEEDS_OUTPUT = frozenset({"_copyto"})
"""Operators that require an output array from the caller."""

NOT_BENCHMARKED: dict[str, str] = {
    "_CrossDeviceCopy": "cannot be called directly: only graphs split over devices run it",
    "_NoGradient": "a placeholder for a missing gradient, which computes nothing",
    "_imdecode": "reads a picture as text up to the first zero byte, which every picture file "
    "contains; `_cvimdecode` takes bytes",
}
"""Operators that cannot be called on their own, each with the reason."""

DIFFERENCES: dict[str, Difference] = {
    **dict.fromkeys(("LinearRegressionOutput", "LogisticRegressionOutput"), OF_LOSS),
    **dict.fromkeys(("MAERegressionOutput", "SVMOutput", "SoftmaxOutput"), OF_LOSS),
    **dict.fromkeys(("MakeLoss", "make_loss"), OF_LOSS),
    "_contrib_gradientmultiplier": SCALED,
}

NOT_FINITE: dict[str, NotFinite] = {
    "LeakyReLU": NotFinite(
        "only training writes the second output, the slopes that it draws", {"act_type": "rrelu"}
    ),
    "_contrib_dgl_csr_neighbor_non_uniform_sample": NotFinite(
        "writes the probabilities of the vertices of a sample, whose number is random, and nothing "
        "behind them"
    ),
    "masked_log_softmax": NotFinite("the logarithm of what is masked is infinite"),
    **dict.fromkeys(
        (
            *("_npi_gumbel", "_npi_logistic"),
            *("_random_exponential_like", "random_exponential", "sample_exponential"),
        ),
        NotFinite("the logarithm of a random number that is zero once in some ten million"),
    ),
}
"""Operators whose results may have NaN or infinity, each with the reason: memory that is not
written may hold anything."""
