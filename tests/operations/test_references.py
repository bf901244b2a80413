"""References at small inputs whose results follow by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from opperf.operations import OPERATIONS
from opperf.rules.torch.operations.shapes import select_backward_roles


def compute(name: str, **roles: Any) -> Any:
    """What an operation makes of inputs by role."""
    return OPERATIONS[name].reference.compute(**roles)  # type: ignore[union-attr]


def test_a_negative_border_removes_rows() -> None:
    made = compute("pad", x=np.arange(4.0), widths=((-1, 2),), mode="constant")
    assert made.tolist() == [1.0, 2.0, 3.0, 0.0, 0.0]


def test_the_gradient_of_a_border_is_that_of_the_elements_it_repeats() -> None:
    made = compute("pad_gradient", gradient=np.ones(6), shape=(3,), widths=((2, 1),), mode="edge")
    assert made.tolist() == [3.0, 1.0, 2.0]


def test_a_negative_index_is_one_from_the_end() -> None:
    roles = select_backward_roles(np.ones(2), (3, 2), 0, -1)
    assert compute("slice_assign", **roles).tolist() == [[0, 0], [0, 0], [1, 1]]


def test_overlapping_frames_by_their_strides() -> None:
    made = compute("as_strided", x=np.arange(6), shape=(2, 3), strides=(2, 1), offset=1)
    assert made.tolist() == [[1, 2, 3], [3, 4, 5]]
    windows = compute("sliding_windows", x=np.arange(6), axis=0, size=3, step=2)
    assert windows.tolist() == [[0, 1, 2], [2, 3, 4]]


@pytest.mark.parametrize(
    ("align_corners", "expected"), [(False, [0, 1, 3, 4]), (True, [0, 4 / 3, 8 / 3, 4])]
)
def test_a_pair_of_pixels_becomes_four(align_corners: bool, expected: list[float]) -> None:
    made = compute(
        "upsample_linear",
        data=np.array([[[0.0, 4.0]]]),
        output_size=(4,),
        align_corners=align_corners,
    )
    assert made.ravel().tolist() == pytest.approx(expected)


@pytest.mark.parametrize("method", ["nearest", "linear", "cubic"])
def test_a_gradient_of_scaling_is_the_transposed_scaling(method: str) -> None:
    options = {} if method == "nearest" else {"align_corners": False}
    rng = np.random.default_rng(0)
    data, gradient = rng.normal(size=(1, 1, 5, 4)), rng.normal(size=(1, 1, 8, 3))
    scaled = compute(f"upsample_{method}", data=data, output_size=(8, 3), **options)
    back = compute(f"upsample_{method}_gradient", gradient=gradient, input_size=(5, 4), **options)
    assert (scaled * gradient).sum() == pytest.approx((data * back).sum())


def test_frames_give_the_signal_back() -> None:
    rng = np.random.default_rng(0)
    signal, window = rng.normal(size=(2, 64)), rng.uniform(0.5, 1.0, 16)
    spectra = compute("short_time_fourier_transform", x=signal, window=window, hop=4)
    assert spectra.shape == (2, 9, 17)
    back = compute("inverse_short_time_fourier_transform", x=spectra, window=window, hop=4)
    np.testing.assert_allclose(back, signal, atol=1e-12)


@pytest.mark.parametrize("count", [4, 5])
def test_frequencies_in_the_order_of_a_transform(count: int) -> None:
    made = compute("fourier_frequencies", count=count, spacing=0.5) * count * 0.5
    expected = {4: [0, 1, -2, -1], 5: [0, 1, 2, -2, -1]}[count]
    assert made.tolist() == pytest.approx(expected)


def test_draws_of_distinct_classes() -> None:
    pairs = OPERATIONS["random_distinct_categories"].reference.pairs  # type: ignore[union-attr]
    likely = np.array([[0.7, 0.1, 0.1, 0.1]])

    def holds(drawn: list[int]) -> bool:
        found = pairs([np.array([drawn])], probabilities=likely, count=2)
        return all(np.array_equal(one, other) for one, other in found)

    assert holds([0, 2])
    assert not holds([0, 0])
    assert not holds([1, 2])


def test_bits_of_whole_numbers_are_counted() -> None:
    numbers = np.array([0, 1, 6, -1], dtype=np.int32)
    assert compute("ones_in_bits", x=numbers).tolist() == [0, 1, 2, 32]
    assert compute("leading_zeros", x=numbers).tolist() == [32, 31, 29, 0]
    assert compute("exclusive_or", x=np.array([[1, 3], [4, 4]]), axis=1).tolist() == [2, 0]


def test_numbers_round_to_the_bits_of_half_precision() -> None:
    numbers = np.random.default_rng(0).normal(size=1000)
    made = compute("round_to_bits", x=numbers, exponent_bits=5, mantissa_bits=10)
    assert made.tolist() == numbers.astype(np.float16).tolist()
    # Below the least normal number, 2 ** -14.
    assert compute("round_to_bits", x=np.array([6e-5]), exponent_bits=5, mantissa_bits=10) == 0


def test_derivatives_of_a_gamma_distribution_by_the_series_of_its_probability() -> None:
    a, x, terms = np.array([1.0, 2.5]), np.array([0.5, 2.0]), np.arange(60)[:, None]
    shares = np.exp((a + terms) * np.log(x) - x - special.gammaln(a + terms + 1))
    series = (shares * (np.log(x) - special.digamma(a + terms + 1))).sum(0)
    assert compute("gammainc_derivative", a=a, x=x) == pytest.approx(series)
    sample = compute("gamma_sample_derivative", a=a, x=x)
    assert sample == pytest.approx(-series / stats.gamma.pdf(x, a))
