"""Contents of tensors: in their domain, of their dtype, the same every time."""

import gc
import weakref

import numpy as np
import pytest

from opperf.frameworks import drawings, fill
from opperf.frameworks.texts import TEXTS
from opperf.model import Fill, TensorSpec


def made(shape, dtype="float32", *, seed=0, **keywords):
    return fill.code(TensorSpec(shape, dtype, Fill(**keywords)), seed).run()


def test_the_same_spec_and_seed_give_the_same_data():
    assert np.array_equal(made((5, 7)), made((5, 7)))


def test_another_seed_gives_other_data():
    assert not np.array_equal(made((5, 7)), made((5, 7), seed=1))


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool"]
)
def test_the_dtype_is_the_one_asked_for(dtype):
    array = made((4, 3), dtype)
    assert array.dtype == np.dtype(dtype) and array.shape == (4, 3)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "bool"])
def test_whole_numbers_are_not_all_the_same(dtype):
    assert len(np.unique(made((1000,), dtype))) > 1


def test_uniform_stays_in_its_domain():
    array = made((1000,), distribution="uniform", low=1.1, high=3.0)
    assert array.min() >= 1.1 and array.max() < 3.0


def test_uniform_whole_numbers_stay_in_the_domain_if_it_has_some():
    assert set(np.unique(made((1000,), "int32", distribution="uniform", low=0.5, high=3.0))) <= {
        1,
        2,
    }


def test_integers_are_in_range_whatever_the_dtype():
    array = made((1000,), distribution="integers", low=2, high=9)
    assert array.dtype == np.float32
    assert set(np.unique(array)) == set(range(2, 9))


def test_permutations_are_permutations_of_every_row():
    assert all(sorted(row) == list(range(6)) for row in made((4, 6), distribution="permutation"))


@pytest.mark.parametrize(
    ("name", "low", "high", "expected"),
    [
        ("ascending", 0, 9, [0, 3, 6, 9]),
        ("ascending", 2, 2, [2, 2, 2, 2]),
        ("ascending", 9, 5, [9, 7, 6, 5]),
        ("parts", 0, 10, [2, 3, 2, 3]),
        ("parts", 0, 2, [0, 1, 0, 1]),
    ],
)
def test_numbers_that_are_decided_are_the_same_in_every_row(name, low, high, expected):
    array = made((2, 4), "int64", distribution=name, low=low, high=high)
    assert array.tolist() == [expected] * 2


@pytest.mark.parametrize("dtype", ["int64", "float32", "bool"])
def test_balanced_and_chosen_numbers_are_exactly_as_many(dtype):
    count = 2 if dtype == "bool" else 7
    array = made((10, 10), dtype, distribution="balanced", high=count)
    _, counts = np.unique(array, return_counts=True)
    assert len(counts) == count and counts.max() - counts.min() <= 1
    flags = made((10, 10), dtype, distribution="chosen", high=23)
    assert (flags != 0).sum() == 23 and not (flags.ravel()[:23] != 0).all()


def test_indices_are_anywhere_inside_their_windows_and_nowhere_outside():
    # Windows of three by two, two and three halves apart, the first one over the upper border.
    axes = [[8, 3, 2, 1, 1], [7, 2, 3, 2, 0]]
    array = made((50, 4, 4), "int64", distribution="windows", high=56, data=axes)
    assert array.shape == (50, 4, 4)
    rows, columns = np.unravel_index(array, (8, 7))
    for place, window in enumerate(((0, 1), (1, 2, 3), (3, 4, 5), (5, 6, 7))):
        assert sorted(set(rows[:, place].ravel())) == list(window)
    for place, window in enumerate(((0, 1), (1, 2), (3, 4), (4, 5))):
        assert sorted(set(columns[..., place].ravel())) == list(window)


@pytest.mark.parametrize("size", [20_000, 100_000])
def test_a_texts_words_are_as_often_as_one_by_their_rank(size):
    words = 1000
    array = made((size,), "int64", distribution="zipf", low=5, high=5 + words)
    counts = np.bincount(array - 5, minlength=words)
    ranked = np.sort(counts)[::-1] / size
    harmonic = (1 / np.arange(1, words + 1)).sum()
    expected = 1 / np.arange(1, 11) / harmonic
    assert array.min() >= 5 and len(counts) == words
    # Within five standard deviations.
    assert (abs(ranked[:10] - expected) < 5 * np.sqrt(expected / size)).all()
    # In another place for another seed, and not at the beginning.
    other = made((size,), "int64", seed=1, distribution="zipf", low=5, high=5 + words)
    assert counts.argmax() != np.bincount(other - 5).argmax() and counts.argmax() > 10


