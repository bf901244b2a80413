"""Which cases may have NaN or infinity."""

import pytest

from opperf.model import CallableTarget, Case, OperatorTarget
from opperf.rules.deviations import NotFinite, may_lack_numbers

LISTED = {"negative": NotFinite("unwritten"), "relu": NotFinite("unwritten", {"act_type": "rrelu"})}


@pytest.mark.parametrize(
    "name, arguments, may",
    [
        ("negative", {"shape": 3}, True),
        ("relu", {"act_type": "rrelu", "slope": 0.5}, True),
        ("relu", {"act_type": "elu"}, False),
        ("relu", {}, False),
        ("add", {"shape": 3}, False),
    ],
)
def test_operators_are_listed_by_name_and_arguments(fake, name, arguments, may):
    case = Case(OperatorTarget("fake", name), arguments)
    assert may_lack_numbers(case, fake, LISTED) is may


def test_a_function_is_listed_as_the_operator_that_it_calls(fake, monkeypatch):
    case = Case(CallableTarget("fake", "of.a_path"), {})
    monkeypatch.setattr(fake, "signature", lambda target: None)
    monkeypatch.setattr(
        fake.naming, "wrapped_operator", lambda target, called: fake.resolve("negative")
    )
    assert may_lack_numbers(case, fake, LISTED)


def test_a_function_that_calls_no_operator_is_in_no_list(fake, monkeypatch):
    case = Case(CallableTarget("fake", "negative"), {})
    monkeypatch.setattr(fake, "signature", lambda target: None)
    monkeypatch.setattr(fake.naming, "wrapped_operator", lambda target, called: None)
    assert not may_lack_numbers(case, fake, LISTED)
