"""Damage of each sort to the input of each entrance, with a fixed seed: no command has an internal
error, hangs or dies. `python -m benchmarks.damage.mutations` does any number of them."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from tests.mutations import running
from tests.mutations.entrances import GROUPS

SMALL = get_context("forkserver")
"""Of processes in which only what commands need is imported: each command is a fork, which copies
the tables of all memory of its process, and what the frameworks of other tests have is much."""

SMALL.set_forkserver_preload([running.__name__])


@pytest.mark.parametrize(
    "of_bytes", [False, pytest.param(True, marks=pytest.mark.sweep)], ids=["content", "bytes"]
)
@pytest.mark.parametrize("group", GROUPS)
def test_damaged_input_is_one_line(group, of_bytes):
    for needed in ("yaml", "torch", "sqlalchemy", "starlette", "uvicorn"):
        pytest.importorskip(needed)
    with ProcessPoolExecutor(1, SMALL) as process:
        faults = process.submit(running.faults_of, group, of_bytes, seed="1").result()
    assert not faults, "\n".join(faults)
