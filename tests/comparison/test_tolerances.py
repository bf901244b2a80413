"""Which tolerance a metric of a case has."""

import pytest

from opperf.comparison.tolerances import Tolerances, make_rule, parse_rule, tolerance_text
from opperf.errors import UsageError
from opperf.instruments.instructions import INSTRUCTIONS, INSTRUCTIONS_BACKWARD
from opperf.instruments.memory import MEMORY
from opperf.metrics import metrics_by_name

GRAPH_BREAKS = metrics_by_name()["graph_breaks"]
ALL = Tolerances(
    0.05,
    (
        make_rule("instructions", "1%"),
        make_rule("instructions_backward", "2%"),
        make_rule("instructions", "3% or 7", "conv*"),
        make_rule("memory", 8192, "re:^conv"),
    ),
)


@pytest.mark.parametrize(
    ("metric", "operator", "expected"),
    [
        (INSTRUCTIONS, "relu", "1% or 50 instructions"),
        (INSTRUCTIONS_BACKWARD, "relu", "2% or 50 instructions"),
        # An operator's tolerance is that of both passes, and comes before that of one pass.
        (INSTRUCTIONS, "Conv2d", "3% or 7 instructions"),
        (INSTRUCTIONS_BACKWARD, "conv2d", "3% or 7 instructions"),
        # The share of all metrics, beside the metric's own amount.
        (MEMORY, "relu", "5% or 4096 B"),
        (MEMORY, "conv2d", "8192 B"),
        (GRAPH_BREAKS, "relu", "5%"),
    ],
)
def test_the_rule_that_names_most_of_a_case_counts(metric, operator, expected):
    assert tolerance_text(ALL.of(metric, [operator])) == expected


def test_without_a_rule_a_metric_keeps_its_own():
    assert Tolerances().of(INSTRUCTIONS) == INSTRUCTIONS
    assert tolerance_text(GRAPH_BREAKS) == "0"


def test_of_two_rules_for_the_same_the_later_one_counts():
    rules = (make_rule("memory", "1%"), parse_rule("memory=9%"))
    assert tolerance_text(Tolerances(None, rules).of(MEMORY)) == "9% or 4096 B"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("instructions=1%", ("instructions", 0.01, None, "")),
        ("memory=0.02 or 64", ("memory", 0.02, 64.0, "")),
        ("graph_breaks = 2", ("graph_breaks", None, 2.0, "")),
        ("branches=0", ("branches", None, 0.0, "")),
        ("k.py:softmax:memory=0%", ("memory", 0.0, None, "k.py:softmax")),
        ("re:^a=b:memory=1%", ("memory", 0.01, None, "re:^a=b")),
    ],
)
def test_a_rule_as_an_option(text, rule):
    found = parse_rule(text)
    assert (found.metric, found.share, found.amount, found.operator) == rule


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("instructions", r"is not of the form \[OPERATOR:\]METRIC=TOLERANCE, e.g. instructions=1%"),
        (":memory=1%", "is not of the form"),
        ("memory=", "'' is not a tolerance; write 5% or 0.05"),
        ("memory=1% or 2%", "is not a tolerance"),
        ("memory=-1", "is not a tolerance"),
        ("memory=inf", "is not a tolerance"),
        ("instrctions=1%", "unknown metric 'instrctions'; did you mean instructions"),
        ("forward=1%", "forward has no tolerance, as it differs from run to run; the threshold"),
        ("re:(:memory=1%", "is not a regular expression"),
    ],
)
def test_what_is_no_rule(text, words):
    with pytest.raises(UsageError, match=words):
        parse_rule(text)


def test_a_command_names_operators_that_are_compared():
    Tolerances(None, (make_rule("memory", "1%", "conv2b"),)).check(["conv2d"])
    with pytest.raises(UsageError, match="--tolerance: .* 'conv2b'; did you mean conv2d?"):
        Tolerances(None, (parse_rule("conv2b:memory=1%"),)).check(["conv2d", "relu"])
