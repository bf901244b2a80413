"""What the report says beside verdicts."""

from __future__ import annotations

import pytest

from opperf.candidates.model import TrialResult, Verdict, VerdictStatus
from opperf.candidates.report import report_of
from opperf.model import Summary


def summary(value: float) -> Summary:
    return Summary("", 3, value, value, 1.0, 3.0, value, value, value, 1.0, value, value)


def items_of(verdict: Verdict) -> list[str]:
    return [str(item) for section in report_of([verdict]).sections for item in section.items]


@pytest.mark.parametrize(
    ("called", "replaced", "remark"),
    [
        (("aten::softmax.out",), ("aten::softmax.int", "aten::view"), "all that"),
        (("aten::mm", "aten::empty"), ("aten::mm", "aten::relu"), "some of what"),
        (("aten::view",), ("aten::view", "aten::bmm"), ""),
        ((), ("aten::mm",), ""),
        (("aten::mm",), (), ""),
    ],
)
def test_a_fallback_is_remarked(
    called: tuple[str, ...], replaced: tuple[str, ...], remark: str
) -> None:
    verdict = Verdict("p", "own", VerdictStatus.PASSED, called=called, replaced=replaced)
    found = [item for item in items_of(verdict) if "as a fallback does" in item]
    assert [item.partition(" the reference")[0] for item in found] == [f"calls {remark}"] * bool(
        remark
    )


def test_gains_in_all_trials_and_the_least() -> None:
    def trial(n: int, *ratios: float) -> TrialResult:
        beside = {str(number): summary(ratio) for number, ratio in enumerate(ratios)}
        return TrialResult(
            {"n": n}, VerdictStatus.PASSED, ns=summary(40.0), floor_ns=10.0, ratios=beside
        )

    trials = (trial(1, 8.0, 2.0), trial(2, 0.5, 9.0))
    verdict = Verdict("p", "own", VerdictStatus.PASSED, trials=trials)
    assert items_of(verdict) == [
        "1.00 times as fast as the fastest other, the geometric mean of 2 trials",
        "gains least at n=2: 0.50 times as fast as the fastest other",
    ]
    assert [row["attainable"] for row in report_of([verdict]).data["rows"]] == [0.25, 0.25]
