"""Image preparation: images are bytes and have the colours as last axis, like decoded files.

Files are JPEGs of one tile, repeated: a restart marker after each resets the decoder, and only the
height and width in the header change.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable

import msgspec

from opperf.model import Operator, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.image_shapes import COLOURS, images, photographs
from opperf.rules.registering import Families, Rows, entry_of
from opperf.rules.sizes import Preset
from opperf.rules.values import REQUESTED, Arguments, below, call, fixed, literal, tensor
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

NOT_BENCHMARKED = {
    "_imdecode": "reads an image as text up to the first zero byte, which every image file "
    "contains; `_cvimdecode` takes bytes"
}

BYTE = "uint8"
LEVELS = below(256)

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and standard deviation of ImageNet's colours, on a scale from 0 to 1."""

Extents = tuple[int, int]


def decoded(size: Preset) -> Extents:
    """Height and width of an image as most are in ImageNet."""
    return size.side(375), size.side(500)


def extents(size: Preset) -> Extents:
    """Height and width of an image that is resized, and not yet cropped."""
    _, _, height, width = images(size)
    return height, width


def cropped(size: Preset) -> Extents:
    """Height and width of an image that is cropped, as a network takes it."""
    _, _, height, width = photographs(size)
    return height, width


def image(sides: Extents, *samples: int, dtype: str = BYTE) -> TensorSpec:
    """One image, or a batch of them."""
    return tensor(*samples, *sides, COLOURS, fill=LEVELS, dtype=dtype)


def window(size: Preset) -> Arguments:
    """Width and height of a crop: seven eighths of the image's, as usual (224 of 256)."""
    height, width = extents(size)
    return {"width": width * 7 // 8, "height": height * 7 // 8}


LOADED = ("an image, as a data loader takes it", "a batch, in front of a network")
"""Why an image is measured, and a batch of them."""


def each(size: Preset, sides: Extents, values: Arguments) -> Iterable[Arguments]:
    """One image and a batch of them, each with these plain values."""
    for made, why in zip((image(sides), image(sides, size.images)), LOADED, strict=True):
        yield {"data": made, **values, WHY: why}


NEAREST, BILINEAR, CUBIC = 0, 1, 2
"""OpenCV's numbers for the ways to interpolate."""


def resized(size: Preset) -> Extents:
    """Width and height of an image whose shorter side is resized to that of `extents`."""
    height, width = decoded(size)
    short, _ = extents(size)
    return width * short // height, short


def resize(size: Preset) -> Iterable[Arguments]:
    """ImageNet's images, resized before they are cropped."""
    wanted: Arguments = {"size": resized(size)}
    yield from each(size, decoded(size), {**wanted, "interp": BILINEAR})
    for way, why in (
        (CUBIC, "an image, by cubic interpolation, as vision transformers take it"),
        (NEAREST, "a mask of classes, whose pixels are not mixed"),
    ):
        yield {"data": image(decoded(size)), **wanted, "interp": way, WHY: why}


RANGE: Arguments = {"min_factor": 0.6, "max_factor": 1.4}

COLOURING: dict[str, Arguments] = {
    "_image_random_brightness": RANGE,
    "_image_random_contrast": RANGE,
    "_image_random_saturation": RANGE,
    "_image_random_hue": RANGE,
    "_image_random_color_jitter": call(brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1),
    "_image_adjust_lighting": {"alpha": (0.05, -0.05, 0.1)},
    "_image_random_lighting": {"alpha_std": 0.1},
}
"""Arguments of changes of colour, as strong as is usual in training on ImageNet."""


@FAMILIES.add(*COLOURING)
def colouring(operator: Operator, size: Preset) -> Rows:
    """An image, whose colours are changed."""
    values = entry_of(COLOURING, operator)
    why = "an image of bytes, whose colours are varied for training on ImageNet"
    return {why: call(data=image(cropped(size)), **values)}


def image_file(size: Preset) -> TensorSpec:
    """The bytes of a JPEG file, of the other images' size rounded up to whole tiles."""
    height, width = (TILE_SIDE * math.ceil(extent / TILE_SIDE) for extent in extents(size))
    data = jpeg(height, width)
    return fixed(len(data), fill=literal(tuple(data)), dtype=BYTE)


DECODED = (
    (1, "in colour, as images for training"),
    (0, "in grey, as digits and text: the planes of colours are not converted"),
)
"""OpenCV's flags for decoding in colour and in grey, and why."""

VARIANTS: dict[str, Variants] = {
    "_image_flip_left_right _image_flip_top_bottom": lambda size: {
        "a cropped image, mirrored for a second prediction": call(data=image(cropped(size)))
    },
    "_image_random_flip_left_right _image_random_flip_top_bottom": lambda size: {
        "a cropped image, mirrored at random, for training": call(data=image(cropped(size)))
    },
    "_cvcopyMakeBorder": lambda size: {
        "an image and eight black pixels at each side, as before a crop at random": call(
            src=image(extents(size)), **dict.fromkeys(("top", "bot", "left", "right"), 8)
        )
    },
    "_image_crop": lambda size: {
        why: call(data=image(extents(size), *first, dtype=dtype), x=8, y=8, **window(size))
        for first, dtype, why in (
            ((), BYTE, "an image of bytes, as a data loader crops it"),
            ((size.images,), BYTE, "a batch of bytes, all cropped at one place"),
            ((), REQUESTED, "an image of real numbers, with the gradient of its pixels"),
            ((size.images,), REQUESTED, "a batch of real numbers, with its gradient"),
        )
    },
    "_image_resize": resize,
    "_cvimresize": lambda size: {
        f"ImageNet's images by {why}": call(
            src=image(decoded(size)), w=resized(size)[0], h=resized(size)[1], interp=way
        )
        for way, why in (
            (BILINEAR, "bilinear interpolation, for most networks"),
            (CUBIC, "cubic interpolation, for vision transformers"),
        )
    },
    "_cvimread": lambda size: {
        f"a file on disk {why}": call(
            filename=msgspec.structs.replace(image_file(size), layout="file"), flag=flag
        )
        for flag, why in DECODED
    },
    "_image_to_tensor": lambda size: each(size, cropped(size), {}),
    "_image_normalize": lambda size: [
        {"data": tensor(*shape), "mean": MEAN, "std": DEVIATION, WHY: why}
        for shape, why in zip((photographs(size)[1:], photographs(size)), LOADED, strict=True)
    ],
    "_image_random_crop _image_random_resized_crop": lambda size: each(
        size, extents(size), window(size)
    ),
    "_cvimdecode": lambda size: {
        f"a file's bytes {why}": call(buf=image_file(size), flag=flag) for flag, why in DECODED
    },
}
add_rows(FAMILIES.add, VARIANTS)


TILE_SIDE = 16
"""Height and width of the tile: one coding unit of a JPEG with colours at half resolution."""

TILE = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERX"
    "RTc4UG1RV19iZ2hnPk1xeXBkeFxlZ2P/2wBDARESEhgVGC8aGi9jQjhCY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2Nj"
    "Y2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2P/wAARCAAQABADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAA"
    "BAX/xAAgEAACAAYCAwAAAAAAAAAAAAABAgADBAURIRIxQXHB/8QAFQEBAQAAAAAAAAAAAAAAAAAAAwT/xAAdEQAB"
    "BAIDAAAAAAAAAAAAAAABAAMEEQISEyEi/9oADAMBAAIRAxEAPwCIyCTgY2YZQcZ7FOIDAZ9wyotLVABlkK4GN9GG"
    "WmzNTFpk1gzsMa6A++IrcfZ4bv0jiSctgQel/9k="
)
"""A JFIF file of quality 50: a blue disc on a gradient of red and green. MXNet reads the size of
JFIF files alone from their header, and decodes these asynchronously, as it runs other operators;
files of other kinds it decodes before the call returns."""

