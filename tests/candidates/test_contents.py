"""Contents of inputs."""

from __future__ import annotations

import numpy as np
import pytest

from opperf.candidates.contents import nudged
from opperf.candidates.protocol import Layout, Place, decoded, encoded


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_a_nudge_is_one_rounding_of_the_dtype(dtype):
    random = np.random.default_rng(1)
    numbers = np.append(random.standard_normal(500), [0.0, 1.0, -2.0, np.nan])
    given = encoded(numbers, dtype)
    layout = Layout((Place(numbers.shape, dtype, 0),), ())
    made = nudged(layout, given, random)
    before, after = (decoded(data, dtype, numbers.shape)[:-1] for data in (given, made))
    integer = f"int{8 * given.size // numbers.size}"
    steps = np.abs(given.view(integer).astype(int) - made.view(integer).astype(int))[:-4]
    assert (before != after).all() and steps.max() == steps.min() == 1
    assert 0.3 < (after > before).mean() < 0.7
