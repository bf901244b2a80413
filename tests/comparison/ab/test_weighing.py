"""A session weighted by count."""

import math

import pytest

from opperf.comparison.ab.report import report_of
from opperf.comparison.ab.session import key
from opperf.comparison.ab.weighing import weigh_session
from opperf.comparison.statistics.verdicts import analyse
from tests.comparison.ab.sessions import add_replicates, case, session_of


@pytest.fixture
def session(constant):
    """Makes a session of cases, and of the times of A and of B of a figure in nanoseconds."""

    def made(times, cases, control_b=None):
        a, b = ({name: math.log(sides[i]) for name, sides in times.items()} for i in (0, 1))
        found = session_of(*cases)
        control = constant("control", 2, a, control_b or a)
        add_replicates(found, [*control, *constant("comparison", 4, a, b)])
        return found, analyse(found.replicates, found.plan.thresholds)

    return made


def test_passes_add_up_and_counts_weight(session):
    relu, mm, gone = cases = (case("relu", count=10), case("mm", count=1), case("gone", count=3))
    times = {
        key(relu.id, "forward"): (1000.0, 2000.0),
        key(relu.id, "backward"): (3000.0, 3000.0),
        key(mm.id, "forward"): (50_000.0, 25_000.0),
    }
    found = weigh_session(*session(times, cases))
    assert (found.base_ns, found.new_ns) == pytest.approx((90_000.0, 75_000.0))
    assert [one.operator for one in found.operators] == ["mm", "relu"]
    assert found.geometric_mean == pytest.approx((1.25**10 / 2) ** (1 / 11))
    assert (found.metrics, found.unmeasured_calls) == (("forward", "backward"), 3)


def test_only_a_valid_session_has_totals(session):
    (one,) = cases = (case("relu", count=10),)
    name = key(one.id, "forward")
    sound, analysis = session({name: (1000.0, 2000.0)}, cases)
    assert report_of(sound, analysis, weight="count").weighted.new_ns == pytest.approx(20_000)
    assert report_of(sound, analysis).weighted is None


def test_a_session_without_a_look_has_empty_totals(session):
    found, analysis = session({}, (case("relu", count=2),))
    weighted = weigh_session(found, analysis)
    assert (weighted.cases, weighted.unmeasured_calls, weighted.geometric_mean) == (0, 2, None)
