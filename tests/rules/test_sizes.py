"""What a size makes of extents: results of two versions are joined by their shapes, so that what
a preset comes to may not drift."""

from dataclasses import FrozenInstanceError

import pytest

from opperf.rules.sizes import INT64, PRESETS, Preset

FLOAT_BYTES = 4


def test_the_default_square_takes_four_mebibytes_and_a_default_image_has_256_pixels_a_side():
    default = PRESETS["default"]
    assert default.extent(1024) ** 2 * FLOAT_BYTES == 4 * 2**20
    assert default.side(256) == 256


def test_small_and_large_are_a_sixteenth_and_four_times_the_default():
    assert [PRESETS[name].extent(1024) for name in ("small", "default", "large")] == [
        64,
        1024,
        4096,
    ]
    assert [PRESETS[name].side(256) for name in ("small", "default", "large")] == [64, 256, 256]


def test_batches_and_images_of_each_size():
    made = {name: (size.batch, size.images) for name, size in PRESETS.items()}
    assert made == {"small": (2, 2), "default": (32, 8), "large": (64, 64), INT64: (2**15, 2**15)}


def test_tensors_for_64_bit_indices_have_more_elements_than_a_32_bit_index_reaches():
    size = PRESETS[INT64]
    assert size.extent(1024) ** 2 == 2**32 > 2**31 - 1
    assert size.images * 3 * size.side(256) ** 2 > 2**31 - 1
    assert size.side(256) == 256


def test_each_preset_goes_by_its_own_name():
    assert all(size.name == name for name, size in PRESETS.items())


@pytest.mark.parametrize(
    "default, least, extent", [(1024, 1, 64), (40, 1, 2), (8, 1, 1), (4, 1, 1), (16, 4, 4)]
)
def test_an_extent_is_rounded_and_never_vanishes(default, least, extent):
    # A sixteenth: 2.5 goes to the even number as Python rounds it.
    assert PRESETS["small"].extent(default, least) == extent


def test_an_extent_is_one_at_least_where_nothing_else_is_said():
    assert PRESETS["small"].extent(4) == 1
    assert PRESETS["small"].extent(17) == 1


@pytest.mark.parametrize("default, side", [(256, 64), (224, 56), (56, 16), (32, 8), (1, 8)])
def test_sides_are_multiples_of_eight_rounded_up(default, side):
    # A quarter of the default: 56 comes to 14, and the next multiple is 16.
    assert PRESETS["small"].side(default) == side
    assert PRESETS["default"].side(100) == 104


def test_sides_of_real_maps_are_multiples_of_less():
    assert [PRESETS["default"].side(side, 1) for side in (28, 14, 7)] == [28, 14, 7]
    assert [PRESETS["small"].side(side, 1) for side in (28, 14, 7)] == [7, 4, 2]
    assert PRESETS["small"].side(28, 2) == 8


def test_samples_are_scaled_as_images_and_one_at_least():
    made = {name: [size.samples(count) for count in (8, 1)] for name, size in PRESETS.items()}
    assert made == {"small": [2, 1], "default": [8, 1], "large": [64, 8], INT64: [2**15, 2**12]}


def test_a_preset_that_every_rule_shares_cannot_be_changed_by_one():
    with pytest.raises(FrozenInstanceError):
        PRESETS["small"].scale = 1.0
    assert Preset("a", 1.0, 1, 1, 1.0) == Preset("a", 1.0, 1, 1, 1.0)
