"""Families of `jax.image`: images have their channels last."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.families.images import scalings
from opperf.rules.image_shapes import COLOURS, channels_last
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, fixed, literal, tensor

FAMILIES = Families()

METHODS = {"linear": "upsample_linear", "cubic": "upsample_cubic", "nearest": "upsample_nearest"}
"""Operations whose tensors are scaled, by the method. Corners are never aligned."""


@FAMILIES.add("image.resize")
def resize(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The tensors of every method, and photographs by a window that lets the edges ring."""
    for method, operation in METHODS.items():
        for scaling in scalings(operation, size):
            # Signals and volumes once.
            if scaling.align_corners or (len(scaling.shape) != 4 and method != "linear"):
                continue
            yield {
                "image": tensor(*channels_last(scaling.shape)),
                "shape": channels_last((*scaling.shape[:2], *scaling.output_size)),
                "method": method,
                WHY: scaling.why,
            }
    yield {
        "image": tensor(size.samples(8), size.side(768), size.side(1024), COLOURS),
        "shape": (size.samples(8), size.side(96), size.side(128), COLOURS),
        "method": "lanczos3",
        WHY: "photographs to thumbnails, by Lanczos's window of radius three",
    }


@FAMILIES.add("image.scale_and_translate")
def scale_and_translate(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Crops of images, scaled to one size."""
    side = size.side(256)
    shape = (size.samples(8), side, side, COLOURS)
    after = (shape[0], size.side(224), size.side(224), COLOURS)
    for method, factor, moved, why in (
        ("linear", 1.5, (-0.3, -0.2), "a random crop of images, enlarged, as augmentation"),
        ("cubic", 0.75, (0.03, 0.06), "whole images made smaller and moved, as augmentation"),
    ):
        yield {
            "image": tensor(*shape),
            "shape": after,
            "spatial_dims": (1, 2),
            "scale": fixed(2, fill=literal((factor, factor))),
            "translation": fixed(2, fill=literal(tuple(side * share for share in moved))),
            "method": method,
            WHY: why,
        }
