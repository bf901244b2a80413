"""Refuses cases that do not fit in memory, by an estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence

from opperf.dtypes import element_bytes
from opperf.errors import UnsupportedError
from opperf.frameworks import Framework
from opperf.model import Case, ModelTarget, TensorSpec

GIB = 2**30

WORKSPACE = 2
"""Assumed memory of a call, in multiples of its output: the output, and as much again for workspace
or for the gradient of the output."""


INDEX_BYTES = 8


def tensor_bytes(spec: TensorSpec) -> int:
    """Returns the bytes of a tensor: its elements, or its storage's as far as the last of them, and
    the indices of a sparse layout."""
    element = element_bytes(spec.dtype)
    if spec.layout == "csr":
        return spec.stored * (element + INDEX_BYTES) + (spec.shape[0] + 1) * INDEX_BYTES
    if spec.layout == "row_sparse":
        return spec.stored * (math.prod(spec.shape[1:]) * element + INDEX_BYTES)
    return (spec.reach if spec.is_view else spec.size) * element


def estimated_bytes(case: Case, outputs: Sequence[tuple[int, ...]] | None) -> int:
    """Returns an estimate of the bytes of a case: inputs, gradients, outputs and workspace. Outputs
    of unknown shapes are as large as the largest input."""
    inputs = [(tensor_bytes(spec), spec.gradient) for _, spec in case.tensors()]
    largest = max((size for size, _ in inputs), default=0)
    gradients = sum(size for size, wanted in inputs if wanted) if "backward" in case.passes else 0
    element = element_bytes(case.settings.dtype)
    made = largest if outputs is None else sum(math.prod(shape) * element for shape in outputs)
    return sum(size for size, _ in inputs) + gradients + WORKSPACE * made


def guard(case: Case, framework: Framework) -> int:
    """Returns an estimate of the bytes that a case needs. Raises `UnsupportedError`, with the
    figures, if they do not fit in memory."""
    if isinstance(case.target, ModelTarget):
        # Known only once it is built; the device then says that its memory is exhausted.
        return 0
    needed = estimated_bytes(case, framework.output_shapes(case))
    free = framework.device_memory(case.settings.device)
    if needed > free:
        raise UnsupportedError(
            f"needs about {needed / GIB:.1f} GiB and {case.settings.device} has "
            f"{free / GIB:.1f} GiB free; use --size small or --shape"
        )
    return needed
