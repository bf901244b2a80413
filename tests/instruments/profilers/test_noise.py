"""What is said of samples that are not as they should be."""

import numpy as np
import pytest
from scipy.stats import kendalltau, norm

from opperf.instruments.profilers.noise import (
    DRIFT_Z,
    MAX_COMPARED,
    MIN_SAMPLES,
    _thinned,
    _trend,
    noise_notes,
)
from opperf.model import NOISE, REMOVED, UNRELIABLE, NoteCode


def steady(n=200, spread=0.01, seed=0):
    return np.random.default_rng(seed).normal(1000, 1000 * spread, n)


def messages(samples, precision):
    """The messages of the notes, one after the other."""
    return "; ".join(note.message for note in noise_notes("forward", samples, precision))


def said(samples, about, precision=0.02):
    """What is said about one thing; empty if nothing is."""
    parts = messages(list(samples), precision).split("; ")
    return next((part for part in parts if part.startswith(about)), "")


def test_nothing_is_said_of_steady_samples():
    said = [messages(steady(seed=seed).tolist(), 0.02) for seed in range(300)]
    # Mann and Kendall's test is wrong once in a thousand.
    assert sum(map(bool, said)) <= 2, [text for text in said if text]


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_is_said_of_too_few(n):
    assert messages([1000.0] * n, 0.02) == ""


@pytest.mark.parametrize(
    ("ratio", "change"),
    [(np.linspace(1, 1.39, 40), "+28.7%"), (np.linspace(1.39, 1, 40), "-22.3%")],
)
def test_a_drift_is_told_with_its_size(ratio, change):
    # From 1000 to 1390 ns in steps of 10: the medians of the outer quarters are 1045 and 1345.
    assert said(1000 * ratio, "drift") == f"drift: the last quarter is {change} from the first"


def test_a_drift_from_nothing_has_no_size():
    samples = [0.0] * 10 + list(range(1, 31))
    assert said(samples, "drift") == "drift: the first quarter is zero, and the last is not"


def test_a_drift_that_more_than_doubles_is_a_factor():
    assert said([1000.0] * 20 + [2000.0] * 20, "drift").endswith("is +100.0% from the first")
    samples = [1000.0] * 20 + [4900.0] * 20
    assert said(samples, "drift") == "drift: the last quarter is 4.9 times the first"


def test_no_percentage_is_above_100():
    wide = [3e3, 4e3, 4e3, 5e6, 7e6, 3.5e3, 4e3, 6e6, 4e3, 8e6]
    assert messages(wide, 0.02) == (
        "the median is unknown: its interval is wider than ±100 % after 10 samples"
    )
    assert "known to ±100.0%" in messages([1000.0, 2000.0, 4000.0], 0.02)
    assert "is unknown" in messages([0.0, 0.0, 0.0, 1.0, 2.0], 0.02)


def test_each_finding_is_a_note_of_its_own():
    notes = noise_notes("forward", [100e3] * 20 + [200e3] * 20, 0.02)
    assert [(note.metric, note.code) for note in notes] == [("forward", code) for code in NOISE]
    assert NoteCode.IMPRECISE not in UNRELIABLE
    # The others are about what else ran, and about what did not.
    assert set(UNRELIABLE) - set(NOISE) == {NoteCode.BUSY, *REMOVED}


def test_a_drift_is_told_from_what_does_not_matter():
    samples = [1000.0] * 20 + [1500.0] * 20
    assert said(samples, "drift", 0.49) == "drift: the last quarter is +50.0% from the first"
    assert said(samples, "drift", 0.5) == ""
    assert said(samples[::-1], "drift", 0.33) == "drift: the last quarter is -33.3% from the first"
    assert said(samples[::-1], "drift", 0.34) == ""


def test_a_drift_takes_twenty_samples_to_be_told():
    rising = [1000.0 + 20 * step for step in range(20)]
    assert said(rising, "drift") and not said(rising[1:], "drift")


@pytest.mark.parametrize("digits", [0, 3])
def test_the_trend_is_that_of_scipy(digits):
    draw = np.random.default_rng(5)
    drifts = 0
    for _ in range(200):
        n = int(draw.integers(MIN_SAMPLES, 120))
        trend = draw.choice([0.0, 0.5, 1.5]) * np.linspace(0, 1, n)
        array = np.round(draw.lognormal(0, 0.5, n) + trend, digits)
        expected = kendalltau(np.arange(n), array, method="asymptotic").pvalue
        assert 2 * norm.sf(abs(_trend(array))) == pytest.approx(expected, rel=1e-6)
        drifts += abs(_trend(array)) >= DRIFT_Z
    assert 30 < drifts < 170


