"""Families of `jax.image`: pictures have their channels last."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.families.images import Scaling, scalings
from opperf.rules.pictures import COLOURS, channels_last
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, fixed, literal, tensor

FAMILIES = Families()

METHODS = {"linear": "upsample_linear", "cubic": "upsample_cubic", "nearest": "upsample_nearest"}
"""Operations whose tensors are scaled, by the method. Corners are never aligned."""


def scaled_shape(one: Scaling) -> tuple[int, ...]:
    """The shape of a scaled tensor with channels last."""
    return channels_last((*one.shape[:2], *one.output_size))


@FAMILIES.add("image.resize")
def resize(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The tensors of every method, and one that lets the edges ring."""
    for method, operation in METHODS.items():
        for one in scalings(operation, size):
            # Signals and volumes once.
            if one.align_corners or (len(one.shape) != 4 and method != "linear"):
                continue
            yield {
                "image": tensor(*channels_last(one.shape)),
                "shape": scaled_shape(one),
                "method": method,
                WHY: one.why,
            }
    side = size.side(480), size.side(640)
    yield {
        "image": tensor(size.samples(8), *side, COLOURS),
        "shape": (size.samples(8), size.side(224), size.side(224), COLOURS),
        "method": "lanczos3",
        WHY: "photographs to thumbnails, by Lanczos's window of three pixels",
    }
    yield {
        "image": tensor(size.samples(8), *side, COLOURS),
        "shape": (size.samples(8), size.side(224), size.side(224), COLOURS),
        "method": "linear",
        "antialias": False,
        WHY: "camera pictures to a classifier's size, without antialiasing, as TensorFlow's",
    }


@FAMILIES.add("image.scale_and_translate")
def scale_and_translate(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Crops of pictures, scaled to one size."""
    side = size.side(256)
    shape = (size.samples(8), side, side, COLOURS)
    after = (shape[0], size.side(224), size.side(224), COLOURS)
    for method, factor, why in (
        ("linear", 1.5, "a random crop of pictures, enlarged, as augmentation"),
        ("cubic", 0.75, "whole pictures made smaller and moved, as augmentation: smoothed"),
    ):
        yield {
            "image": tensor(*shape),
            "shape": after,
            "spatial_dims": (1, 2),
            "scale": fixed(2, fill=literal((factor, factor))),
            "translation": fixed(2, fill=literal((-8.0, 4.0))),
            "method": method,
            WHY: why,
        }
