"""The coarse look: which cases changed by much with all threads.

Assumption: as in `paired_t`, of the blocks that were measured with the framework's own choice of
threads. Each case is tested against the margin `coarse_threshold`, with a moderated variance, and
the cases are corrected as one family, by Benjamini and Hochberg at `changed_q`. They are a family
apart from the verdicts, and are tested once.
Source: those of `paired_t`, `moderation` and `false_discovery`.
Breaks when a change is little larger than the margin, or one among many cases: with blocks that
scatter by 13 %, four of them find a case that takes 1.5 times as long in 69 % of the sessions with
ten cases and in 20 % with a hundred, and one that takes twice as long in 96 % and 91 %.

Effects are not adjusted for reference work, and none is timed here. The threads of a pool that wait
for work share the cores with it, so that its time depends on whether the operator runs in parallel:
the loss that is looked for would be subtracted.
"""

from __future__ import annotations

from collections.abc import Sequence

from opperf.comparison.statistics.blocks import cases_of, effects
from opperf.comparison.statistics.data import (
    CoarseCase,
    CoarseLook,
    Replicate,
    Thresholds,
    none_if_nan,
)
from opperf.comparison.statistics.false_discovery import reject
from opperf.comparison.statistics.moderation import moderate
from opperf.comparison.statistics.paired_t import Estimate, bounds, estimate, p_beyond


def coarse_look(replicates: Sequence[Replicate], thresholds: Thresholds) -> CoarseLook | None:
    """Returns the changes with all threads; None before all blocks of the look are complete."""
    measured = [replicate for replicate in replicates if replicate.phase == "coarse"]
    cases = cases_of(measured)
    found = effects(measured, "coarse", cases)
    n_blocks = found.values.shape[1]
    if not thresholds.coarse_blocks or n_blocks < thresholds.coarse_blocks:
        return None
    own = estimate(found)
    moderated = moderate(own.deviation**2, own.freedom)
    judged = Estimate.of(own.mean, moderated.variance, own.n, moderated.freedom)
    p = p_beyond(judged, thresholds.coarse_margin)
    changed = reject(p, thresholds.changed_q)
    low, high = bounds(judged, thresholds.same_level)
    return CoarseLook(
        n_blocks,
        tuple(
            CoarseCase(
                case=case,
                changed=("slower" if judged.mean[row] > 0 else "faster") if changed[row] else None,
                effect=none_if_nan(judged.mean[row]),
                low=none_if_nan(low[row]),
                high=none_if_nan(high[row]),
                p=none_if_nan(p[row]),
                n_blocks=int(judged.n[row]),
            )
            for row, case in enumerate(cases)
        ),
    )