@pytest.mark.parametrize("form", TEXTS)
def test_texts_are_of_words_as_long_as_those_of_a_language(form):
    texts = made((1000,), "<U128", distribution="text", high=8.0, data=form)
    wholes, between = TEXTS[form].wholes, TEXTS[form].between
    extra = np.mean([len(whole.format("")) for whole in wholes])
    lengths = [len(text) - extra - 7 * len(between) for text in texts]
    assert 4 < np.mean(lengths) / 8 < 6
    assert len(set(texts)) > 800


def test_a_sequences_numbers_are_repeated():
    made_of = {"distribution": "sequence", "low": 3}
    assert made((7,), "int64", **made_of).tolist() == [0, 0, 0, 1, 1, 1, 2]
    assert made((7,), "int64", **made_of, high=2).tolist() == [0, 0, 0, 1, 1, 1, 0]


def test_padding_follows_each_rows_ones():
    mask = made((64, 1, 100), "bool", distribution="padded", low=0.5, high=1.0)
    ones = mask.sum(axis=-1)
    assert (np.sort(~mask, axis=-1) == ~mask).all()
    assert ones.min() >= 50 and ones.max() <= 100 and len(np.unique(ones)) > 10
    tokens = made((64, 100, 1), "bool", distribution="padded", low=0.5, high=1.0)
    assert (np.sort(~tokens, axis=1) == ~tokens).all()
    assert tokens.sum(axis=1).min() >= 50


def test_a_band_is_what_a_window_of_tokens_sees():
    mask = made((2, 4, 5), "bool", distribution="band", high=2)
    assert (mask[0] == mask[1]).all()
    seen = [[0], [0, 1], [1, 2], [2, 3]]
    assert [np.flatnonzero(row).tolist() for row in mask[0]] == seen


def test_odds_are_zeros_to_ones():
    array = made((100_000,), "int32", distribution="odds", low=99, high=1)
    assert set(np.unique(array)) == {0, 1}
    assert 0.008 < array.mean() < 0.012


def test_simplex_rows_sum_to_one():
    array = made((4, 6), distribution="simplex")
    assert array.min() > 0 and np.allclose(array.sum(axis=-1), 1)


def test_positive_definite_matrices_are_well_conditioned():
    array = made((3, 32, 32), distribution="positive_definite")
    values = np.linalg.eigvalsh(array.astype(np.float64))
    assert values.min() > 0.5 and values.max() / values.min() < 20


def test_positive_definite_matrices_are_square():
    with pytest.raises(ValueError, match="square"):
        made((3, 4), distribution="positive_definite")


def test_lower_triangular_matrices_can_be_solved_with():
    array = made((2, 16, 16), distribution="lower_triangular")
    assert np.array_equal(array, np.tril(array))
    assert np.linalg.cond(array).max() < 100


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_matrices_are_hermitian_or_triangular(dtype):
    array = made((3, 32, 32), dtype, distribution="positive_definite")
    values = np.linalg.eigvalsh(array)
    assert array.dtype == dtype and abs(array.imag).max() > 0.01
    assert np.allclose(array, array.conj().swapaxes(-1, -2), atol=1e-6)
    assert values.min() > 0.5 and values.max() / values.min() < 20
    lower = made((2, 16, 16), dtype, distribution="lower_triangular")
    assert np.array_equal(lower, np.tril(lower)) and abs(lower.imag).max() > 0.01


@pytest.mark.parametrize("shape", [(4096,), (300, 300)])
def test_uniform_complex_numbers_have_any_angle_and_a_modulus_in_range(shape):
    array = made(shape, "complex64", distribution="uniform", low=0.5, high=2.0)
    assert abs(array).min() > 0.5 - 1e-3 and abs(array).max() < 2.0 + 1e-3
    assert np.histogram(np.angle(array), 4, (-np.pi, np.pi))[0].min() > array.size / 8


def test_boxes_have_their_corners_in_order():
    array = made((50, 4), distribution="boxes", low=0.0, high=1.0)
    assert (array[:, :2] < array[:, 2:]).all() and array.min() >= 0 and array.max() <= 1


LONG = (600, 600)
"""A shape of more elements than are drawn, in which a row has several times fewer than a block."""

FILLS = {
    "normal": {"low": 1.0, "high": 2.0},
    "uniform": {"low": -1.0, "high": 2.0},
    "integers": {"low": -5, "high": 995},
    "boolean": {},
    "odds": {"low": 9, "high": 1},
    "signs": {},
}


@pytest.mark.parametrize("distribution", FILLS)
def test_no_row_of_a_long_tensor_is_made_of_others(distribution):
    matrix = made(LONG, "float64", distribution=distribution, **FILLS[distribution])
    assert np.linalg.matrix_rank(matrix) == LONG[0]


