"""Thresholds of a session from its options."""

import pytest

from opperf.commands.ab import ab as command
from opperf.compare.ab.options import options_from, thresholds_from
from opperf.compare.statistics.data import Thresholds
from opperf.errors import UsageError

USUAL = command.make_context("ab", ["--framework", "numpy"]).params
"""The defaults of the command."""


def test_the_defaults_of_the_command_are_those_of_the_analysis():
    assert thresholds_from(USUAL) == Thresholds()


@pytest.mark.parametrize("until_settled, cap", [(None, 6), (0, 24), (6, 6), (50, 50)])
def test_the_most_blocks(until_settled, cap):
    options = USUAL | {"blocks": 6, "until_settled": until_settled}
    assert thresholds_from(options).block_cap == cap


@pytest.mark.parametrize(
    "contrary, words",
    [
        ({"until_settled": 11}, "--until-settled 11 is below --blocks 12"),
        ({"same_within": 0.01}, "--same-within 1% is below --threshold 2%"),
    ],
)
def test_contradictions(contrary, words):
    with pytest.raises(UsageError, match=words):
        thresholds_from(USUAL | contrary)
    # Before anything is said or started.
    with pytest.raises(UsageError, match=words):
        options_from(USUAL | contrary, {})


def test_a_margin_of_the_same_may_be_the_threshold():
    assert thresholds_from(USUAL | {"same_within": 0.02}).same_within == 0.02


def test_what_counts_as_the_same_follows_the_threshold():
    found = thresholds_from(USUAL | {"threshold": 0.05})
    assert (found.threshold, found.same_within) == (0.05, 0.1)
