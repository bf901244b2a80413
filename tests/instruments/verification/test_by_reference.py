"""Verification of cases by their canonical operations, by each framework."""

import pytest

from opperf.frameworks import is_available, load
from opperf.instruments.prepared import Bound
from opperf.model import (
    CallableTarget,
    Case,
    FileTarget,
    Fill,
    OperatorTarget,
    Settings,
    TensorSpec,
    VerificationCode,
)
from opperf.worker.measure import measure

USUAL = {"profiler": "python", "runs": 2, "warmup": 1, "memory": False, "verify": "reference"}

X = TensorSpec((40, 30), fill=Fill("normal", 0.0, 1.0), gradient=True)


def verified(target, arguments, passes=("forward",), function=None, **settings):
    if not is_available(target.framework):
        pytest.skip(f"{target.framework} is not installed")
    case = Case(target, arguments, Settings(**{**USUAL, **settings}), passes)
    bound = Bound(function=function) if function else Bound()
    return measure(case, load(target.framework), bound).verification


RELU = {
    "torch": OperatorTarget("torch", "relu", "default"),
    "jax": OperatorTarget("jax", "nn.relu"),
    "mxnet": OperatorTarget("mxnet", "relu"),
}


@pytest.mark.parametrize("framework", RELU)
def test_an_operator_and_its_gradient_are_right(framework):
    name = {"torch": "self", "jax": "x", "mxnet": "data"}[framework]
    found = verified(RELU[framework], {name: X}, ("forward", "backward"))
    assert found.line == "PASS" and found.compared == 2 and found.method == "slope"
    assert found.max_relative_error == 0.0


def altered(change):
    """A function in place of torch's relu."""

    def function(self):
        return change(self.relu())

    return function


@pytest.mark.parametrize(
    "change, text",
    [
        (lambda y: y * 1.001, "off by"),
        (lambda y: y + 1e-4, "off by"),
        (lambda y: y * 0, "off by"),
        (lambda y: y.mean().expand(y.shape), "off by"),
        (lambda y: y.flip(0), "off by"),
        (lambda y: y.bfloat16().float(), "off by"),
        (lambda y: y / (y != y.max()), "NaN or infinite"),
        (lambda y: y.double(), "dtype is float64, and its inputs' float32"),
        (lambda y: y.half(), "dtype is float16"),
        (lambda y: y.int(), "no integers"),
        (lambda y: y[:-1], "shape is (39, 30), and the operation's (40, 30)"),
        (lambda y: (y, y), "there are 2, and the operation has 1"),
    ],
)
def test_a_wrong_result_is_found(change, text):
    found = verified(RELU["torch"], {"self": X}, function=altered(change))
    assert found.is_wrong and text in found.reason, found.line


def test_a_wrong_gradient_is_found():
    passes = ("forward", "backward")

    def scaled(self):
        y = self.relu()
        return y.detach() + 1.01 * (y - y.detach())

    found = verified(RELU["torch"], {"self": X}, passes, function=scaled)
    assert found.is_wrong and found.failed == "gradient of self" and found.method == "slope"
    assert found.error > 10 * found.allowed


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_dtypes_have_their_own_rounding(dtype):
    spec = TensorSpec((64, 64), dtype, Fill("normal", 0.0, 1.0))
    inputs = {"self": spec, "mat2": spec}
    found = verified(OperatorTarget("torch", "mm", "default"), inputs, dtype=dtype)
    assert found.line == "PASS"


def test_inputs_that_tell_nothing_are_undecidable():
    target = OperatorTarget("torch", "isnan", "default")
    found = verified(target, {"self": X})
    assert found.code is VerificationCode.UNDECIDABLE and "zeros" in found.reason
    assert not found.is_wrong
    positive = TensorSpec((8, 8), fill=Fill("uniform", 1.0, 2.0))
    found = verified(OperatorTarget("torch", "sign", "default"), {"self": positive})
    assert found.code is VerificationCode.UNDECIDABLE and "mean" in found.reason
    # Where the operation is that number, nothing else would pass.
    assert verified(OperatorTarget("torch", "zeros_like", "default"), {"self": X}).line == "PASS"
    mask = verified(OperatorTarget("torch", "isfinite", "default"), {"self": X})
    assert mask.line == "PASS" and mask.method == "exact"


def test_a_function_is_verified_by_the_operator_that_it_calls():
    target = CallableTarget("torch", "torch.nn.functional.relu")
    assert verified(target, {"input": X}, ("forward", "backward")).line == "PASS"


def test_results_that_are_not_unique_have_a_property():
    found = verified(OperatorTarget("torch", "linalg_qr", "default"), {"A": TensorSpec((8, 5))})
    assert found.code is VerificationCode.PASS and "not unique" in found.reason

    def wrong(A):
        q, r = A.qr()
        return q, 1.01 * r

    target = OperatorTarget("torch", "linalg_qr", "default")
    assert verified(target, {"A": TensorSpec((8, 5))}, function=wrong).is_wrong


@pytest.mark.parametrize("share, code", [(0.5, "PASS"), (1.0, "UNDECIDABLE")])
def test_a_property_that_wrong_results_have_too_tells_nothing(share, code):
    """Draws of one value are no others than their mean; of two, any order is right."""
    shares = TensorSpec((64, 64), fill=Fill("constant", share))
    found = verified(OperatorTarget("torch", "bernoulli", "default"), {"self": shares})
    assert found.code.value == code
    assert "not unique" in found.reason or "the mean of its elements in its place" in found.reason


