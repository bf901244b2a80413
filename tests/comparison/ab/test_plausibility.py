"""Gains beyond what moving the inputs and outputs allows."""

import math
from types import SimpleNamespace

import msgspec
import pytest

from opperf.comparison.ab.figures import implausible_gains, moved_by_gains
from opperf.comparison.ab.process import key
from opperf.model import Closing, Place, ProcessLine
from opperf.statistics.data import CaseVerdict, Verdict
from tests.comparison.ab.sessions import at, case, ok, session_of

MOVED = 1_000_000


def made(ns, device="cpu(0)", moved=MOVED, verdict=Verdict.IMPROVED):
    """A session in which a call of B takes this long, and the analysis of it."""
    session = session_of(case("relu", device=device, threads=1))
    (group,) = (one.id for one in session.plan.groups)
    for position, arm in enumerate("AB"):
        place = Place("comparison", 0, position, arm, arm)
        planned = session.cases_of(arm)[group]
        bytes_of = {"moved_bytes": moved, "moved_backward_bytes": 2 * moved}
        record = ok(planned, ns if arm == "B" else 100 * ns, **bytes_of)
        session.add(ProcessLine(place, "", 1.0), [at(record, place)])
    verdicts = [
        CaseVerdict(key(group, "forward"), verdict),
        CaseVerdict(key(group, "backward"), verdict),
    ]
    return session, group, SimpleNamespace(verdicts=verdicts)


def closed(session, moved):
    session.closing = Closing("", 1.0, {}, msgspec.json.decode(msgspec.json.encode(moved)))
    return implausible_gains(session)


@pytest.mark.parametrize("ns, is_said", [(1_000.0, True), (60_000.0, False), (1e6, False)])
def test_a_gain_beyond_the_rate_of_a_copy_is_said(ns, is_said):
    session, group, analysis = made(ns)
    moved = moved_by_gains(session, analysis, lambda count: count / 10)
    forward, backward = (key(group, metric) for metric in ("forward", "backward"))
    assert moved == {forward: (MOVED, 100_000.0), backward: (2 * MOVED, 200_000.0)}
    found = closed(session, moved)
    assert (forward in found) is is_said
    assert ("writing those of its inputs, 1,953 KiB" in found.get(backward, "")) is (ns < 2e5 / 3)
    if is_said:
        text = found[forward]
        assert text.startswith("implausible: ") and "977 KiB" in text
        assert "1,000 GB/s" in text and "at 10 GB/s" in text


@pytest.mark.parametrize(
    "other",
    [
        {"device": "gpu(0)"},
        # Results that are views move nothing.
        {"moved": 0},
        {"verdict": Verdict.SAME},
        {"verdict": Verdict.REGRESSED},
    ],
)
def test_of_others_nothing_is_copied(other):
    session, _, analysis = made(1.0, **other)
    assert moved_by_gains(session, analysis, lambda count: math.nan) == {}
    assert closed(session, {}) == {} and implausible_gains(made(1.0)[0]) == {}
