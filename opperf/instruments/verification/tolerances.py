"""Tolerances of results: how far an element may be from that of eager mode, as a share of it and as
an amount."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from opperf.dtypes import is_floating
from opperf.model import Case, ModelTarget, Settings

TOLERANCE = 1e-4
"""Of single precision, by default: a thousand roundings, as a sum of a million has."""

BY_DTYPE = {
    "float16": 1e-3,
    "bfloat16": 1e-2,
    **dict.fromkeys(("float8_e4m3fn", "float8_e4m3fnuz"), 0.125),
    **dict.fromkeys(("float8_e5m2", "float8_e5m2fnuz"), 0.25),
    "float64": 1e-7,
    "complex128": 1e-7,
}
"""Of dtypes of another precision: about one rounding of the short ones, as PyTorch's runner has it
for half precision; of double precision fewer than what single precision has."""

EVEN_HIGHER = frozenset(
    {"soft_actor_critic", "tacotron2", "yolov3", "squeezenet1_1", "shufflenet_v2_x1_0"}
)
"""Models of TorchBench whose gradients PyTorch's runner compares least strictly."""


class Row(NamedTuple):
    """A tolerance of models in single precision."""

    tolerance: float
    fits: Callable[[ModelTarget, Settings], bool]


def _trains_on_gpu(settings: Settings) -> bool:
    return settings.phase == "train" and settings.device.startswith("gpu")


OF_MODELS = (
    Row(
        8e-2,
        lambda model, settings: _trains_on_gpu(settings) and model.name in EVEN_HIGHER,
    ),
    Row(1e-3, lambda model, settings: _trains_on_gpu(settings)),
    Row(
        1e-2,
        lambda model, settings: model.suite == "torchbench" and settings.phase == "predict",
    ),
)
"""Those of PyTorch's and PyTorch/XLA's runners; the first that fits counts."""


def tolerance_of(case: Case, dtype: str) -> float:
    """Returns the tolerance of a result of this dtype: the largest that applies to it, to the mixed
    precision that it was computed in, and to the model."""
    autocast = case.settings.autocast
    found = [BY_DTYPE.get(dtype, TOLERANCE)]
    found += [BY_DTYPE.get(autocast, TOLERANCE)] if is_floating(autocast) else []
    target = case.target
    if isinstance(target, ModelTarget):
        found += [row.tolerance for row in OF_MODELS if row.fits(target, case.settings)][:1]
    return max(found)
