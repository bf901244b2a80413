"""Picture files: what a decoder has to find in them."""

import pytest

from opperf.rules.mxnet.image import END, RESTARTS, START, TILE_SIDE, jpeg


def size_in(file):
    """Height and width as the frame's segment has them."""
    frame = file.index(b"\xff\xc0")
    return tuple(int.from_bytes(file[frame + i : frame + i + 2], "big") for i in (5, 7))


@pytest.mark.parametrize("height, width", [(16, 16), (16, 64), (64, 32), (256, 256)])
def test_a_file_says_its_size_and_restarts_after_each_tile(height, width):
    file = jpeg(height, width)
    assert file.startswith(START) and file.endswith(END)
    assert size_in(file) == (height, width)
    tiles = height * width // TILE_SIDE**2
    data = file[file.index(b"\xff\xda") :]
    found = [data[i : i + 2] for i in range(len(data)) if data[i : i + 2] in RESTARTS]
    assert found == [RESTARTS[i % 8] for i in range(tiles - 1)]


@pytest.mark.parametrize("height, width", [(8, 16), (16, 100)])
def test_a_size_that_tiles_do_not_fill_is_refused(height, width):
    with pytest.raises(ValueError, match=f"{height} x {width} is not made of tiles"):
        jpeg(height, width)
