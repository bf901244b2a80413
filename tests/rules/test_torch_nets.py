"""Logic of PyTorch's families of networks: extents of outputs, and packed batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opperf.operations import OPERATIONS
from opperf.rules.image_shapes import Window
from opperf.rules.torch.convolution import layer, output_of, transposed
from opperf.rules.torch.layers import offsets
from opperf.rules.torch.operations.convolutions import padding_of
from opperf.rules.torch.recurrent import packed, padded, sizes_of


def arrays(roles: dict[str, Any]) -> dict[str, Any]:
    return {
        name: np.ones(value.shape) if hasattr(value, "shape") else value
        for name, value in roles.items()
    }


@pytest.mark.parametrize(
    "window",
    [
        Window((1, 4, 9, 8), 6, kernel=3, stride=2, pad=1),
        Window((1, 4, 9, 8), 6, kernel=3, pad=2, dilate=2),
        Window((2, 4, 7), 6, kernel=2, stride=3, groups=2),
    ],
)
def test_shapes_of_outputs_are_those_of_the_operations(window):
    for operation, roles, is_transposed in (
        ("convolution", layer(window), False),
        ("deconvolution", transposed(window), True),
        ("deconvolution", transposed(window, further=window.stride - 1), True),
    ):
        made = OPERATIONS[operation].reference.compute(**arrays(roles))
        assert output_of(roles, is_transposed).shape == made.shape


def test_a_border_by_word():
    assert padding_of("same", (3, 5), (1, 2)) == (1, 4)
    assert padding_of("valid", (3, 5), (1, 2)) == (0, 0)
    assert padding_of((2,), (3, 5), (1, 2)) == (2, 2)


@pytest.mark.parametrize(("steps", "sequences"), [(4, 2), (12, 8), (32, 32), (2, 1)])
def test_sequences_get_shorter_step_by_step(steps, sequences):
    sizes = sizes_of(steps, sequences)
    assert len(sizes) == steps
    assert sizes[0] == sequences
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] >= 1


def test_a_packed_batch_has_each_step_of_each_sequence():
    sizes = np.array([3, 2, 1])
    data = np.arange(12.0).reshape(6, 2)
    made, lengths = padded(data, sizes)
    assert lengths.tolist() == [3, 2, 1]
    assert made[:, 0].tolist() == [[0, 1], [6, 7], [10, 11]]
    assert made[1:, 2].tolist() == [[0, 0], [0, 0]]
    again, state = packed((made, "state"), {"batch_sizes": sizes})
    assert again.tolist() == data.tolist()
    assert state == "state"


def test_bags_begin_at_even_distances():
    bags, with_end = offsets(5, 3), offsets(5, 3, last=True)
    assert (bags.shape, bags.strides) == ((5,), (3,))
    assert (with_end.shape, with_end.reach) == ((6,), 16)
