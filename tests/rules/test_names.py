"""The shapes that rules are written in."""

import pytest

from opperf.rules.mxnet.elementwise import alike, broadcasting
from opperf.rules.shapes import shapes, wide
from opperf.rules.sizes import PRESETS


@pytest.mark.parametrize("size", PRESETS.values(), ids=lambda size: size.name)
@pytest.mark.parametrize(
    "made", [shapes, wide, alike, broadcasting], ids=lambda made: made.__name__
)
def test_no_two_are_the_same_at_any_size(made, size):
    found = made(size)
    assert len(set(found)) == len(found) == 3
