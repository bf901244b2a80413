"""Picture files for operators that decode them: JPEG files of any size, from one compressed tile.

No encoder is needed. A restart marker after each tile resets the decoder, so that the compressed
tile can be repeated; only the height and width in the header change.
"""

from __future__ import annotations

import base64

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
    """A frame's segment with another height and width: two bytes each, after the marker, the length
    and the bits per colour."""
    return frame[:5] + height.to_bytes(2, "big") + width.to_bytes(2, "big") + frame[9:]


def jpeg(height: int, width: int) -> bytes:
    """The file of a picture of tiles. Raises `ValueError` if the size is no multiple of theirs."""
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
