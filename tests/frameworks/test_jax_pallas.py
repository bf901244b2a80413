"""Pallas kernels by their path, interpreted where the device is a CPU."""

import pytest

from opperf.frameworks import load
from tests.conformance.driver import cheaply, found_in, judge, planned

pytest.importorskip("jax")


@pytest.mark.parametrize("kernel", ["softmax.softmax", "attention.mha"])
def test_a_kernel_runs_on_its_inputs(kernel):
    framework = load("jax")
    path = f"jax.experimental.pallas.ops.gpu.{kernel}"
    (case,) = planned("jax", "small", (path,), "float32")
    assert "interpreted" in case.why
    with cheaply(framework):
        assert not list(found_in([judge(case, framework)]))
