"""Calls of a user's layer that are recorded."""

from contextlib import contextmanager
from pathlib import Path

import pytest

from opperf.model import Case, ObjectTarget, Settings, TensorSpec
from opperf.recording.programs import call
from opperf.worker.measure import measure

FILE = str(Path(__file__).parents[1] / "models" / "torch_states.py")


class Session:
    """Stands for a recording, and counts its steps."""

    def __init__(self):
        self.steps, self.ended, self.is_interrupted = self, 0, False

    def mark(self):
        assert not self.is_interrupted

    def end(self, owner):
        self.ended += 1

    @contextmanager
    def interrupted(self):
        self.is_interrupted = True
        yield
        self.is_interrupted = False


@pytest.mark.parametrize("passes", [("forward",), ("forward", "backward")])
@pytest.mark.parametrize("name", ["Full", "Limited"])
def test_each_step_has_what_a_layer_keeps_as_at_first(name, passes):
    torch = pytest.importorskip("torch")
    from opperf.frameworks import load

    framework = load("torch")
    settings = Settings(profiler="python", runs=3, warmup=1, memory=False)
    target = ObjectTarget("torch", name, {}, FILE)
    inputs = {"x": TensorSpec((3, 4), gradient="backward" in passes)}
    case = Case(target, inputs, settings, passes)
    session = Session()
    call(framework, [case], session, 3)
    assert session.ended == 3
    record = measure(case, framework)
    assert record.status.value == "ok", record.reason
    assert len(record.samples["forward"]) == 3
    assert torch.is_grad_enabled()
