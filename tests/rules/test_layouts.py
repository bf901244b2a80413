"""NumPy's cases of views, and of data that its algorithms depend on."""

import numpy as np
import pytest

from opperf.dtypes import kind_of
from opperf.frameworks import load
from opperf.frameworks.numpy.tensors import view
from opperf.rules.engine import inputs_for, rules_module
from opperf.rules.numpy.layouts import FAMILIES, block
from opperf.rules.shapes import decimal_below, prime_below
from opperf.rules.sizes import PRESETS
from opperf.rules.values import every_other_column, tensor, transposed

NUMPY = load("numpy")
RULES = rules_module(NUMPY.rules)


def made(name, size="small"):
    return inputs_for(NUMPY.resolve(name), RULES, PRESETS[size], "float32")


def seen(spec, storage):
    return view(np.ascontiguousarray(storage).ravel(), spec)


def test_views_are_the_ones_they_say():
    whole = np.arange(6.0 * 8).reshape(6, 8)
    assert np.array_equal(seen(transposed(tensor(8, 6)), whole), whole.T)
    assert np.array_equal(seen(every_other_column(tensor(6, 4)), whole), whole[:, ::2])
    cube = whole.reshape(2, 3, 8)
    assert np.array_equal(seen(every_other_column(tensor(2, 3, 4)), whole), cube[..., ::2])
    assert np.array_equal(seen(block(tensor(4, 6)), whole), whole[1:-1, 1:-1])


@pytest.mark.parametrize("name", sorted(FAMILIES.derivations.keys() | FAMILIES.further.keys()))
def test_a_function_has_contiguous_arrays_and_views_in_the_dtype(name):
    inputs = made(name)
    strided = [
        any(spec.strides for spec in one.arguments.values() if hasattr(spec, "strides"))
        for one in inputs
    ]
    assert True in strided and False in strided
    for one in (one for one, is_view in zip(inputs, strided, strict=True) if is_view):
        assert one.why
        dtypes = {s.dtype for s in one.arguments.values() if hasattr(s, "dtype")}
        # NumPy 2 adds and compares texts too.
        assert dtypes == {"float32"} or {kind_of(dtype) for dtype in dtypes} == {"text"}


def test_a_matrix_is_added_to_its_own_transpose():
    (both,) = [one.arguments for one in made("add") if one.why.startswith("a with a.T")]
    assert both["x1"].storage == both["x2"].storage != ""
    assert both["x1"].shape == both["x2"].shape
    assert both["x2"].strides == (1, both["x1"].shape[0])


def test_transforms_have_a_power_of_two_a_round_number_and_a_prime():
    lengths = {one.arguments["a"].shape[-1] for one in made("fft.fft", "default")}
    assert {1024, 1000, 1021} <= lengths


@pytest.mark.parametrize(
    ("length", "prime", "decimal"), [(64, 61, 60), (1024, 1021, 1000), (4, 3, 3)]
)
def test_lengths_below_a_power_of_two(length, prime, decimal):
    assert (prime_below(length), decimal_below(length)) == (prime, decimal)


@pytest.mark.parametrize("name", ["nansum", "nanmean", "nanmax", "nancumsum", "nanquantile"])
def test_functions_that_ignore_nan_get_some(name):
    assert all(one.arguments["a"].fill.missing > 0 for one in made(name))


def test_phases_wrap():
    (one,) = made("unwrap")
    assert one.arguments["p"].fill.high - one.arguments["p"].fill.low > np.pi
