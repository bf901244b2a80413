"""Which cases may have NaN or infinity."""

import pytest

from opperf.model import Case, OperatorTarget
from opperf.rules.not_finite import NotFinite, may_lack_numbers

LISTED = {"empty": NotFinite("unwritten"), "leaky": NotFinite("unwritten", {"act_type": "rrelu"})}


@pytest.mark.parametrize(
    "name, arguments, may",
    [
        ("empty", {"shape": 3}, True),
        ("leaky", {"act_type": "rrelu", "slope": 0.5}, True),
        ("leaky", {"act_type": "elu"}, False),
        ("leaky", {}, False),
        ("full", {"shape": 3}, False),
    ],
)
def test_operators_are_listed_by_name_and_arguments(name, arguments, may):
    assert may_lack_numbers(Case(OperatorTarget("fake", name), arguments), LISTED) is may
