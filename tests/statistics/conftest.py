"""Sessions made by hand or drawn from a seed."""

import numpy as np
import pytest

from opperf.statistics.data import Replicate
from opperf.statistics.design import block_order


def constant_blocks(phase, blocks, a, b):
    """Returns the blocks of a phase in which an arm gives the same values every time."""
    values = {"A": a, "B": b}
    return [
        Replicate(phase, block, position, arm, dict(values[arm]))
        for block in range(blocks)
        for position, arm in enumerate(block_order(0, phase, block))
    ]


def _noisy(phase, blocks, effect, seed=0, sd=0.01):
    rng = np.random.default_rng([*np.atleast_1d(seed), *phase.encode()])
    replicates = []
    for block in range(blocks):
        for position, arm in enumerate(block_order(seed, phase, block)):
            noise = rng.normal(0, sd, len(effect))
            values = {
                case: (size if arm == "B" else 0.0) + float(luck)
                for (case, size), luck in zip(effect.items(), noise, strict=True)
            }
            replicates.append(Replicate(phase, block, position, arm, values))
    return replicates


@pytest.fixture
def constant():
    """As `constant_blocks`."""
    return constant_blocks


@pytest.fixture
def noisy():
    """Makes the blocks of a phase with normal noise around each case's effect."""
    return _noisy


@pytest.fixture
def no_effect():
    """Two hundred cases in which B is as A."""
    return {f"case{number:03d}": 0.0 for number in range(200)}