def test_rows_as_long_as_a_power_of_two_are_independent():
    assert np.linalg.cond(made((512, 512), "float64")) < 1e5


@pytest.mark.parametrize("distribution", drawings.SUMS)
def test_long_tensors_are_distributed_as_short_ones(distribution):
    """Their means, spreads and quantiles are the same within what that many draws differ by."""
    options = {"distribution": distribution, **FILLS[distribution]}
    long = made((drawings.DRAWN * 10,), "float64", **options)
    short = made((drawings.DRAWN,), "float64", **options)
    assert abs(long.mean() - short.mean()) < 5 * short.std() / np.sqrt(drawings.DRAWN / 2)
    assert long.std() == pytest.approx(short.std(), rel=0.02)
    if distribution not in ("boolean", "odds"):
        ordered = np.quantile(long, [0.1, 0.5, 0.9]), np.quantile(short, [0.1, 0.5, 0.9])
        np.testing.assert_allclose(*ordered, atol=0.1 * short.std())


@pytest.mark.parametrize(
    "lag", [1, drawings.LENGTH, drawings.LENGTH - drawings.TURN, 1 << 16, 1 << 18]
)
@pytest.mark.parametrize("distribution", drawings.SUMS)
def test_a_long_tensor_does_not_repeat(distribution, lag):
    numbers = made((1 << 19,), "float64", distribution=distribution, **FILLS[distribution])
    correlation = np.corrcoef(numbers[lag:], numbers[:-lag])[0, 1]
    assert abs(correlation) < (0.55 if distribution == "normal" else 0.02)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_long_whole_numbers_are_in_range(dtype):
    options = {"distribution": "integers", "low": 0, "high": 2 if dtype == "bool" else 7}
    assert set(np.unique(made(LONG, dtype, **options))) == set(range(int(options["high"])))


def test_long_whole_numbers_may_need_64_bits():
    numbers = made(LONG, "int64", distribution="integers", low=-(2**40), high=2**40)
    assert -(2**40) <= numbers.min() < -(2**39) and 2**39 < numbers.max() < 2**40


def test_a_long_uniform_tensor_is_in_its_domain():
    numbers = made((1 << 20,), distribution="uniform", low=0.0, high=1.0)
    assert 0 < numbers.min() < 1e-4 and 1 - 1e-4 < numbers.max() <= 1


def test_a_long_tensor_of_any_real_dtype_is_the_same_up_to_rounding():
    single = made(LONG)
    for dtype in ("float16", "float64", "bfloat16"):
        rounded = single if dtype == "bfloat16" else single.astype(dtype)
        np.testing.assert_array_equal(made(LONG, dtype), rounded)


def test_detections_have_classes_scores_and_boxes_that_overlap():
    array = made((2, 200, 6), distribution="detections", low=5.0, high=3.0)
    assert set(np.unique(array[..., 0])) <= set(range(5))
    assert array[..., 1].min() >= 0 and array[..., 1].max() < 1
    assert (array[..., 2:4] < array[..., 4:]).all()
    assert overlap(array[0, 0, 2:], array[0, array[0, :, 0] == array[0, 0, 0], 2:]).mean() > 0.3
    assert overlap(array[0, 0, 2:], array[1, :, 2:]).mean() < 0.3


def overlap(box, others):
    """The intersection over union of a box with each of others."""
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    both = sides.clip(min=0).prod(axis=-1)
    areas = [(boxes[..., 2:] - boxes[..., :2]).prod(axis=-1) for boxes in (box, others)]
    return both / (areas[0] + areas[1] - both)


def test_detections_of_no_class_have_a_score_and_a_box():
    array = made((4, 5), distribution="detections", low=5.0, high=3.0)
    assert (array[:, 1:3] < array[:, 3:]).all() and array[:, 0].max() < 1
    with pytest.raises(ValueError, match="at most 6 columns"):
        made((4, 7), distribution="detections", low=5.0, high=3.0)


def test_a_grid_has_columns_before_rows():
    array = made((2, 2, 3, 5), distribution="grid", low=0.5, high=0.0)
    np.testing.assert_allclose(array[1, 0], np.tile(np.linspace(-0.5, 0.5, 5), (3, 1)))
    np.testing.assert_allclose(array[0, 1, :, 2], [-0.5, 0.0, 0.5])
    beside = made((2, 3, 5, 2), distribution="grid", low=0.5, high=0.0, data="last")
    np.testing.assert_array_equal(beside, np.moveaxis(array, 1, -1))
    volume = made((1, 2, 3, 5, 3), distribution="grid", low=1.0, high=0.0, data="last")
    np.testing.assert_allclose(volume[0, 1, 0, 4], [1.0, -1.0, 1.0])


