"""Families of PyTorch's operators that pad, scale and transform: what their own logic makes of
shapes. They need no PyTorch."""

import msgspec
import pytest

from opperf.model import Kind, Operator, Parameter
from opperf.operations import OPERATIONS
from opperf.rules.configurations import inputs_of
from opperf.rules.families import transforms
from opperf.rules.shapes import prime_below
from opperf.rules.sizes import PRESETS
from opperf.rules.torch import creation, padding
from opperf.rules.torch.padding import flat_widths, widths
from opperf.rules.torch.transforms import upsample_arguments
from opperf.rules.values import COMPLEX, tensor, with_dtype

SMALL = PRESETS["small"]


def operator(name, *parameters, overload="default"):
    declared = tuple(Parameter(one, Kind.OTHER, required=False) for one in parameters)
    return Operator("torch", "aten", name, parameters=declared, overload=overload)


def test_widths_begin_with_the_last_axis():
    assert widths(4, (1, 2, 3, 4)) == ((0, 0), (0, 0), (3, 4), (1, 2))
    assert flat_widths(((0, 0), (0, 0), (3, 4), (1, 2))) == (1, 2, 3, 4)


def test_an_axis_between_padded_ones_has_widths_of_zero():
    assert flat_widths(((0, 0), (1, 1), (0, 0))) == (0, 0, 1, 1)


@pytest.mark.parametrize(("axes", "rank"), [(1, 3), (2, 4), (3, 5)])
def test_a_derivative_of_padding_has_a_wider_gradient(axes, rank):
    names = ("grad_output", "self", "padding")
    for made in padding.pad(operator(f"reflection_pad{axes}d_backward", *names), SMALL):
        inside, outside = made["self"].shape, made["grad_output"].shape
        width = made["padding"][0]
        assert len(inside) == rank
        assert outside[:2] == inside[:2]
        assert outside[2:] == tuple(extent + 2 * width for extent in inside[2:])
        # A mirror has no more rows than the picture beside the border.
        assert width < min(inside[2:])


def test_only_tensors_of_an_operators_axes_are_scaled():
    roles = {"data": tensor(1, 2, 8, 8), "output_size": (16, 16)}
    assert upsample_arguments(operator("upsample_nearest1d", "self"), roles) is None
    assert upsample_arguments(operator("upsample_nearest2d", "self"), roles) == {
        "self": roles["data"],
        "output_size": (16, 16),
    }


def test_factors_are_those_that_give_the_extents_exactly():
    called = operator("upsample_nearest2d", "input", "scale_factors", overload="vec")
    exact = {"data": tensor(1, 2, 8, 8), "output_size": (4, 12)}
    assert upsample_arguments(called, exact)["scale_factors"] == (0.5, 1.5)
    assert upsample_arguments(called, {**exact, "output_size": (9, 9)}) is not None
    by_extents = upsample_arguments(called, {**exact, "data": tensor(1, 2, 7, 7)})
    assert by_extents["scale_factors"] is None and by_extents["output_size"] == (4, 12)


@pytest.mark.parametrize(
    ("shape", "axes", "expected"),
    [((4, 8), (-1,), (4, 5)), ((4, 8), (0,), (3, 8)), ((2, 4, 6), (1, 2), (2, 4, 4))],
)
def test_half_a_spectrum_is_along_the_last_transformed_axis(shape, axes, expected):
    assert transforms.halved(shape, axes) == expected


def test_transforms_of_real_numbers_get_them():
    def dtypes(name):
        made = transforms.fourier_transform(OPERATIONS[f"{name}fourier_transform"], SMALL)
        return {one["x"].dtype for one in made}

    assert dtypes("real_") == {""}
    assert dtypes("inverse_real_") == {COMPLEX} and dtypes("") == {"", COMPLEX}


def test_a_prime_length():
    assert [prime_below(length) for length in (3, 8, 64, 1024)] == [2, 7, 61, 1021]


def test_a_window_has_the_parameters_of_its_overload():
    def shape(name, *parameters):
        (first, *_) = creation.window(operator(name, "window_length", *parameters), SMALL)
        made = inputs_of(first)
        return {key: value for key, value in made.items() if key != "window_length"}

    assert shape("hann_window") == {}
    assert shape("hann_window", "periodic") == {"periodic": False}
    assert (
        shape("kaiser_window", "periodic", "beta")["beta"] > shape("hamming_window", "beta")["beta"]
    )


def test_a_complex_tensor_takes_a_gradient():
    called = operator("fft_fft", "self")
    made = with_dtype(called, {"self": tensor(2, dtype="complex64")}, "float32")
    assert made["self"].gradient
    whole = msgspec.structs.replace(tensor(2), dtype="int64")
    assert not with_dtype(called, {"self": whole}, "float32")["self"].gradient
