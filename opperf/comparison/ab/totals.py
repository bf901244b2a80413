"""Totals of a session: what all calls of its pairs take in each arm."""

from __future__ import annotations

import math
from collections.abc import Iterator

from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.process import key
from opperf.comparison.ab.session import Session
from opperf.comparison.ab.untimed import missing_figures
from opperf.model import PASSES
from opperf.statistics.data import Analysis
from opperf.statistics.weights import Weighed, Weighted, mean_of_logs, weigh


def weigh_session(session: Session, analysis: Analysis) -> Weighted:
    """Returns the totals of the pairs that have a ratio, and the same results. The time of a call
    is the sum of its passes: of A, the geometric mean over the processes of their medians; of B,
    that times the ratio of the verdict, from which the core's speed is subtracted."""
    different = (key(name, metric) for name in session.different for metric in PASSES)
    left_out = {*missing_figures(session), *different}
    ratios = {
        verdict.case: verdict.ratio
        for verdict in analysis.verdicts
        if verdict.ratio is not None and verdict.case not in left_out
    }
    logs: dict[str, list[float]] = {}
    for replicate in session.replicates:
        if replicate.phase == "comparison" and replicate.arm == "A":
            for name, value in replicate.values.items():
                if math.isfinite(value):
                    logs.setdefault(name, []).append(value)
    times = {name: mean_of_logs(found) for name, found in logs.items()}
    pairs = session.pairs
    weighed = [found for pair in pairs for found in _weighed(pair, times, ratios)]
    measured = {metric for pair in pairs for metric in PASSES if key(pair.id, metric) in ratios}
    return weigh(
        weighed,
        metrics=[metric for metric in PASSES if metric in measured],
        unmeasured_calls=sum(pair.a.count for pair in pairs)
        - sum(found.base_calls for found in weighed),
    )


def _weighed(pair: Pair, times: dict[str, float], ratios: dict[str, float]) -> Iterator[Weighed]:
    names = [name for metric in PASSES if (name := key(pair.id, metric)) in ratios]
    if names:
        yield Weighed(
            operator=pair.label,
            base_calls=pair.a.count,
            new_calls=pair.b.count,
            base_ns=math.fsum(times[name] for name in names),
            new_ns=math.fsum(times[name] * ratios[name] for name in names),
        )
