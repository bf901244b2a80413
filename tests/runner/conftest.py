"""The fake framework of `tests/fake`, in this process and for workers."""

import os
import sys
from pathlib import Path

import pytest

from opperf.model import Case, OperatorTarget, Settings, TensorSpec
from opperf.runner.pool import Worker

FAKE = Path(__file__).resolve().parents[1] / "fake"
sys.path.insert(0, str(FAKE))


@pytest.fixture
def fake():
    from fake_framework import FakeFramework

    return FakeFramework()


@pytest.fixture
def make_case():
    def made(name, shape=(4, 4), passes=("forward",), dtype="float32", arguments=None, **settings):
        data = TensorSpec(shape, dtype, gradient=True)
        return Case(
            target=OperatorTarget("fake", name),
            arguments={"data": data} if arguments is None else arguments,
            settings=Settings(dtype=dtype, **{"warmup": 1, "runs": 3} | settings),
            passes=passes,
        )

    return made


@pytest.fixture
def variables():
    """Environment of a process whose opperf finds the fake framework as an installed one."""
    paths = [str(FAKE), str(FAKE.parents[1]), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


@pytest.fixture
def worker(variables):
    with Worker("fake", environment=variables) as made:
        yield made