START, END = b"\xff\xd8", b"\xff\xd9"
FRAME, SCAN, INTERVAL = b"\xff\xc0", b"\xff\xda", b"\xff\xdd"
"""Markers of a baseline frame, of a scan, and of the segment with the interval of restarts."""

RESTARTS = tuple(bytes((0xFF, 0xD0 + i)) for i in range(8))
"""The restart markers, in the order in which they alternate."""


def _segments(file: bytes) -> tuple[list[bytes], bytes]:
    """The segments of a file's header, each with its marker, and the compressed data after them."""
    segments, position = [], len(START)
    while True:
        length = 2 + int.from_bytes(file[position + 2 : position + 4], "big")
        segment = file[position : position + length]
        segments.append(segment)
        position += length
        if segment.startswith(SCAN):
            return segments, file[position : -len(END)]


def _with_size(frame: bytes, height: int, width: int) -> bytes:
    """Height and width are two bytes each, after the marker, the length and the bits per colour."""
    return frame[:5] + height.to_bytes(2, "big") + width.to_bytes(2, "big") + frame[9:]


def jpeg(height: int, width: int) -> bytes:
    """The file of an image of tiles. Raises `ValueError` if the size is no multiple of theirs."""
    if height % TILE_SIDE or width % TILE_SIDE:
        raise ValueError(f"{height} x {width} is not made of tiles of {TILE_SIDE} x {TILE_SIDE}")
    segments, tile = _segments(TILE)
    *header, scan = (
        _with_size(segment, height, width) if segment.startswith(FRAME) else segment
        for segment in segments
    )
    after_each_tile = INTERVAL + bytes((0, 4, 0, 1))
    count = (height // TILE_SIDE) * (width // TILE_SIDE)
    tiles = b"".join(tile + RESTARTS[i % len(RESTARTS)] for i in range(count - 1)) + tile
    return b"".join([START, *header, after_each_tile, scan, tiles, END])
