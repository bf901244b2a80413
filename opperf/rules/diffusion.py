"""The layers of Stable Diffusion, for every framework."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opperf.model import Argument, TensorSpec
from opperf.rules.bert import layer_width
from opperf.rules.configurations import DTYPE, WHY
from opperf.rules.sizes import Preset
from opperf.rules.values import tensor

LAYERS = (
    (2, 320, 64, "bfloat16", "Stable Diffusion's UNet, first blocks, with and without the text"),
    (2, 1280, 8, "bfloat16", "Stable Diffusion's UNet, middle block: few pixels, large weights"),
    # Its activations exceed the range of float16, and so some programs keep it in single precision.
    (1, 128, 512, "", "Stable Diffusion's decoder, last blocks, the whole image"),
)
"""Images, channels, side, dtype and why of its 3 x 3 layers."""


class Layer(NamedTuple):
    """A layer of 3 x 3 with as many outputs as inputs."""

    maps: TensorSpec
    weight: TensorSpec
    bias: TensorSpec
    notes: dict[str, Argument]


def layers(size: Preset) -> Iterable[Layer]:
    """Layers of the UNet and of the decoder."""
    for images, published, side, dtype, why in LAYERS:
        channels = layer_width(size, published)
        yield Layer(
            tensor(images, channels, size.side(side), size.side(side)),
            tensor(channels, channels, 3, 3),
            tensor(channels),
            {**({DTYPE: dtype} if dtype else {}), WHY: why},
        )
