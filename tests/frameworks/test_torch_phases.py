"""What autograd records in each phase of PyTorch's cases, and which gradients are computed."""

import msgspec
import pytest

torch = pytest.importorskip("torch")

from opperf.frameworks import load  # noqa: E402
from opperf.model import Case, OperatorTarget, Settings, Status, TensorSpec  # noqa: E402
from opperf.sources.call import UserCall  # noqa: E402
from opperf.worker.measure import measure  # noqa: E402

FRAMEWORK = load("torch")
FEW = Settings(profiler="python", warmup=1, runs=2, memory=False)


def layer_seen():
    """A layer, and what it has seen of each call."""
    seen = []

    class Layer(torch.nn.Linear):
        def forward(self, x):
            made = super().forward(x)
            seen.append((x.requires_grad, made.requires_grad, self.training))
            return made

    return Layer(4, 4), seen


def case_of(layer, backward, **settings):
    call = UserCall(FRAMEWORK, layer, [{"x": (2, 4)}], FEW, backward)
    (case,) = call.cases()
    changed = msgspec.structs.replace(case.settings, **settings)
    return msgspec.structs.replace(case, settings=changed), call.bound


@pytest.mark.parametrize(
    ("phase", "backward", "expected"),
    [
        ("predict", False, {(False, False, False)}),
        ("train", False, {(True, True, True)}),
        # The weights are recorded in each call, and the input in those of the backward pass.
        ("predict", True, {(False, True, False), (True, True, False)}),
        ("train", True, {(True, True, True)}),
    ],
)
def test_what_is_recorded(phase, backward, expected):
    layer, seen = layer_seen()
    case, bound = case_of(layer, backward, phase=phase)
    record = measure(case, FRAMEWORK, bound)
    assert record.status is Status.OK, record.reason
    assert set(seen) == expected


@pytest.mark.parametrize("name", ["add_", "add"])
def test_an_operator_in_the_training_phase(name):
    """One that writes to its input cannot be recorded, and is measured as it is."""
    case = Case(
        OperatorTarget("torch", name, "Tensor"),
        {"self": TensorSpec((4,), gradient=True), "other": TensorSpec((4,))},
        msgspec.structs.replace(FEW, phase="train"),
        passes=("forward",),
    )
    assert measure(case, FRAMEWORK).status is Status.OK
