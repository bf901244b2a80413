"""What is differentiated, as the user chooses."""

import re

import pytest

from opperf.errors import UsageError
from opperf.frameworks import is_available, load
from opperf.model import Settings
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection
from opperf.sources.varying import with_settings
from opperf.worker.measure import measure

FEW = {"profiler": "python", "warmup": 0, "runs": 1, "memory": False, "threads": None}

PRODUCTS = {
    "torch": ("matmul", ("self", "other")),
    "jax": ("jnp.matmul", ("a", "b")),
    "mxnet": ("broadcast_mul", ("lhs", "rhs")),
}


def planned(framework, name, grad, **changes):
    settings = Settings(
        device=framework.devices()[0], mode=framework.modes.names[0], grad=grad, **FEW
    )
    selection = Selection(
        patterns=(name,), size="small", configurations=1, settings=settings, **changes
    )
    return plan(framework, selection).cases


def gradients_of(case):
    return {name for name, spec in case.tensors() if spec.gradient}


@pytest.mark.parametrize("name", PRODUCTS)
def test_the_named_arguments_are_differentiated(name):
    if not is_available(name):
        pytest.skip(f"{name} is not installed")
    framework = load(name)
    product, (first, second) = PRODUCTS[name]
    (plain,), (one,) = (planned(framework, product, grad) for grad in ("", second))
    assert (gradients_of(plain), gradients_of(one)) == ({first, second}, {second})
    assert plain.id != one.id
    assert with_settings(plain, {"grad": second}).id == one.id
    assert "backward" in measure(one, framework).summaries
    wrong = f"--grad {second}x: {one.label} has no argument"
    with pytest.raises(UsageError, match=re.escape(wrong)) as refused:
        planned(framework, product, f"{first},{second}x")
    assert "did you mean" in str(refused.value) or len(second) < 3
    with pytest.raises(UsageError, match="--no-backward"):
        planned(framework, product, first, backward=False)


def test_parameters_of_a_module_are_differentiated(tmp_path):
    torch = pytest.importorskip("torch")
    framework = load("torch")
    path = tmp_path / "own.py"
    path.write_text(
        "import torch\nlinear = torch.nn.Linear(4, 4)\ndef make():\n"
        "    return {'input': torch.ones(2, 4)}\n"
    )
    from opperf.instruments.prepared import PreparedCase, case_scope

    counts = {}
    for grad in ("", "weight", "input", "weight,bias,input"):
        settings = Settings(device="cpu(0)", grad=grad, input_function=f"{path}:make", **FEW)
        (case,) = plan(framework, Selection(patterns=(f"{path}:linear",), settings=settings)).cases
        with case_scope(case, framework):
            gradient = PreparedCase(case, framework).make_gradient()
            gradient.record()
            counts[grad] = [tuple(one.shape) for one in gradient.read(gradient.backward())]
    assert counts[""] == counts["weight,bias,input"] == [(2, 4), (4, 4), (4,)]
    assert (counts["weight"], counts["input"]) == ([(4, 4)], [(2, 4)])
    assert torch.is_grad_enabled()


def test_only_operators_without_such_a_case_are_excluded():
    pytest.importorskip("torch")
    settings = Settings(device="cpu(0)", grad="bias", **FEW)
    made = plan(load("torch"), Selection(patterns=("conv2d", "relu"), settings=settings))
    assert {case.label for case in made.cases} == {"conv2d", "conv2d.padding"}
    assert made.excluded == {"relu": "it has no argument 'bias' that takes a gradient"}


def test_numpy_has_no_gradients():
    with pytest.raises(UsageError, match="--grad a has no effect with numpy"):
        planned(load("numpy"), "dot", "a")
