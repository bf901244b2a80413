"""Image preparation: pictures are bytes with the colours as last axis, as decoded from a file."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from opperf.model import Operator, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.mxnet.jpeg import TILE_SIDE, jpeg
from opperf.rules.pictures import COLOURS, images, photographs
from opperf.rules.registering import Families, entry_of
from opperf.rules.sizes import Preset
from opperf.rules.values import REQUESTED, Arguments, below, fixed, literal, tensor

FAMILIES = Families()

BYTE = "uint8"
LEVELS = below(256)

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and standard deviation of ImageNet's colours, on a scale from 0 to 1."""


Extents = tuple[int, int]


def decoded(size: Preset) -> Extents:
    """Height and width of a picture as most are in ImageNet."""
    return size.side(375), size.side(500)


def extents(size: Preset) -> Extents:
    """Height and width of a picture that is resized, and not yet cropped."""
    _, _, height, width = images(size)
    return height, width


def cropped(size: Preset) -> Extents:
    """Height and width of a picture that is cropped, as a network takes it."""
    _, _, height, width = photographs(size)
    return height, width


def picture(sides: Extents, dtype: str = BYTE) -> TensorSpec:
    """One picture."""
    return tensor(*sides, COLOURS, fill=LEVELS, dtype=dtype)


def pictures(size: Preset, sides: Extents, dtype: str = BYTE) -> TensorSpec:
    """A batch of pictures of one size."""
    return tensor(size.pictures, *sides, COLOURS, fill=LEVELS, dtype=dtype)


def window(size: Preset) -> Arguments:
    """Width and height of a crop: seven eighths of the picture's, as usual (224 of 256)."""
    height, width = extents(size)
    return {"width": width * 7 // 8, "height": height * 7 // 8}


LOADED = ("a picture, as a data loader takes it", "a batch, as a network's first layer takes it")
"""Why a picture is measured, and a batch of them."""


def each(size: Preset, sides: Extents, values: Arguments) -> Iterable[Arguments]:
    """One picture and a batch of them, each with these plain values."""
    for made, why in zip((picture(sides), pictures(size, sides)), LOADED, strict=True):
        yield {"data": made, **values, WHY: why}


@FAMILIES.add("_image_to_tensor")
def to_tensor(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A picture and a batch, whose colours become the first axis, on a scale from 0 to 1."""
    return each(size, cropped(size), {})


@FAMILIES.add("_image_normalize")
def normalize(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A picture and a batch as `to_tensor` returns them, with ImageNet's mean and deviation."""
    for shape, why in zip((photographs(size)[1:], photographs(size)), LOADED, strict=True):
        yield {"data": tensor(*shape), "mean": MEAN, "std": DEVIATION, WHY: why}


@FAMILIES.add("_image_crop")
def crop(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Pictures of bytes, and of floating-point numbers that take a gradient."""
    values: Arguments = {"x": 8, "y": 8, **window(size)}
    sides = extents(size)
    for data, why in (
        (picture(sides), "a picture of bytes, as a data loader crops it"),
        (pictures(size, sides), "a batch of bytes, all cropped at one place"),
        (picture(sides, REQUESTED), "a picture of real numbers, with the gradient of its pixels"),
        (pictures(size, sides, REQUESTED), "a batch of real numbers, with its gradient"),
    ):
        yield {"data": data, **values, WHY: why}


NEAREST, BILINEAR, CUBIC = 0, 1, 2
"""OpenCV's numbers for the ways to interpolate."""


def resized(size: Preset) -> Extents:
    """Width and height of a picture whose shorter side is resized to that of `extents`."""
    height, width = decoded(size)
    short, _ = extents(size)
    return width * short // height, short


@FAMILIES.add("_image_resize")
def resize(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """ImageNet's pictures, resized before they are cropped."""
    wanted: Arguments = {"size": resized(size)}
    yield from each(size, decoded(size), {**wanted, "interp": BILINEAR})
    for way, why in (
        (CUBIC, "a picture, by cubic interpolation, as vision transformers take it"),
        (NEAREST, "a mask of classes, whose pixels are not mixed"),
    ):
        yield {"data": picture(decoded(size)), **wanted, "interp": way, WHY: why}


@FAMILIES.add("_image_random_crop", "_image_random_resized_crop")
def random_crop(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Pictures, cropped at a random place."""
    return each(size, extents(size), window(size))


@FAMILIES.add("_image_flip_left_right", "_image_flip_top_bottom")
def flip(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A picture, which is mirrored."""
    yield {
        "data": picture(cropped(size)),
        WHY: "a cropped picture, mirrored for a second prediction",
    }


@FAMILIES.add("_image_random_flip_left_right", "_image_random_flip_top_bottom")
def random_flip(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A picture, which is mirrored or copied at random."""
    why = "a cropped picture, mirrored or copied at random, as for training"
    yield {"data": picture(cropped(size)), WHY: why}


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
"""Arguments of changes of colour, as strong as is usual in training on ImageNet."""


@FAMILIES.add(*COLOURING)
def colouring(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A picture, whose colours are changed."""
    why = "a picture of bytes, whose colours are varied for training on ImageNet"
    yield {"data": picture(cropped(size)), **entry_of(COLOURING, operator), WHY: why}


@FAMILIES.add("_cvimresize")
def cv_resize(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A picture of ImageNet, resized by OpenCV."""
    width, height = resized(size)
    for way, why in (
        (BILINEAR, "ImageNet's pictures by bilinear interpolation, as for most networks"),
        (CUBIC, "ImageNet's pictures by cubic interpolation, as for vision transformers"),
    ):
        yield {
            "src": picture(decoded(size)),
            "w": width,
            "h": height,
            "interp": way,
            WHY: why,
        }


@FAMILIES.add("_cvcopyMakeBorder")
def border(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A picture, which gets a border of eight black pixels."""
    width = 8
    sides: Arguments = dict.fromkeys(("top", "bot", "left", "right"), width)
    why = "a picture and eight black pixels at each side, as before a crop at random"
    yield {"src": picture(extents(size)), **sides, WHY: why}


def picture_file(size: Preset) -> TensorSpec:
    """The bytes of a JPEG file, of the other pictures' size rounded up to whole tiles."""
    height, width = (TILE_SIDE * math.ceil(extent / TILE_SIDE) for extent in extents(size))
    data = jpeg(height, width)
    return fixed(len(data), fill=literal(tuple(data)), dtype=BYTE)


DECODED = (
    (1, "in colour, as pictures for training"),
    (0, "in grey, as digits and text: the planes of colours are not converted"),
)
"""OpenCV's flags for decoding in colour and in grey, and why."""


@FAMILIES.add("_cvimdecode")
def decode(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The bytes of a JPEG file, decoded in colour and in grey."""
    for flag, why in DECODED:
        yield {"buf": picture_file(size), "flag": flag, WHY: f"a file's bytes {why}"}


@FAMILIES.add("_cvimread")
def read(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A JPEG file on disk, decoded in colour and in grey."""
    path = msgspec.structs.replace(picture_file(size), layout="file")
    for flag, why in DECODED:
        yield {"filename": path, "flag": flag, WHY: f"a file on disk {why}"}
