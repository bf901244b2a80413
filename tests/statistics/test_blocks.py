"""Effects of blocks."""

import msgspec
import numpy as np
import pytest

from opperf.statistics.blocks import cases_of, effects
from opperf.statistics.data import Replicate


def block(order, values, number=0, phase="comparison", case="x"):
    return [
        Replicate(phase, number, position, arm, {case: value})
        for position, (arm, value) in enumerate(zip(order, values, strict=True))
    ]


def test_an_effect_is_the_mean_of_b_less_the_mean_of_a():
    replicates = block("ABBA", [1.0, 2.0, 4.0, 3.0]) + block("BAAB", [5.0, 1.0, 2.0, 6.0], 1)
    assert effects(replicates, "comparison", ["x"]).values.tolist() == [[1.0, 4.0]]


@pytest.mark.parametrize("order", ["ABBA", "BAAB"])
def test_a_steady_drift_cancels(order):
    replicates = block(order, [0.1, 0.2, 0.3, 0.4])
    assert effects(replicates, "comparison", ["x"]).values[0, 0] == pytest.approx(0.0, abs=1e-12)


def test_phases_are_kept_apart():
    replicates = block("ABBA", [0, 1, 1, 0]) + block("ABBA", [0, 9, 9, 0], phase="control")
    assert effects(replicates, "control", ["x"]).values.tolist() == [[9.0]]
    assert effects(replicates, "comparison", ["x"]).values.tolist() == [[1.0]]
    assert effects(replicates[:4], "control", ["x"]).values.shape == (1, 0)


@pytest.mark.parametrize("number", [0, 2])
def test_a_block_that_was_not_finished_is_left_out(number):
    replicates = block("ABBA", [0, 1, 1, 0], 1) + block("ABBA", [0, 9, 9, 0], number)[:3]
    assert effects(replicates, "comparison", ["x"]).values.tolist() == [[1.0]]


def test_it_does_not_matter_in_which_order_replicates_are_given():
    replicates = block("ABBA", [0, 1, 3, 0]) + block("BAAB", [5, 0, 0, 4], 1)
    for order in (replicates[::-1], replicates[4:] + replicates[:4], replicates[::3]):
        shuffled = [*order, *(one for one in replicates if one not in order)]
        assert effects(shuffled, "comparison", ["x"]).values.tolist() == [[2.0, 4.5]]


def test_replicates_from_a_file_are_as_those_that_were_made():
    replicates = block("ABBA", [0, 1, 1, 0], phase="control") + block("BAAB", [2, 0, 0, 2])
    read = msgspec.json.decode(msgspec.json.encode(replicates), type=list[Replicate])
    assert effects(read, "control", ["x"]).values.tolist() == [[1.0]]
    assert effects(read, "comparison", ["x"]).values.tolist() == [[2.0]]


@pytest.mark.parametrize("gone", [{}, {"x": float("nan")}])
def test_a_case_that_failed_once_is_missing_from_that_block_only(gone):
    replicates = block("ABBA", [0, 1, 1, 0]) + block("ABBA", [0, 2, 2, 0], 1)
    replicates[1] = Replicate("comparison", 0, 1, "B", {**gone, "y": 1.0})
    assert cases_of(replicates) == ("x", "y")
    np.testing.assert_array_equal(
        effects(replicates, "comparison", ["x", "y"]).values, [[np.nan, 2.0], [np.nan, np.nan]]
    )


def test_the_resolution_is_the_smallest_step_between_values():
    replicates = block("ABBA", [1.0, 1.5, 1.5, 1.0]) + block("BAAB", [1.75, 1.0, 3.0, 1.5], 1)
    assert effects(replicates, "comparison", ["x"]).resolution.tolist() == [0.25]
    assert effects(block("ABBA", [1.0] * 4), "comparison", ["x"]).resolution.tolist() == [0.0]


def test_each_case_has_its_resolution_and_missing_values_are_no_step():
    replicates = [
        Replicate("comparison", 0, position, arm, {"x": x, "y": y, "z": 2.0})
        for position, (arm, x, y) in enumerate(
            zip("ABBA", [4.0, 1.0, np.nan, 2.0], [8.0, 0.0, 8.0, 0.0], strict=True)
        )
    ]
    found = effects(replicates, "comparison", ["x", "y", "z"])
    assert found.resolution.tolist() == [1.0, 8.0, 0.0]


def test_without_blocks_there_is_nothing_of_any_case():
    found = effects([], "comparison", ["x", "y"])
    assert (found.values.shape, found.resolution.tolist()) == ((2, 0), [0.0, 0.0])


def test_two_replicates_in_one_place_are_refused():
    replicates = block("ABBA", [0, 1, 1, 0])
    with pytest.raises(ValueError, match="comparison block 0, position 3"):
        effects([*replicates, replicates[3]], "comparison", ["x"])


def test_an_unbalanced_block_is_refused():
    with pytest.raises(ValueError, match="ABAB"):
        effects(block("ABAB", [0, 1, 0, 1]), "comparison", ["x"])


def test_a_block_of_five_processes_is_refused():
    with pytest.raises(ValueError, match="ABBAB"):
        effects(block("ABBAB", [0, 1, 1, 0, 1]), "comparison", ["x"])


def test_a_process_that_has_both_arms_is_a_block():
    def both(block, a, b):
        return [
            Replicate("comparison", block, 0, arm, {"x": value})
            for arm, value in (("A", a), ("B", b))
        ]

    alone = Replicate("comparison", 2, 0, "A", {"x": 1.0})
    found = effects([*both(0, 1.0, 1.5), *both(1, 4.0, 4.25), alone], "comparison", ["x"])
    assert found.values.tolist() == [[0.5, 0.25]]
