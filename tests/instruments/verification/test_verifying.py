"""Verification of real models and operators, by each framework."""

from pathlib import Path

import pytest

from opperf.frameworks import is_available, load
from opperf.instruments.prepared import Bound
from opperf.model import (
    CallableTarget,
    Case,
    FileTarget,
    Fill,
    ModelTarget,
    ObjectTarget,
    OperatorTarget,
    Settings,
    Status,
    TensorSpec,
    VerificationCode,
)
from opperf.worker.measure import measure

FOLDER = Path(__file__).parents[2] / "models"
USUAL = {"profiler": "python", "runs": 2, "warmup": 1, "memory": False, "verify": True}


@pytest.fixture
def verified():
    """Measures a model of the framework's file, and returns the record."""

    def verified(framework, name="make", **settings):
        target = ModelTarget(framework, name, file=str(FOLDER / f"{framework}_models.py"))
        return recorded(target, {}, **settings)

    return verified


def recorded(target, arguments, passes=None, **settings):
    if not is_available(target.framework):
        pytest.skip(f"{target.framework} is not installed")
    own = Settings(**{**USUAL, **settings})
    both = ("forward", "backward") if own.phase == "train" else ("forward",)
    case = Case(target, arguments, own, passes or both)
    return measure(case, load(target.framework))


@pytest.mark.parametrize("framework, mode", [("jax", "jit"), ("mxnet", "hybridize")])
def test_an_honest_model_passes_and_one_that_is_wrong_by_a_percent_fails(verified, framework, mode):
    record = verified(framework, mode=mode, phase="train")
    assert record.status is Status.OK and {"forward", "step"} <= record.summaries.keys()
    found = record.verification
    assert found.code is VerificationCode.PASS and found.compared >= 6
    assert record.summaries["verification_max_rel_error"].median == found.max_relative_error
    name = "careless" if framework == "jax" else "Careless"
    wrong = verified(framework, name, mode=mode)
    assert wrong.status is Status.OK and "forward" in wrong.summaries
    assert wrong.verification.is_wrong and wrong.verification.failed == "output"
    assert wrong.verification.max_relative_error == pytest.approx(0.01, rel=1e-3)


def test_a_compiled_model_that_is_wrong_by_a_percent_fails(verified):
    found = verified("torch", "Careless", mode="compile:eager").verification
    assert found.is_wrong and found.method == "rmse"
    assert found.error > 100 * found.allowed


def test_each_run_has_the_same_random_numbers_and_the_state_of_the_beginning(verified):
    for framework, mode in (("torch", "script"), ("mxnet", "hybridize")):
        found = verified(framework, "dropping", mode=mode, phase="train").verification
        assert found.code is VerificationCode.PASS, found.line


def test_eager_mode_is_compared_with_itself_and_with_float64(verified):
    found = verified("torch", phase="train").verification
    assert found.code is VerificationCode.PASS and found.method == "exact"
    assert 0 < found.max_relative_error < 1e-4
    assert found.compared == 10


def test_eager_mode_that_differs_from_run_to_run_is_told(verified):
    found = verified("torch", "Drawing").verification
    assert found.code is VerificationCode.NONDETERMINISTIC_EAGER_RUN
    assert found.failed == "output" and not found.is_wrong


def test_without_a_run_in_float64_nothing_is_said_of_eager_mode(verified):
    found = verified("torch", "Single").verification
    assert found.code is VerificationCode.PASS and found.max_relative_error is None


OF_FUNCTIONS = """
import torch

def careless(x):
    return x * (1.01 if torch.jit.is_tracing() else 1.0)

def in_place(x):
    x += 1

def nothing(x):
    return None

def single(x):
    if x.dtype == torch.float64:
        raise TypeError("no float64 here")
    return x * (1.0 + 1e-3 * torch.jit.is_tracing())

def raises(x):
    if torch.jit.is_tracing():
        raise TypeError("cannot be traced")
    return x
"""

INPUTS = {"x": TensorSpec((8, 8), fill=Fill("uniform", 1.0, 2.0), gradient=True)}


@pytest.mark.parametrize(
    "mode, name, code, text",
    [
        ("script", "careless", "FAIL", "output: its root mean square error"),
        ("eager", "nothing", "VERIFIER_SKIPPED", "it returns neither arrays nor numbers"),
        ("script", "single", "PASS", "only by the cosine, without a run in float64: TypeError: no"),
        (
            "script",
            "raises",
            "VERIFIER_DIDNT_RUN",
            "TorchScript does not trace it: TypeError: cannot",
        ),
    ],
)
def test_functions(tmp_path, mode, name, code, text):
    file = tmp_path / "mine.py"
    file.write_text(OF_FUNCTIONS)
    target = FileTarget("torch", str(file), name)
    record = recorded(target, INPUTS, ("forward",), mode=mode)
    assert record.verification.code.value == code, record.verification.line
    assert text in record.verification.line


def test_the_arguments_that_a_call_changes_are_results(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(OF_FUNCTIONS)
    found = recorded(FileTarget("torch", str(file), "in_place"), INPUTS, ("forward",))
    assert found.verification.compared == 1 and found.verification.max_relative_error < 1e-6


def test_operators_have_gradients_and_layers_their_weights():
    tensor = TensorSpec((4, 8), gradient=True)
    record = recorded(
        OperatorTarget("torch", "relu", "default"), {"self": tensor}, ("forward", "backward")
    )
    assert record.verification.compared == 2 and record.verification.line == "PASS"
    layer = ObjectTarget("torch", "torch.nn.Linear", {"0": 8, "1": 4})
    record = recorded(layer, {"0": tensor}, ("forward", "backward"), dtype="float32")
    # The output, and the gradients of the input, the weight and the bias.
    assert record.verification.compared == 4 and record.verification.line == "PASS"
    assert 0 < record.verification.max_relative_error < 1e-5


def test_inputs_in_float64_are_those_that_were_rounded():
    tensor = TensorSpec((64,), "bfloat16")
    found = recorded(OperatorTarget("torch", "relu", "default"), {"self": tensor}, ("forward",))
    assert found.verification.max_relative_error == 0.0


def test_memory_that_is_not_written_is_no_result():
    arguments = {"size": (3,)}
    record = recorded(OperatorTarget("torch", "empty", "memory_format"), arguments, ("forward",))
    found = record.verification
    assert found.code is VerificationCode.VERIFIER_SKIPPED
    assert found.reason == "it returns memory that it does not write"


def test_without_the_option_nothing_is_verified(verified):
    assert verified("torch", verify=False).verification is None


def test_a_function_without_a_path_is_verified_in_its_own_process():
    bound = Bound(function=lambda x: [x + 1, 3, "text"])
    case = Case(
        CallableTarget("numpy", "somewhere.<lambda>"),
        {"x": TensorSpec((4,))},
        Settings(**USUAL),
        ("forward",),
    )
    found = measure(case, load("numpy"), bound).verification
    assert found.code is VerificationCode.PASS and found.compared == 2
