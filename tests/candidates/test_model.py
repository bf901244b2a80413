from __future__ import annotations

import msgspec
import pytest

from opperf.candidates.model import TrialResult, Verdict, VerdictStatus, worst
from opperf.model import Summary

PASSED, WRONG, CHEATED, UNDECIDABLE = (
    VerdictStatus.PASSED,
    VerdictStatus.WRONG,
    VerdictStatus.CHEATED,
    VerdictStatus.UNDECIDABLE,
)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ((), PASSED),
        ((PASSED, PASSED), PASSED),
        ((PASSED, UNDECIDABLE), UNDECIDABLE),
        ((UNDECIDABLE, WRONG), WRONG),
        ((WRONG, CHEATED, PASSED), CHEATED),
    ],
)
def test_worst_trial_decides(statuses: tuple[VerdictStatus, ...], expected: VerdictStatus) -> None:
    assert worst(statuses) is expected


def test_a_verdict_survives_json() -> None:
    times = Summary("ns", 3, 2.0, 2.0, 1.0, 3.0, 2.0, 3.0, 3.0, 1.0, 1.0, 3.0)
    trial = TrialResult({"n": 8}, WRONG, "off by 1", 1.0, 0.5, times, {"reference": times}, 10.0)
    verdict = Verdict("softmax", "mine", WRONG, "n=8: off by 1", (trial,), ("aten::add",), ("x",))
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict) == verdict