def test_a_large_reference_is_not_computed_and_said_so():
    sizes = {"input": TensorSpec((8, 64, 64, 64)), "weight": TensorSpec((64, 64, 3, 3))}
    found = verified(OperatorTarget("torch", "conv2d", "default"), sizes)
    assert found.code is VerificationCode.VERIFIER_SKIPPED and "--size small" in found.reason


def test_what_has_no_operation_is_skipped(tmp_path):
    file = tmp_path / "my.py"
    file.write_text("def f(x):\n    return x * 2\n")
    found = verified(FileTarget("torch", str(file), "f"), {"x": X})
    assert found.code is VerificationCode.VERIFIER_SKIPPED
    assert "no canonical operation is known" in found.reason


def test_complex_gradients_are_of_each_frameworks_convention():
    spec = TensorSpec((16, 12), "complex64", Fill("normal", 0.0, 1.0), gradient=True)
    passes = ("forward", "backward")
    for target, name in (
        (OperatorTarget("torch", "fft_fft", "default"), "self"),
        (OperatorTarget("jax", "jnp.fft.fft"), "a"),
    ):
        found = verified(target, {name: spec}, passes)
        assert found.line == "PASS" and found.compared == 2


def test_a_known_difference_passes_with_a_note():
    spec = TensorSpec((16, 12), fill=Fill("normal", 0.0, 1.0))
    found = verified(OperatorTarget("numpy", "fft.fft"), {"a": spec})
    assert found.line == "PASS: known difference: results are in double precision"


def test_gradients_of_a_half_of_a_matrix_are_along_symmetric_directions():
    spec = TensorSpec((8, 8), fill=Fill("positive_definite"), gradient=True)
    target = OperatorTarget("torch", "linalg_cholesky", "default")
    found = verified(target, {"self": spec}, ("forward", "backward"))
    assert found.line == "PASS" and found.method == "slope"


@pytest.mark.parametrize("error, is_wrong", [(1.5e-5, False), (1e-4, True)])
def test_a_compiled_mode_is_judged_beside_eager_mode(error, is_wrong):
    torch = pytest.importorskip("torch")

    def roughly(self):
        # Eager mode is off by a hundred roundings itself.
        return self.relu() * (1 + (error if torch.jit.is_tracing() else 1e-5))

    found = verified(RELU["torch"], {"self": X}, function=roughly, mode="script")
    assert found.is_wrong is is_wrong, found.line
    assert verified(RELU["torch"], {"self": X}, function=roughly).is_wrong


@pytest.mark.parametrize("error, is_wrong", [(0.0, False), (1e-8, True)])
def test_indices_beside_values_allow_these_no_more(error, is_wrong):
    spec = TensorSpec((40, 30), "float64", fill=Fill("normal", 0.0, 1.0))

    def function(self, dim):
        values, indices = self.max(dim)
        return values * (1 + error), indices

    target = OperatorTarget("torch", "max", "dim")
    found = verified(target, {"self": spec, "dim": 1}, function=function, dtype="float64")
    assert found.is_wrong is is_wrong, found.line


def test_results_in_mixed_precision_have_its_dtype():
    spec = TensorSpec((64, 64), fill=Fill("normal", 0.0, 1.0))
    target, inputs = OperatorTarget("torch", "mm", "default"), {"self": spec, "mat2": spec}
    assert verified(target, inputs, autocast="bfloat16").line == "PASS"

    def wrong(self, mat2):
        return self.mm(mat2) * 1.2

    assert verified(target, inputs, function=wrong, autocast="bfloat16").is_wrong

    def other(self, mat2):
        return self.mm(mat2).half()

    found = verified(target, inputs, function=other, autocast="bfloat16")
    assert found.is_wrong and "dtype is float16" in found.reason


PASSES = ("forward", "backward")


def test_a_gradient_that_no_direction_tells_does_not_count_as_verified():
    # Of equal elements the maximum has a kink in each direction.
    spec = TensorSpec((6, 6), fill=Fill("uniform", 1.0, 1.0 + 1e-9), gradient=True)

    def wrong(self):
        return self.amax().detach() + 0 * self.sum()

    target = OperatorTarget("torch", "amax", "default")
    found = verified(target, {"self": spec}, PASSES, function=wrong)
    assert found.compared == 1 and "gradient of self is not verified" in found.line


def test_gradients_that_no_reference_tells_are_named():
    spec = TensorSpec((8, 5), gradient=True)
    found = verified(OperatorTarget("torch", "linalg_qr", "default"), {"A": spec}, PASSES)
    assert found.compared == 1 and "gradients are not verified" in found.line
    matrix = TensorSpec((5, 5), fill=Fill("upper_triangular"), gradient=True)
    # It returns the matrix too, which no reference does.
    target = OperatorTarget("torch", "triangular_solve", "default")
    inputs = {"self": TensorSpec((5, 3), fill=Fill("normal", 0.0, 1.0), gradient=True)}
    found = verified(target, {**inputs, "A": matrix}, PASSES)
    assert found.code is VerificationCode.PASS, found.line
    assert "gradients are not verified" in found.line


def test_numpy_reads_its_own_arrays():
    spec = TensorSpec((30, 20), fill=Fill("normal", 0.0, 1.0))
    assert verified(OperatorTarget("numpy", "cumsum"), {"a": spec, "axis": 0}).line == "PASS"
