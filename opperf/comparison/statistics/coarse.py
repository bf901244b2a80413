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

from collections.abc import Iterable, Iterator, Sequence

from opperf.comparison.statistics.blocks import Floats, cases_of, effects
from opperf.comparison.statistics.data import (
    CoarseCase,
    CoarseLook,
    Replicate,
    Thresholds,
    none_if_nan,
)
from opperf.comparison.statistics.decisions import Mask
from opperf.comparison.statistics.false_discovery import reject_together
from opperf.comparison.statistics.moderation import moderate
from opperf.comparison.statistics.paired_t import Estimate, bounds, estimate, p_beyond


def coarse_looks(
    comparisons: Iterable[Sequence[Replicate]], thresholds: Thresholds
) -> list[CoarseLook | None]:
    """Returns the changes of comparisons with all threads; None before all blocks of the look are
    complete. The cases of all are one family."""
    measured = [[made for made in own if made.phase == "coarse"] for own in comparisons]
    every = [cases_of(own) for own in measured]
    found = [effects(own, "coarse", cases) for own, cases in zip(measured, every, strict=True)]
    n_blocks = min(own.values.shape[1] for own in found)
    if not thresholds.coarse_blocks or n_blocks < thresholds.coarse_blocks:
        return [None] * len(found)
    judged = [_moderated(estimate(own)) for own in found]
    families = [p_beyond(own, thresholds.coarse_margin) for own in judged]
    changed = reject_together(families, thresholds.changed_q)
    return [
        CoarseLook(n_blocks, tuple(_rows(*parts, thresholds)))
        for parts in zip(every, judged, families, changed, strict=True)
    ]


def _moderated(own: Estimate) -> Estimate:
    moderated = moderate(own.deviation**2, own.freedom)
    return Estimate.of(own.mean, moderated.variance, own.n, moderated.freedom)


def _rows(
    cases: Sequence[str], judged: Estimate, p: Floats, changed: Mask, thresholds: Thresholds
) -> Iterator[CoarseCase]:
    low, high = bounds(judged, thresholds.same_level)
    for row, case in enumerate(cases):
        yield CoarseCase(
            case=case,
            changed=("slower" if judged.mean[row] > 0 else "faster") if changed[row] else None,
            effect=none_if_nan(judged.mean[row]),
            low=none_if_nan(low[row]),
            high=none_if_nan(high[row]),
            p=none_if_nan(p[row]),
            n_blocks=int(judged.n[row]),
        )