def test_many_samples_are_compared_as_medians_of_neighbours():
    rising = np.arange(2 * MAX_COMPARED + 1.0)
    assert _thinned(rising[:MAX_COMPARED]).tolist() == rising[:MAX_COMPARED].tolist()
    assert _thinned(rising)[:2].tolist() == [1.0, 4.0] and len(_thinned(rising)) == 667
    # Equal values have no trend, and no variance either.
    assert _trend(np.ones(30)) == 0.0


def test_what_is_wide_is_not_a_drift():
    # The quarters of such samples differ by a third at times, without any trend.
    assert not any(said(steady(40, 0.3, seed), "drift") for seed in range(100))


def test_two_levels_are_told_with_their_places():
    samples = [100e3] * 30 + [150e3] * 10
    assert said(samples, "two levels") == (
        "two levels: 75% of the samples are around 100.0 us, the others around 150.0 us"
    )
    samples = [100e3, 101e3, 102e3] * 10 + [198e3, 200e3, 202e3] * 20
    assert said(samples, "two levels") == (
        "two levels: 33% of the samples are around 101.0 us, the others around 200.0 us"
    )


def pairs(apart, quick=10, slow=10):
    """Samples of two levels, each with a standard deviation of 1 us, this far apart."""
    return [99e3, 101e3] * quick + [99e3 + 1e3 * apart, 101e3 + 1e3 * apart] * slow


def test_levels_are_five_of_their_own_widths_apart():
    # Ashman's D of two levels of one width is their distance in standard deviations.
    assert said(pairs(5.1), "two levels", 0.001) and not said(pairs(4.9), "two levels", 0.001)


def test_the_width_is_that_of_both_levels():
    # Standard deviations of 4 and 0 us: their root mean square is 2.83 us, a fifth of 14.1 us.
    def samples(apart):
        return [96e3, 104e3] * 10 + [100e3 + 1e3 * apart] * 20

    assert said(samples(15), "two levels", 0.001) and not said(samples(13.5), "two levels", 0.001)


def test_levels_that_are_no_further_apart_than_the_precision_do_not_matter():
    samples = [1000.0] * 20 + [1010.0] * 21
    assert said(samples, "two levels", 0.009) and not said(samples, "two levels", 0.01)


def test_a_level_has_a_tenth_of_the_samples():
    for level in (1500.0, 500.0):
        assert said([1000.0] * 36 + [level] * 4, "two levels")
        assert not said([1000.0] * 37 + [level] * 3, "two levels"), "those are outliers"


def test_levels_take_twenty_samples_to_be_told():
    samples = [1000.0] * 10 + [2000.0] * 10
    assert said(samples, "two levels") and not said(samples[1:], "two levels")


@pytest.mark.parametrize("draw", ["normal", "uniform", "exponential"])
def test_one_level_is_not_two(draw):
    rng = np.random.default_rng(2)
    drawn = {
        "normal": lambda: rng.normal(1000, 200, 300),
        "uniform": lambda: rng.uniform(500, 1500, 300),
        "exponential": lambda: 1000 + rng.exponential(300, 300),
    }[draw]
    texts = [messages(drawn().tolist(), 0.02) for _ in range(50)]
    assert not any("two levels" in text for text in texts)


def test_the_cut_leaves_the_least_variance_within_its_parts():
    # Three clusters: which of the two gaps is the cut depends on how many there are in each.
    rng = np.random.default_rng(3)
    for _ in range(50):
        sizes = rng.integers(5, 15, 3)
        samples = np.sort(np.repeat([100e3, 400e3, 730e3], sizes) + rng.normal(0, 1e3, sum(sizes)))
        cuts = range(len(samples) // 10, len(samples) - len(samples) // 10 + 1)
        low, high = min(
            ((samples[:cut], samples[cut:]) for cut in cuts),
            key=lambda parts: sum(len(part) * part.var() for part in parts),
        )
        text = said(samples, "two levels", 0.0)
        apart = (high.mean() - low.mean()) / np.sqrt((low.var() + high.var()) / 2)
        assert bool(text) == (apart > 5)
        if text:
            assert f"{low.mean() / 1e3:.1f} us" in text and f"{high.mean() / 1e3:.1f} us" in text


def test_an_interval_that_is_too_wide_is_told():
    text = messages(steady(20, 0.3).tolist(), 0.02)
    assert "not to ±2.0% after 20 samples" in text


def test_an_interval_is_told_from_two_samples_on():
    assert messages([1000.0, 2000.0], 0.02) == (
        "the median is known to ±33.3%, not to ±2.0% after 2 samples"
    )
    assert messages([1000.0, 2000.0, 3000.0], 0.5) == ""
    assert messages([1000.0, 2000.0, 3000.0], 0.49) == (
        "the median is known to ±50.0%, not to ±49.0% after 3 samples"
    )


def test_all_that_is_odd_is_told():
    told = messages([100e3] * 20 + [200e3] * 20, 0.02).split("; ")
    assert [part.split(":")[0].split(" is ")[0] for part in told] == [
        "drift",
        "two levels",
        "the median",
    ]
