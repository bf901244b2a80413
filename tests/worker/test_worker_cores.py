"""On which cores a worker compiles."""

import os

import pytest

from opperf.machine.kernel import USABLE_CPUS
from opperf.worker.answers import on_usable_cores

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="a process has no affinity here"
)


def test_compilers_run_on_all_cores_that_opperf_may_use(monkeypatch):
    before = os.sched_getaffinity(0)
    one = {min(before)}
    monkeypatch.setenv(USABLE_CPUS, ",".join(map(str, before)))
    os.sched_setaffinity(0, one)
    try:
        with on_usable_cores():
            assert os.sched_getaffinity(0) == before
        assert os.sched_getaffinity(0) == one
        monkeypatch.delenv(USABLE_CPUS)
        with on_usable_cores():
            assert os.sched_getaffinity(0) == one
    finally:
        os.sched_setaffinity(0, before)
