"""What a table excepts is no fault, and an entry that covers nothing is found."""

from opperf.model import Case, OperatorTarget
from tests.conformance.exceptions import Exempt, Found, given, without_exceptions
from tests.conformance.judging import CONSTANT, MASK, Finding


def called(name, **arguments):
    return Case(OperatorTarget("toy", name), arguments)


FULL = Found(called("full", value=1), Finding(CONSTANT, "output", "4 times 1.0"))
TABLE = (Exempt(CONSTANT, "creation", "full ones", place="output*", given=given(value=1)),)


def test_what_is_excepted_is_no_fault():
    assert without_exceptions([FULL], TABLE, ["full"]) == ({}, [])


def test_another_operator_kind_place_or_case_is():
    for other in (
        FULL._replace(case=called("relu", value=1)),
        FULL._replace(finding=FULL.finding._replace(kind=MASK)),
        FULL._replace(finding=FULL.finding._replace(place="x after the call")),
        FULL._replace(case=called("full", value=2)),
    ):
        remaining = without_exceptions([FULL, other], TABLE, ["full"])
        assert remaining.faults == {other.case.label: [str(other)]}


def test_an_exception_that_covers_nothing_is_stale():
    remaining = without_exceptions([FULL], TABLE, ["full", "ones", "relu"])
    assert remaining == ({}, [f"ones: {CONSTANT}: creation"])


def test_what_did_not_run_and_what_depends_on_chance_is_not():
    assert without_exceptions([FULL], TABLE, ["full"]).stale == []
    at_times = (*TABLE, Exempt(MASK, "by chance", "full", sometimes=True))
    assert without_exceptions([FULL], at_times, ["full"]).stale == []
