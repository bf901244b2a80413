"""Modes of PyTorch/XLA, by a module that stands for it: no release of it goes with this PyTorch."""

import os
import sys
from pathlib import Path

import pytest

from opperf.errors import UnsupportedError
from opperf.frameworks import is_available, load
from opperf.model import Status
from opperf.sources.choices import refusal
from opperf.worker.measure import measure
from tests.frameworks.test_running_models import model_case, results_of

pytestmark = pytest.mark.skipif(not is_available("torch"), reason="torch is not installed")

MODES = ("xla", "compile:openxla")


@pytest.fixture
def steps(monkeypatch):
    """Counts of what is asked of the stand-in."""
    from opperf.frameworks.torch import modes, xla

    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "stand_ins"))
    # What is set by the first use is removed at the end.
    monkeypatch.setenv(xla.RUNTIME, "")
    monkeypatch.delenv(xla.RUNTIME)
    caches = (xla._package, modes._start)
    for cached in caches:
        cached.cache_clear()
    import torch_xla

    torch_xla.steps.update(dict.fromkeys(torch_xla.steps, 0))
    yield torch_xla.steps
    for cached in caches:
        cached.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch_xla"]:
        del sys.modules[name]


@pytest.mark.parametrize("mode", MODES)
def test_without_the_package_a_mode_is_refused_with_what_to_install(mode):
    error = refusal(load("torch"), "mode", mode)
    assert isinstance(error, UnsupportedError)
    assert f"mode {mode}: it needs torch_xla, which is not installed" in str(error)
    assert mode not in str(refusal(load("torch"), "mode", "compil"))


@pytest.mark.parametrize("mode", MODES)
def test_a_step_ends_with_a_mark_and_samples_with_a_wait(steps, mode):
    assert refusal(load("torch"), "mode", mode) is None
    record = measure(model_case("torch", mode=mode, phase="train"), load("torch"))
    assert record.status is Status.OK, record.reason
    assert {"forward", "backward", "step", "optimizer"} <= record.summaries.keys()
    # A mark and a wait at the end of each of the samples of the four.
    assert steps["marked"] > steps["waited"] >= 4 * 3
    assert os.environ["PJRT_DEVICE"] == "CPU"
    assert bool(steps["compiled"]) == (mode == "compile:openxla")


def test_lazy_tensors_compute_what_eager_ones_do(steps):
    lazy, eager = (results_of(model_case("torch", mode=mode)) for mode in ("xla", "eager"))
    assert lazy.keys() == eager.keys()
    assert all((lazy[name] == eager[name]).all() for name in eager)


def test_nothing_waits_for_xla_after_such_a_case(steps):
    measure(model_case("torch", mode="xla"), load("torch"))
    waited = steps["waited"]
    measure(model_case("torch"), load("torch"))
    assert steps["waited"] == waited
