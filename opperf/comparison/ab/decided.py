"""Verdicts on the figures of slow cases that the rehearsal has decided."""

from __future__ import annotations

from collections.abc import Iterator

from opperf.comparison.ab.process import key
from opperf.comparison.ab.session import Session
from opperf.comparison.ab.slow_calls import CALL_FREEDOM, CALL_SCATTER, NS_PER_S, is_same
from opperf.comparison.statistics.data import CaseVerdict, Verdict
from opperf.results.units import time_text


def decided_verdicts(session: Session) -> Iterator[CaseVerdict]:
    """Yields the verdicts of the rehearsal."""
    for group, pair in session.plan.slow.items():
        for metric in pair.decided:
            effect, low, high = pair.effect(metric)
            times = (
                f"{time_text(NS_PER_S * calls.seconds[metric])} in {arm}"
                for arm, calls in pair.arms.items()
            )
            yield CaseVerdict(
                key(group, metric),
                _verdict(effect),
                effect=effect,
                low=low,
                high=high,
                note=f"decided by single calls: {', '.join(times)}",
                error=CALL_SCATTER,
                freedom=CALL_FREEDOM,
            )


def _verdict(effect: float) -> Verdict:
    if is_same(effect):
        return Verdict.SAME
    return Verdict.REGRESSED if effect > 0 else Verdict.IMPROVED
