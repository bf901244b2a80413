"""What a case is taken to need, against the sizes that NumPy has for its dtypes."""

import numpy as np
import pytest

from opperf.errors import UnsupportedError
from opperf.instruments.peaks import estimated_bytes, guard, tensor_bytes
from opperf.model import Case, OperatorTarget, Settings, TensorSpec

DTYPES = ("int8", "uint8", "bool", "float16", "float32", "int32", "float64", "int64", "complex64")


@pytest.mark.parametrize("dtype", [*DTYPES, "complex128", "datetime64[D]"])
def test_an_element_takes_what_it_does_in_numpy(dtype):
    assert tensor_bytes(TensorSpec((3, 5), dtype)) == np.zeros((3, 5), dtype).nbytes


def test_bfloat16_is_half_of_float32():
    assert tensor_bytes(TensorSpec((3, 5), "bfloat16")) == 30


def case(*shapes, dtype="float32", passes=("forward",)):
    arguments = {f"a{i}": TensorSpec(s, dtype, gradient=i == 0) for i, s in enumerate(shapes)}
    return Case(OperatorTarget("fake", "f"), arguments, Settings(dtype=dtype), passes)


def test_outputs_of_known_shapes_count_twice_in_the_dtype_that_was_asked_for():
    # Ten elements of input, and an output of six that comes with its workspace.
    assert estimated_bytes(case((10,), dtype="float64"), [(2, 3)]) == 8 * (10 + 2 * 6)
    assert estimated_bytes(case((10,), dtype="float16"), [(2, 3)]) == 2 * (10 + 2 * 6)


def test_outputs_of_unknown_shapes_are_as_large_as_the_largest_input():
    assert estimated_bytes(case((10,), (30,)), None) == 4 * (10 + 30 + 2 * 30)
    assert estimated_bytes(case(), None) == 0


def test_gradients_are_of_the_inputs_that_want_one_and_of_backward_passes():
    both = ("forward", "backward")
    assert estimated_bytes(case((10,), (30,), passes=both), []) == 4 * (10 + 30 + 10)


def test_the_figures_are_in_gibibytes(fake):
    fake.free = 2**29
    with pytest.raises(UnsupportedError, match=r"needs about 1\.5 GiB and cpu\(0\) has 0\.5 GiB"):
        guard(case((2**27,)), fake)
