"""Image preparation: pictures as they come from a file, bytes with colours last."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from opperf.model import Operator, TensorSpec
from opperf.rules.engine import Families
from opperf.rules.mxnet.jpeg import TILE_SIDE, jpeg
from opperf.rules.pictures import COLOURS, images
from opperf.rules.sizes import Preset
from opperf.rules.values import REQUESTED, Arguments, below, fixed, literal, tensor

FAMILIES = Families()

BYTE = "uint8"
LEVELS = below(256)

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Statistics of ImageNet's colours, on a scale to 1."""


def extents(size: Preset) -> tuple[int, int]:
    """Height and width of a picture."""
    _, _, height, width = images(size)
    return height, width


def picture(size: Preset, dtype: str = BYTE) -> TensorSpec:
    """One picture."""
    return tensor(*extents(size), COLOURS, fill=LEVELS, dtype=dtype)


def pictures(size: Preset, dtype: str = BYTE) -> TensorSpec:
    """A batch of pictures of one size."""
    return tensor(size.pictures, *extents(size), COLOURS, fill=LEVELS, dtype=dtype)


def window(size: Preset) -> Arguments:
    """Width and height of a part of a picture, seven eighths of it as is usual (224 of 256)."""
    height, width = extents(size)
    return {"width": width * 7 // 8, "height": height * 7 // 8}


def each(size: Preset, values: Arguments, dtype: str = BYTE) -> Iterable[Arguments]:
    """One picture, and a batch."""
    for data in (picture(size, dtype), pictures(size, dtype)):
        yield {"data": data, **values}


@FAMILIES.add("_image_to_tensor")
def to_tensor(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Colours put first and scaled to [0, 1)."""
    return each(size, {})


@FAMILIES.add("_image_normalize")
def normalize(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """After `to_tensor`: by ImageNet's mean and deviation."""
    for shape in (images(size)[1:], images(size)):
        yield {"data": tensor(*shape), "mean": MEAN, "std": DEVIATION}


@FAMILIES.add("_image_crop")
def crop(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A part of bytes, and of numbers that have a gradient."""
    for dtype in (BYTE, REQUESTED):
        yield from each(size, {"x": 8, "y": 8, **window(size)}, dtype)


@FAMILIES.add("_image_resize")
def resize(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """To half, with the neighbours interpolated."""
    height, width = extents(size)
    return each(size, {"size": (width // 2, height // 2), "interp": 1})


@FAMILIES.add("_image_random_crop", "_image_random_resized_crop")
def random_crop(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A part at a random place."""
    return each(size, window(size))


@FAMILIES.add("_image_flip_left_right", "_image_flip_top_bottom")
def flip(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A picture mirrored."""
    yield {"data": picture(size)}


@FAMILIES.add("_image_random_flip_left_right", "_image_random_flip_top_bottom")
def random_flip(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A picture mirrored, or copied, as chance has it."""
    yield {"data": picture(size)}


RANGE: Arguments = {"min_factor": 0.6, "max_factor": 1.4}

COLOURING: dict[str, Arguments] = {
    "_image_random_brightness": RANGE,
    "_image_random_contrast": RANGE,
    "_image_random_saturation": RANGE,
    "_image_random_hue": RANGE,
    "_image_random_color_jitter": {
        "brightness": 0.4,
        "contrast": 0.4,
        "saturation": 0.4,
        "hue": 0.1,
    },
    "_image_adjust_lighting": {"alpha": (0.05, -0.05, 0.1)},
    "_image_random_lighting": {"alpha_std": 0.1},
}
"""Changes of colour, as strong as training on ImageNet has them."""


@FAMILIES.add(*COLOURING)
def colouring(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A picture with its colours changed."""
    yield {"data": picture(size), **COLOURING[operator.name]}


@FAMILIES.add("_cvimresize")
def cv_resize(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """To half, by OpenCV."""
    height, width = extents(size)
    yield {"src": picture(size), "w": width // 2, "h": height // 2, "interp": 1}


@FAMILIES.add("_cvcopyMakeBorder")
def border(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Eight black pixels around a picture."""
    width = 8
    sides: Arguments = dict.fromkeys(("top", "bot", "left", "right"), width)
    yield {"src": picture(size), **sides}


def picture_file(size: Preset) -> TensorSpec:
    """The bytes of a JPEG file of a picture as large as the others, or just larger."""
    height, width = (TILE_SIDE * math.ceil(extent / TILE_SIDE) for extent in extents(size))
    data = jpeg(height, width)
    return fixed(len(data), fill=literal(tuple(data)), dtype=BYTE)


COLOUR, GREY = 1, 0
"""What OpenCV calls the two ways to decode a picture."""


@FAMILIES.add("_cvimdecode")
def decode(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A JPEG file in colour, and in grey."""
    for flag in (COLOUR, GREY):
        yield {"buf": picture_file(size), "flag": flag}


@FAMILIES.add("_cvimread")
def read(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A JPEG file opened and decoded in colour, and in grey."""
    path = msgspec.structs.replace(picture_file(size), layout="file")
    for flag in (COLOUR, GREY):
        yield {"filename": path, "flag": flag}
