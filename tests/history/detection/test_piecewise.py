"""asv's fit: pieces of hand-made data, those of another library, and the rule for a regression."""

import numpy as np
import pytest

from opperf.history.detection.piecewise import Piece, fit_pieces, regressions


def bounds(pieces: list[Piece]) -> list[int]:
    return [piece.start for piece in pieces[1:]]


def test_constant_values_are_one_piece():
    assert fit_pieces(np.full(20, 3.0)) == [Piece(0, 20, 3.0, 0.0)]
    assert fit_pieces(np.empty(0)) == []


def test_levels_are_medians_and_a_stray_point_is_no_piece():
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(10, 0.1, 30), rng.normal(12, 0.1, 30)])
    values[10] = 30.0
    first, second = [piece for piece in fit_pieces(values) if piece.end - piece.start > 1][-2:]
    assert second.start == 30
    assert first.level == pytest.approx(10, abs=0.1)
    assert second.level == pytest.approx(12, abs=0.1)


def test_pieces_are_those_of_ruptures_at_as_many_jumps():
    ruptures = pytest.importorskip("ruptures")
    rng = np.random.default_rng(2)
    levels = np.repeat([1.0, 1.5, 1.2, 2.0], 15)
    values = levels + 0.02 * rng.standard_normal(60)
    found = bounds(fit_pieces(values))
    theirs = ruptures.Dynp(model="l1", min_size=1, jump=1).fit_predict(values, len(found))[:-1]
    assert found == theirs == [15, 30, 45]


UP = [Piece(0, 10, 1.0, 0.01), Piece(10, 20, 1.2, 0.01)]


@pytest.mark.parametrize(
    ("pieces", "lower", "expected"),
    [
        (UP, True, 1),
        (UP, False, 0),
        ([*UP, Piece(20, 30, 1.0, 0.01)], True, 0),
        ([*UP, Piece(20, 30, 1.1, 0.01)], True, 1),
        ([UP[0], Piece(10, 20, 1.04, 0.01)], True, 0),
        ([UP[0], Piece(10, 20, 1.2, 0.3)], True, 0),
        ([UP[0], Piece(10, 11, 1.2, 0.0)], True, 0),
    ],
    ids=["up", "better", "taken back", "partly", "small", "within errors", "one commit"],
)
def test_rule(pieces: list[Piece], lower: bool, expected: int):
    assert len(regressions(pieces, lower)) == expected


def test_fit_does_not_depend_on_the_unit():
    values = np.repeat([1.0, 1.5], 10) + 0.01 * np.random.default_rng(3).standard_normal(20)
    for unit in (1e-200, 1e200):
        scaled = fit_pieces(values * unit)
        assert bounds(scaled) == bounds(fit_pieces(values)) == [10]
        assert scaled[0].level == pytest.approx(unit, rel=0.02)
