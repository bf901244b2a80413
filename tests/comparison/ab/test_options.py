"""Thresholds of a session from its options."""

import pytest

from opperf.commands.ab import ab as command
from opperf.errors import UsageError
from opperf.requests.ab.resolving import choose_framework, resolve
from opperf.statistics.data import Thresholds


def resolved(*words):
    asked = command.request_of(command.make_context("ab", ["--framework", "numpy", *words]))
    return resolve(asked, print, None, "opperf ab")


def thresholds(*words):
    return resolved("--b", "env:X=1", *words).thresholds


def test_the_defaults_of_the_command_are_those_of_the_analysis():
    assert thresholds() == Thresholds()


@pytest.mark.parametrize(
    "words, cap",
    [
        ((), 6),
        (("--until-settled",), 24),
        (("--until-settled=6",), 6),
        (("--until-settled=50",), 50),
    ],
)
def test_the_most_blocks(words, cap):
    assert thresholds("--blocks", "6", *words).block_cap == cap


@pytest.mark.parametrize(
    "contrary, words",
    [
        ("--until-settled=11", "--until-settled 11 is below --blocks 12"),
        ("--same-within=1%", "--same-within 1% is below --threshold 2%"),
    ],
)
def test_contradictions(contrary, words):
    with pytest.raises(UsageError, match=words):
        thresholds(contrary)
    # A session that is resumed has its own.
    assert thresholds(contrary, "--resume")


def test_a_margin_of_the_same_may_be_the_threshold():
    assert thresholds("--same-within", "2%").same_within == 0.02


def test_what_counts_as_the_same_follows_the_threshold():
    found = thresholds("--threshold", "5%")
    assert (found.threshold, found.same_within) == (0.05, 0.1)


def test_an_arm_has_the_options_of_all_its_dtypes(monkeypatch):
    needed = {"float64": {"wide": "true"}}
    monkeypatch.setattr("opperf.sources.varying._options_by_dtype", lambda framework: needed)
    for dtypes, own, a, b in [
        ("float32,float64", "env:X=2", needed["float64"], needed["float64"]),
        ("float32", "dtype:float64", {}, needed["float64"]),
    ]:
        arms = resolved("--a", "env:X=1", "--b", own, "--dtype", dtypes).arms
        assert [one.options for one in arms.values()] == [a, b]
    arms = resolved("--a", "dtype:float64", "--a", "options:wide=no", "--b", "env:X=1").arms
    assert arms["A"].options == {"wide": "no"}


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("--a", "threads:1", "--b", "ops:numpy.exp"), "numpy"),
        (("--b", "env:torch==2.12"), "torch"),
        (("--a", "env:torch==2.12", "--b", "env:torch==2.13,numpy<2"), "torch"),
    ],
)
def test_arms_mention_their_framework(words, name):
    asked = command.request_of(command.make_context("ab", list(words)))
    assert choose_framework(asked).name == name
