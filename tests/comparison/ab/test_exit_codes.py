"""Exit codes of a session, by its verdicts."""

import pytest

from opperf.commands.ab.running import exit_code
from opperf.comparison.statistics.data import Analysis, CaseVerdict, Shift, Thresholds, Verdict


def analysed(*verdicts, shift=Verdict.SAME, valid=True):
    cases = tuple(CaseVerdict(str(n), verdict) for n, verdict in enumerate(verdicts))
    common = None if shift is None else Shift(shift, 0.1, 0.0, 0.2, 0.01, 4)
    return Analysis(valid, Thresholds(), common, cases)


REGRESSED, IMPROVED, SAME, AMBIGUOUS = (
    Verdict.REGRESSED,
    Verdict.IMPROVED,
    Verdict.SAME,
    Verdict.AMBIGUOUS,
)


@pytest.mark.parametrize(
    "analysis, fail_on, code",
    [
        (analysed(SAME, SAME), (REGRESSED, IMPROVED, AMBIGUOUS), 0),
        (analysed(SAME, REGRESSED), (REGRESSED,), 1),
        (analysed(SAME, REGRESSED), (IMPROVED,), 0),
        (analysed(SAME, IMPROVED), (IMPROVED,), 1),
        (analysed(SAME, AMBIGUOUS), (REGRESSED,), 0),
        (analysed(SAME, AMBIGUOUS), (REGRESSED, AMBIGUOUS), 3),
        (analysed(REGRESSED, AMBIGUOUS), (AMBIGUOUS, REGRESSED), 1),
        # All operators together count as one of them.
        (analysed(SAME, shift=REGRESSED), (REGRESSED,), 1),
        (analysed(SAME, shift=None), (REGRESSED, AMBIGUOUS), 0),
        # Nothing decided, or nothing that may be believed.
        (analysed(AMBIGUOUS, AMBIGUOUS), (REGRESSED,), 3),
        (analysed(), (REGRESSED,), 3),
        (analysed(Verdict.INVALID, valid=False), (REGRESSED,), 3),
    ],
)
def test_exit_codes(analysis, fail_on, code):
    assert exit_code(analysis, tuple(one.value for one in fail_on), True) == code


def test_results_that_differ_are_a_finding_whatever_the_times():
    undecided = analysed(AMBIGUOUS)
    assert exit_code(undecided, ("different", "ambiguous"), True) == 1
    assert exit_code(undecided, ("different",), False) == 3
    assert exit_code(analysed(SAME), ("different",), False) == 0
