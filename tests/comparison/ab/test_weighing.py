"""A session weighted by count."""

import math

import pytest

from opperf.comparison.ab.arms import ArmSpec
from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.report import report_of
from opperf.comparison.ab.session import SCHEMA, ReplicateLine, Session, SessionHeader, key
from opperf.comparison.ab.weighing import weigh_session
from opperf.comparison.statistics.data import Thresholds
from opperf.comparison.statistics.verdicts import analyse
from opperf.model import Case, Environment, OperatorTarget, TensorSpec
from opperf.sources.selecting import Selection

ENVIRONMENT = Environment(
    opperf="0",
    framework="fake",
    versions={"fake": "1"},
    features={},
    python="3",
    platform="here",
    hostname="it",
    cpu="some",
    cores=2,
    threads={},
    memory_bytes=1,
    load_1min=0.5,
    governor="unknown",
    devices=("cpu(0)",),
)


def pair(name, count):
    case = Case(OperatorTarget("fake", name), {"data": TensorSpec((2, 3))}, count=count)
    return Pair(case, case)


@pytest.fixture
def session(constant):
    """Makes a session of pairs, and of the times of A and of B of a figure in nanoseconds."""

    def made(times, pairs, control_b=None):
        a, b = ({name: math.log(sides[i]) for name, sides in times.items()} for i in (0, 1))
        replicates = [
            *constant("control", 2, a, control_b or a),
            *constant("comparison", 4, a, b),
        ]
        header = SessionHeader(
            schema=SCHEMA,
            started="",
            command="opperf ab",
            framework="fake",
            a=ArmSpec(),
            b=ArmSpec(),
            environments={"A": ENVIRONMENT, "B": ENVIRONMENT},
            thresholds=Thresholds(),
            seed=0,
            selection=Selection(),
            pairs=pairs,
            alone={},
            excluded={},
            visit_s={},
            start_s=0.5,
            later_start_s=0.1,
        )
        found = Session(header, tuple(ReplicateLine(one, "", 1.0) for one in replicates))
        return found, analyse(found.replicates, header.thresholds)

    return made


def test_passes_add_up_and_counts_weight(session):
    relu, mm, gone = pairs = (pair("relu", 10), pair("mm", 1), pair("gone", 3))
    times = {
        key(relu.id, "forward"): (1000.0, 2000.0),
        key(relu.id, "backward"): (3000.0, 3000.0),
        key(mm.id, "forward"): (50_000.0, 25_000.0),
    }
    found = weigh_session(*session(times, pairs))
    assert (found.base_ns, found.new_ns) == pytest.approx((90_000.0, 75_000.0))
    assert [one.operator for one in found.operators] == ["mm", "relu"]
    assert found.geometric_mean == pytest.approx((1.25**10 / 2) ** (1 / 11))
    assert (found.metrics, found.unmeasured_calls) == (("forward", "backward"), 3)


def test_only_a_valid_session_has_totals(session):
    (one,) = pairs = (pair("relu", 10),)
    name = key(one.id, "forward")
    sound, analysis = session({name: (1000.0, 2000.0)}, pairs)
    assert report_of(sound, analysis, weight="count").weighted.new_ns == pytest.approx(20_000)
    assert report_of(sound, analysis).weighted is None


def test_a_session_without_a_look_has_empty_totals(session):
    found, analysis = session({}, (pair("relu", 2),))
    weighted = weigh_session(found, analysis)
    assert (weighted.cases, weighted.unmeasured_calls, weighted.geometric_mean) == (0, 2, None)
