"""MXNet's shape inference, for fitting inputs to a size."""

from __future__ import annotations

from collections.abc import Mapping

from opperf.rules.fitting import Inference
from opperf.rules.ranges import Shape
from opperf.rules.values import Arguments

FIXED_RANK = frozenset(
    {
        "InstanceNorm",
        "_contrib_calibrate_entropy",
        "_contrib_quantize_asym",
        "_contrib_sldwin_atten_mask_like",
        "_npi_tensordot",
        "_npi_tensordot_int_axes",
        "_npx_index_add",
        "_npx_index_update",
    }
)
"""Operators whose first tensor keeps its rule's number of axes: for others MXNet infers shapes, and
then refuses the call or crashes, `_contrib_quantize_asym` for example."""

FIXED_SHAPE = frozenset({"_contrib_PSROIPooling", "_contrib_DeformablePSROIPooling"})
"""Operators whose first tensor keeps its rule's shape: plain arguments determine the number of its
channels, and MXNet reads out of bounds where there are fewer."""


def _shapes(name: str, arguments: Arguments, known: Mapping[str, Shape]) -> dict[str, Shape]:
    from opperf.frameworks.mxnet.inference import infer_shapes

    found = infer_shapes(name, arguments, known)
    return found[0] if found else {}


def _output_shapes(name: str, arguments: Arguments) -> list[Shape] | None:
    from opperf.frameworks.mxnet.inference import output_shapes

    return output_shapes(name, arguments)


INFERENCE = Inference(_shapes, _output_shapes, FIXED_RANK, FIXED_SHAPE)
