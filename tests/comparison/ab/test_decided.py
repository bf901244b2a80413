"""The verdicts that the rehearsal has made."""

import pytest

from opperf.comparison.ab.gate import timed_figures
from opperf.comparison.ab.judging import comparison_of, outcome_of
from opperf.comparison.ab.slow_calls import ArmCalls, SlowPair
from opperf.comparison.ab.telling import telling_of
from opperf.comparison.report import report_of
from opperf.model import Closing
from opperf.statistics.verdicts import analyse
from tests.comparison.ab.sessions import case, session_of


@pytest.mark.parametrize(("b", "verdict", "code"), [(20.0, "regressed", 1), (0.11, "same", 0)])
def test_what_single_calls_decided_is_a_row_without_blocks(b, verdict, code):
    (one,) = cases = (case("relu", passes=("forward",)),)
    arms = {"A": ArmCalls({"forward": 0.1}), "B": ArmCalls({"forward": b})}
    session = session_of(*cases, slow={one.id: SlowPair(arms, ("forward",))})
    session.closing = Closing("", 0.0, {}, {})
    assert not timed_figures(session)
    analysis = analyse(session.replicates, session.plan.thresholds)
    found = comparison_of(session, analysis, fail_on=("regressed",))
    (row,) = found.rows
    assert (row.verdict.value, row.blocks) == (verdict, 0)
    assert row.ratio == pytest.approx(b / 0.1) and row.low < row.ratio < row.high
    assert row.note.startswith("decided by single calls: 100.0 ms in A, ")
    assert outcome_of(found)[0] == code
    assert "decided by single calls" in str(report_of(found, telling_of(found)).sections)
