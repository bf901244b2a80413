"""Searches for regular expressions of users end."""

import re
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from opperf import matching
from opperf.matching import BoundedPattern, SlowPatternError
from opperf.programs.launching import parse_part


def test_a_search_finds_what_the_expression_finds():
    found = BoundedPattern(re.compile(r"loss: (?P<loss>\S+)")).search("step 1 loss: 0.5")
    assert found["loss"] == "0.5"


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|aa)+$", "a?" * 40 + "a" * 40])
def test_a_search_that_would_not_end_is_ended(pattern, monkeypatch):
    monkeypatch.setattr(matching, "MOST_S", 0.05)
    before = signal.getsignal(signal.SIGVTALRM)
    bounded = parse_part(f"line:{pattern}").pattern
    with pytest.raises(SlowPatternError, match="the regular expression .* takes more than 0.05 s"):
        bounded.search("a" * 39 + "!")
    assert signal.getsignal(signal.SIGVTALRM) == before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    assert bounded.search("") is None or pattern.endswith("$")


def test_a_search_of_another_thread_is_bounded_too(monkeypatch):
    monkeypatch.setattr(matching, "MOST_S", 0.05)
    usual, slow = (BoundedPattern(re.compile(text)) for text in (r"(?P<at>\d+)$", r"(a+)+$"))
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(usual.search, "step 12").result()["at"] == "12"
        with pytest.raises(SlowPatternError, match="takes more than 0.05 s"):
            pool.submit(slow.search, "a" * 39 + "!").result()
        assert pool.submit(usual.search, "\ud800 \n 3").result()["at"] == "3"
        assert pool.submit(usual.search, "none").result() is None
