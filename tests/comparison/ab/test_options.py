"""Thresholds of a session from its options."""

import pytest

from opperf.commands.ab import ab as command
from opperf.commands.ab.request import read_request
from opperf.comparison.statistics.data import Thresholds
from opperf.errors import UsageError

USUAL = command.make_context("ab", ["--framework", "numpy"]).params
"""The defaults of the command."""

ARMS = {"a": (), "b": ("env:X=1",)}


def thresholds(**options):
    return read_request(USUAL | ARMS | options, {}).thresholds


def test_the_defaults_of_the_command_are_those_of_the_analysis():
    assert thresholds() == Thresholds()


@pytest.mark.parametrize("until_settled, cap", [(None, 6), (0, 24), (6, 6), (50, 50)])
def test_the_most_blocks(until_settled, cap):
    assert thresholds(blocks=6, until_settled=until_settled).block_cap == cap


@pytest.mark.parametrize(
    "contrary, words",
    [
        ({"until_settled": 11}, "--until-settled 11 is below --blocks 12"),
        ({"same_within": 0.01}, "--same-within 1% is below --threshold 2%"),
    ],
)
def test_contradictions(contrary, words):
    with pytest.raises(UsageError, match=words):
        thresholds(**contrary)
    # A session that is resumed has its own.
    assert thresholds(**contrary, resume="")


def test_a_margin_of_the_same_may_be_the_threshold():
    assert thresholds(same_within=0.02).same_within == 0.02


def test_what_counts_as_the_same_follows_the_threshold():
    found = thresholds(threshold=0.05)
    assert (found.threshold, found.same_within) == (0.05, 0.1)


def test_an_arm_has_the_options_of_all_its_dtypes(monkeypatch):
    needed = {"float64": {"wide": "true"}}
    monkeypatch.setattr("opperf.sources.varying._options_by_dtype", lambda framework: needed)
    for dtypes, own, a, b in [
        (("float32", "float64"), "env:X=2", needed["float64"], needed["float64"]),
        (("float32",), "dtype:float64", {}, needed["float64"]),
    ]:
        arms = {"a": ("env:X=1",), "b": (own,)}
        found = read_request(USUAL | arms | {"dtype": dtypes}, {}).arms
        assert [one.options for one in found.values()] == [a, b]
    arms = {"a": ("dtype:float64", "options:wide=no"), "b": ("env:X=1",)}
    one = read_request(USUAL | arms, {}).arms["A"]
    assert one.options == {"wide": "no"}
