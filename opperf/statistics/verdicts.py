"""The verdicts of a session, from its replicates.

The tests of a session, and their error rates:

- Control (`control`): A against A. The chance that a sound session is declared invalid is at most
  `control_q`.
- Verdicts (`decisions`): at each look, of all blocks of A and B so far. `regressed` and `improved`
  are the cases of which the correction at `changed_q` rejects the hypothesis that the ratio is
  within the threshold: on average over sessions, a share of at most `changed_q` of them has not
  changed. `same` is tested case by case, at `same_level` each.
- Several comparisons, such as those of each arm with the first: the cases of all are one family of
  the correction, and of the other tests each comparison has an equal part of the rate.
- Coarse look (`coarse`): a family of its own, at `changed_q`; no verdict depends on it.

Verdicts are made of whole looks: blocks after the latest look have no part in them yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec
import numpy as np

from opperf.statistics.blocks import Effects, by_block, cases_of, effects, is_complete
from opperf.statistics.common_shift import common_shift, fault
from opperf.statistics.covariates import ARM_EFFECT_LEVEL, Adjustment, adjust
from opperf.statistics.data import (
    PHASES,
    Analysis,
    CaseVerdict,
    Phase,
    Replicate,
    Shift,
    Thresholds,
    Verdict,
    none_if_nan,
)
from opperf.statistics.decisions import Decisions, coarse_looks, look, nominal_level
from opperf.statistics.false_discovery import level_of_next
from opperf.statistics.paired_t import Estimate, estimate, smallest_detectable

REMEDY = "reduce the load on the machine, look for differences between the arms, and measure again"


def analyse(replicates: Sequence[Replicate], thresholds: Thresholds) -> Analysis:
    """Returns the verdicts on the replicates so far. Raises what `blocks.effects` raises."""
    (found,) = analyse_together([replicates], thresholds)
    return found


def analyse_together(
    comparisons: Sequence[Sequence[Replicate]], thresholds: Thresholds
) -> list[Analysis]:
    """Returns the verdicts of a session's comparisons, whose corrections are over all of them. The
    control is that of the session: it is in each, and a fault makes all invalid. Raises what
    `blocks.effects` raises."""
    coarse = coarse_looks(comparisons, thresholds)
    every = [_Comparison(replicates) for replicates in comparisons]
    # Of hypotheses that each comparison has pair of.
    shared = msgspec.structs.replace(
        thresholds,
        control_q=thresholds.control_q / len(every),
        changed_q=thresholds.changed_q / len(every),
    )
    taken = min(looks_taken(pair.replicates, thresholds) for pair in every)
    reason = ""
    for n_blocks in thresholds.looks[:taken]:
        seen = [pair.estimate(n_blocks, thresholds) for pair in every]
        look([pair.decisions for pair in every], [found.estimate for found in seen], thresholds)
        if n_blocks == thresholds.looks[0]:
            # At the first look all cases are in all blocks.
            for pair, found in zip(every, seen, strict=True):
                pair.shift = common_shift(found.others, shared, found.control)
            reasons = (_why_invalid(found.control, found.others, shared) for found in seen)
            reason = next(filter(None, reasons), "")
        if reason:
            break
    level = level_of_next(
        np.concatenate([pair.decisions.p_changed for pair in every]), thresholds.changed_q
    )
    return [
        Analysis(
            valid=not reason,
            thresholds=thresholds,
            shift=pair.shift,
            explained=pair.adjustment.explained,
            verdicts=_verdicts(pair.cases, pair.decisions, thresholds, level, bool(reason)),
            looks=pair.decisions.looks,
            reason=reason,
            note=pair.adjustment.note,
            coarse=own,
        )
        for pair, own in zip(every, coarse, strict=True)
    ]


class _Seen(NamedTuple):
    """The effects of a comparison up to a look."""

    estimate: Estimate
    control: Effects
    others: Effects


class _Comparison:
    """A comparison of two arms, look by look."""

    def __init__(self, replicates: Iterable[Replicate]) -> None:
        self.replicates = [made for made in replicates if made.phase in PHASES]
        self.cases = cases_of(self.replicates)
        self.decisions = Decisions.none(len(self.cases))
        self.adjustment = Adjustment(tuple(self.replicates), None)
        self.shift: Shift | None = None

    def estimate(self, n_blocks: int, thresholds: Thresholds) -> _Seen:
        """Returns the estimates of the blocks up to a look."""
        seen = [
            made for made in self.replicates if made.phase == "control" or made.block < n_blocks
        ]
        # Found once, a difference of the work between the arms stays.
        if not self.adjustment.note:
            looks = self.decisions.looks
            level = 2 * nominal_level(ARM_EFFECT_LEVEL / 2, looks, thresholds.looks)
            self.adjustment = adjust(seen, level)
        else:
            self.adjustment = self.adjustment._replace(replicates=tuple(seen))
        control, others = (_effects(self.adjustment, seen, phase, self.cases) for phase in PHASES)
        factors = self.adjustment.inflation
        inflation = np.array([factors.get(case, 1.0) for case in self.cases])
        found = estimate(others, control)
        return _Seen(replace(found, error=found.error * np.sqrt(inflation)), control, others)


def looks_taken(replicates: Sequence[Replicate], thresholds: Thresholds) -> int:
    """The number of looks whose blocks are complete."""
    blocks = by_block(replicates, "comparison")
    complete = 0
    while is_complete(blocks.get(complete, {})):
        complete += 1
    return sum(n_blocks <= complete for n_blocks in thresholds.looks)


def needing_more_blocks(analysis: Analysis) -> tuple[str, ...]:
    """The cases that are still measured, sorted: those that further blocks may decide, and those
    that are the same by an estimate beyond the threshold."""
    margin = analysis.thresholds.margin
    return tuple(
        verdict.case
        for verdict in analysis.verdicts
        if (verdict.verdict is Verdict.AMBIGUOUS and verdict.p is not None)
        or (
            verdict.verdict is Verdict.SAME
            and verdict.effect is not None
            and abs(verdict.effect) > margin
        )
    )


def _effects(
    adjustment: Adjustment, measured: Sequence[Replicate], phase: Phase, cases: Sequence[str]
) -> Effects:
    found = effects(adjustment.replicates, phase, cases)
    # The clock's resolution is that of the values as measured, not as adjusted.
    return replace(found, resolution=effects(measured, phase, cases).resolution)


def _why_invalid(control: Effects, others: Effects, thresholds: Thresholds) -> str:
    """Returns why the session is invalid, and what to do; empty where it is not."""
    too_few = control.values.shape[1] < max(1, thresholds.control_blocks)
    if too_few or np.isnan(control.values).all():
        return "A was not compared with itself: measure the control blocks"
    found = fault(control, others, thresholds)
    return f"{found}: {REMEDY}" if found else ""


def _verdicts(
    cases: Sequence[str], found: Decisions, thresholds: Thresholds, level: float, invalid: bool
) -> tuple[CaseVerdict, ...]:
    detectable = np.full(len(cases), np.nan)
    if found.looks:
        # A case that had changed would be measured up to the cap: with the scatter that was seen.
        looks = thresholds.looks
        left = looks[-1] - np.array(looks)[found.place.astype(np.intp)]
        with np.errstate(invalid="ignore", divide="ignore"):
            error = found.error * np.sqrt(found.n / (found.n + left))
        at = np.full(len(cases), nominal_level(level, len(looks) - 1, looks))
        detectable = smallest_detectable(error, found.freedom + left, thresholds.margin, at)
    return tuple(
        CaseVerdict(
            case=case,
            verdict=Verdict.INVALID if invalid else _verdict(found, row),
            effect=none_if_nan(found.mean[row]),
            low=none_if_nan(found.low[row]),
            high=none_if_nan(found.high[row]),
            p=none_if_nan(found.p_changed[row]),
            detectable=none_if_nan(detectable[row]),
            n_blocks=int(found.n[row]),
            note="" if invalid or found.decided[row] else _why_ambiguous(found, row, thresholds),
            error=none_if_nan(found.error[row]),
            freedom=none_if_nan(found.freedom[row]),
        )
        for row, case in enumerate(cases)
    )


def _verdict(found: Decisions, row: int) -> Verdict:
    if found.changed[row]:
        return Verdict.REGRESSED if found.mean[row] > 0 else Verdict.IMPROVED
    return Verdict.SAME if found.same[row] else Verdict.AMBIGUOUS


def _why_ambiguous(found: Decisions, row: int, thresholds: Thresholds) -> str:
    if not found.looks:
        return f"fewer than {thresholds.looks[0]} complete blocks"
    if np.isnan(found.error[row]):
        return f"complete blocks: {int(found.n[row])}; too few for an estimate"
    return ""
