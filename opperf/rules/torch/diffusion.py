"""Further inputs of PyTorch's convolutions: the layers of Stable Diffusion."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.diffusion import layers
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments

FAMILIES = Families()


@FAMILIES.also("conv2d.default")
def convolutions(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers of 3 x 3."""
    for one in layers(size):
        made: Arguments = {"input": one.maps, "weight": one.weight, "bias": one.bias}
        yield {**made, "padding": (1, 1), **one.notes}
