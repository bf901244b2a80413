"""Damage of each sort to the input of each entrance, with a fixed seed: no command has an internal
error, hangs or dies. `python -m benchmarks.damage.mutations` does any number of them."""

from random import Random

import pytest

from tests.mutations import mutating
from tests.mutations.entrances import GROUPS
from tests.mutations.running import search

SEED = "1"


def kinds_of(entrance):
    """One kind of damage to bytes, and one to what they say."""
    drawn = Random(f"{SEED}/{entrance.name}")
    structure = [kind for kind in entrance.kinds if kind not in mutating.BYTES]
    return drawn.choice(sorted(mutating.BYTES.keys() & entrance.kinds)), drawn.choice(structure)


@pytest.mark.parametrize("group", GROUPS)
def test_damaged_input_is_one_line(group):
    for needed in ("yaml", "torch", "sqlalchemy", "starlette", "uvicorn"):
        pytest.importorskip(needed)
    found = [
        one
        for entrance in GROUPS[group]
        if not entrance.is_slow
        for one in search(entrance, SEED, kinds_of(entrance))
    ]
    assert not (faults := [one.report for one in found if one.outcome.fault]), "\n".join(faults)
