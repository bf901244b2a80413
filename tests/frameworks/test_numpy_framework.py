"""What NumPy has as a framework: arrays, devices, shapes of outputs, refusals."""

import numpy as np
import pytest

from opperf.errors import DeviceError, NoGradientError, UnsupportedError, UsageError
from opperf.frameworks import identity, load
from opperf.instruments.profilers import find_profilers
from opperf.model import Case, Fill, OperatorTarget, TensorSpec
from opperf.rules.values import fixed

FRAMEWORK = load("numpy")


def case(name, **arguments):
    return Case(OperatorTarget(framework="numpy", name=name), arguments)


@pytest.mark.parametrize("dtype", FRAMEWORK.dtypes)
def test_arrays_of_every_dtype(dtype):
    array = FRAMEWORK.tensor(TensorSpec((4, 5), dtype), "cpu(0)", 0)
    assert (array.dtype.name, array.shape) == (dtype, (4, 5))
    assert array.flags.c_contiguous and array.flags.writeable and array.flags.owndata


def test_a_complex_array_has_two_parts():
    array = FRAMEWORK.tensor(TensorSpec((100,), "complex64"), "cpu(0)", 0)
    assert np.std(array.imag) > 0.5
    assert not np.array_equal(array.real, array.imag)
    some = FRAMEWORK.tensor(TensorSpec((1000,), "complex64", Fill(real=0.25)), "cpu(0)", 0)
    assert some.dtype == np.complex64
    assert 0.15 < np.isreal(some).mean() < 0.35


@pytest.mark.parametrize(
    "spec, message",
    [
        (TensorSpec((4,), "bfloat16"), "no dtype bfloat16"),
        (TensorSpec((4,), layout="csr"), "no csr"),
    ],
)
def test_arrays_that_numpy_does_not_have(spec, message):
    with pytest.raises(UnsupportedError, match=message):
        FRAMEWORK.tensor(spec, "cpu(0)", 0)


def test_describe():
    array = np.arange(6.0).reshape(2, 3)
    spec = FRAMEWORK.arrays.describe(array)
    assert (spec.shape, spec.dtype, spec.fill.distribution) == ((2, 3), "float64", "given")
    assert FRAMEWORK.arrays.describe(array + 1).fill.digest != spec.fill.digest
    assert FRAMEWORK.arrays.describe([1, 2]) is None


def test_an_adopted_array_is_a_copy():
    array = np.zeros(3)
    adopted = FRAMEWORK.arrays.copy_to_device(
        array, TensorSpec((3,), "float64", Fill("given")), "cpu(0)"
    )
    adopted[0] = 1
    assert array[0] == 0


def test_nan_is_found_wherever_it_is():
    assert FRAMEWORK.arrays.has_nan([np.zeros(2), (np.ones(2), np.array([1, np.nan]))])
    assert FRAMEWORK.arrays.has_nan(np.float32("nan"))
    assert FRAMEWORK.arrays.has_nan(np.array([complex(0, float("nan"))]))
    assert not FRAMEWORK.arrays.has_nan((np.arange(3), None, "text", np.zeros(2)))


def test_devices():
    assert FRAMEWORK.devices() == ("cpu(0)",)
    assert FRAMEWORK.parse_device("cpu") == FRAMEWORK.parse_device(" CPU(0)") == "cpu(0)"
    for name in ("gpu", "gpu(1)", "cpu(1)"):
        with pytest.raises(DeviceError, match="CPU only"):
            FRAMEWORK.parse_device(name)
    with pytest.raises(UsageError):
        FRAMEWORK.parse_device("tpu")
    assert FRAMEWORK.memory.available("cpu(0)") > 0


def test_there_is_no_gradient():
    with pytest.raises(NoGradientError, match="does not compute gradients"):
        FRAMEWORK.gradients.gradient(case("add"), lambda: None, [])


def test_there_is_no_native_profiler():
    assert FRAMEWORK.profilers.own() == {}
    assert list(find_profilers(FRAMEWORK)) == ["python"]


@pytest.mark.parametrize(
    "one, shapes",
    [
        (case("add", x1=fixed(4, 1), x2=fixed(3)), [(4, 3)]),
        (case("frexp", x=fixed(4)), [(4,), (4,)]),
        (case("outer", a=fixed(4), b=fixed(5)), [(4, 5)]),
        (case("kron", a=fixed(4, 2), b=fixed(3)), [(4, 6)]),
        (case("zeros", shape=(2, 3)), [(2, 3)]),
        (case("random.normal", size=(2, 3)), [(2, 3)]),
        (case("add", x1=fixed(4), x2=fixed(3)), None),
        (case("matmul", x1=fixed(4, 4), x2=fixed(4, 4)), None),
        (case("linalg.inv", a=fixed(4, 4)), None),
    ],
)
def test_output_shapes(one, shapes):
    assert FRAMEWORK.inference.output_shapes(one) == shapes


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: np.add(np.zeros(3), np.zeros(4)), "ValueError: operands could not be broadcast"),
        (lambda: np.invert(np.zeros(3)), "TypeError: ufunc 'invert' not supported"),
        (lambda: np.add(np.zeros(3), "text"), "UFunc"),
        (lambda: np.linalg.inv(np.zeros((2, 2))), "LinAlgError: Singular matrix"),
        (lambda: np.sum(np.zeros(3), axis=5), "AxisError: axis 5 is out of bounds"),
        (lambda: np.take(np.zeros(3), 9), "IndexError"),
    ],
)
def test_a_refusal_is_one_line(call, words):
    with pytest.raises(Exception) as caught:  # noqa: B017, PT011
        call()
    message = FRAMEWORK.refusal(caught.value)
    assert words in message
    assert "\n" not in message
    assert not FRAMEWORK.build.unavailable.search(message)


def test_what_is_no_refusal():
    assert FRAMEWORK.refusal(RuntimeError("bad luck")) is None


def test_what_is_said_of_the_build():
    assert FRAMEWORK.version() == FRAMEWORK.build.versions()["numpy"] == np.__version__
    assert all(isinstance(value, bool) for value in FRAMEWORK.build.features().values())
    assert FRAMEWORK.naming.registered() >= len(FRAMEWORK.operators())
    assert "numpy" in identity("numpy")
