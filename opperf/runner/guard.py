"""Whether a case fits in memory, from an estimate of what it needs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from opperf.errors import UnsupportedError
from opperf.frameworks import Framework
from opperf.model import Case, TensorSpec

GIB = 2**30

WORKSPACE = 2
"""Times an operator's output that a call is assumed to need: the output, and as much again
for its workspace, or for the gradient that comes back to the output."""

BYTES = {
    **dict.fromkeys(("int8", "uint8", "bool"), 1),
    **dict.fromkeys(("float16", "bfloat16"), 2),
    **dict.fromkeys(("float64", "int64", "complex64", "datetime64[D]"), 8),
    "complex128": 16,
}
"""Bytes an element takes; every dtype that is not here takes four."""


def tensor_bytes(spec: TensorSpec) -> int:
    """Bytes the tensor's dense data takes."""
    return spec.size * BYTES.get(spec.dtype, 4)


def estimated_bytes(case: Case, outputs: Sequence[tuple[int, ...]] | None) -> int:
    """Bytes a case needs: its inputs, their gradients, and its outputs with an allowance.

    Outputs whose shapes are not known are taken to be as large as the largest input.
    """
    inputs = [(tensor_bytes(spec), spec.gradient) for _, spec in case.tensors()]
    largest = max((size for size, _ in inputs), default=0)
    gradients = sum(size for size, wanted in inputs if wanted) if "backward" in case.passes else 0
    element = BYTES.get(case.settings.dtype, 4)
    made = largest if outputs is None else sum(math.prod(shape) * element for shape in outputs)
    return sum(size for size, _ in inputs) + gradients + WORKSPACE * made


def guard(case: Case, framework: Framework) -> None:
    """Refuse a case that does not fit in memory, with the figures.

    Raises `UnsupportedError`.
    """
    needed = estimated_bytes(case, framework.output_shapes(case))
    free = framework.device_memory(case.settings.device)
    if needed > free:
        raise UnsupportedError(
            f"needs about {needed / GIB:.1f} GiB and {case.settings.device} has "
            f"{free / GIB:.1f} GiB free; use --size small or --shape"
        )