def test_coordinates_are_the_elements_own():
    rows, columns = (made((3, 5), distribution="coordinates", low=i, high=0.0) for i in (0, 1))
    assert rows[2].tolist() == [2] * 5 and columns[2].tolist() == [0, 1, 2, 3, 4]


def test_literal_data_is_itself():
    assert made((2,), "int64", distribution="literal", data=[3, 4]).tolist() == [3, 4]


def test_numbers_are_the_same_in_every_version():
    """Figures in users' files are of these numbers."""
    assert made((6,), "int32", seed=1).tolist() == [1, 0, -1, -4, -2, -4]
    np.testing.assert_allclose(made((3,), seed=1), [-1.286903, -0.8933553, 1.787485], rtol=1e-6)
    np.testing.assert_allclose(
        made((3,), "float64", seed=1, distribution="uniform", low=1.0, high=2.0),
        [1.432648, 1.822771, 1.854146],
        rtol=1e-6,
    )


DOMAIN = {"low": 0.0, "high": 4.0}
DTYPES = ("float16", "float32", "float64", "bfloat16", "int8", "uint8", "int64", "bool")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "distribution", [one for one in (*drawings.DRAWINGS, *drawings.WHOLE) if one != "text"]
)
def test_a_script_has_the_numbers_of_the_tensor(distribution, dtype):
    data = {"literal": np.arange(16.0).reshape(4, 4).tolist(), "windows": [[4, 2, 1, 1, 0]] * 2}
    shape = (2, 2, 2, 3) if distribution == "grid" else (4, 4)
    spec = TensorSpec(shape, dtype, Fill(distribution, **DOMAIN, data=data.get(distribution)))
    filled, shown = fill.code(spec, 3).run(), run(spec, 3)
    assert filled.dtype == shown.dtype and filled.tobytes() == shown.tobytes()
    assert filled.dtype.name == ("float32" if dtype == "bfloat16" else dtype)
    assert filled.shape == shown.shape == shape


@pytest.mark.parametrize("distribution", drawings.DRAWINGS)
def test_a_script_has_the_numbers_of_a_long_tensor(distribution):
    spec = TensorSpec((3, drawings.DRAWN), "float16", Fill(distribution, **DOMAIN))
    assert fill.code(spec, 0).run().tobytes() == run(spec, 0).tobytes()


def run(spec, seed):
    """What the lines of a script make."""
    scope, code = {"np": np}, fill.code(spec, seed)
    exec("\n".join([code.definition, *code.lines("tensor")]), scope)
    return scope["tensor"]


def test_a_tensor_without_axes_is_one_number():
    assert [made((), distribution=one).shape for one in drawings.ELEMENTWISE] == [()] * 9


def test_a_script_has_literals_that_are_no_finite_number():
    spec = TensorSpec((3,), "float64", Fill("literal", data=[np.inf, -np.inf, np.nan]))
    np.testing.assert_array_equal(run(spec, 0), [np.inf, -np.inf, np.nan])


def test_contents_that_only_a_caller_has_have_no_code():
    with pytest.raises(KeyError):
        made((2,), distribution="given")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_share_of_the_elements_is_missing(dtype):
    array = made((1000, 10), dtype, missing=0.1)
    assert array.dtype == np.dtype(dtype)
    assert 0.05 < np.isnan(array).mean() < 0.15
    assert np.array_equal(array, made((1000, 10), dtype, missing=0.1), equal_nan=True)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_share_of_the_elements_is_infinite_of_either_sign(dtype):
    array = made((1000, 10), dtype, infinite=0.2, missing=0.1)
    assert array.dtype == np.dtype(dtype)
    assert 0.05 < np.isposinf(array).mean() < 0.15
    assert 0.05 < np.isneginf(array).mean() < 0.15
    assert 0.05 < np.isnan(array).mean() < 0.15


def test_a_share_of_the_dates_is_missing():
    array = made((1000,), "datetime64[D]", distribution="integers", low=0, high=9, missing=0.2)
    assert array.dtype == np.dtype("datetime64[D]")
    assert 0.1 < np.isnat(array).mean() < 0.3


def test_no_whole_number_is_missing():
    some = made((100,), "int32", missing=0.5, infinite=0.5)
    assert np.array_equal(some, made((100,), "int32"))


def test_what_is_made_is_freed_without_a_search_for_cycles():
    """A function among the statements has the scope with the array, and is in it."""
    gc.collect()
    gc.disable()
    try:
        made = fill.code(TensorSpec((512, 512)), 0).run()
        kept = weakref.ref(made)
        del made
        assert kept() is None
    finally:
        gc.enable()
