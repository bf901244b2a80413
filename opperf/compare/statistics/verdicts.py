"""The verdicts of a session, from its replicates.

The tests of each phase, and their error rates:

- Control: every case of A against A. The chance that a sound session is declared invalid is at
  most `control_q` (`noise_floor`).
- Screen: one-sided tests in both directions that there is no change at all. Candidates are
  those that Benjamini and Hochberg's correction at `screen_q` picks in either direction, and those
  with p below `screen_p` and a ratio beyond delta. Nothing is claimed of them yet, so the rates
  set the costs and not the errors.
- Confirm: the candidates, and ambiguous cases that get more blocks, in blocks that had no part in
  their selection. `regressed` and `improved` are the cases of which the correction at `confirm_q`
  rejects the hypothesis that the ratio is within delta: on average over sessions, a share of at
  most `confirm_q` of them has not changed.
- `same` is tested case by case, at `same_level` in each phase (`equivalence`), from the confirm
  blocks of a case that has them and from its screen blocks if it was no candidate. Selection by
  the same blocks does no harm there: being no candidate and passing is rarer than passing.
- Where there may be several looks at the confirm blocks, each p-value of that phase is multiplied
  by the number of looks (Bonferroni), whichever look it ends at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress

import msgspec
import numpy as np
from numpy.typing import NDArray

from opperf.compare.statistics.blocks import Effects, Floats, cases_of, effects
from opperf.compare.statistics.common_shift import common_shift
from opperf.compare.statistics.covariates import Adjustment, adjust
from opperf.compare.statistics.data import (
    Analysis,
    CaseVerdict,
    Phase,
    Replicate,
    Round,
    Thresholds,
    Verdict,
)
from opperf.compare.statistics.equivalence import p_within
from opperf.compare.statistics.false_discovery import level_of_next, reject
from opperf.compare.statistics.noise_floor import find_differing, is_shifted, noise_floor
from opperf.compare.statistics.paired_t import (
    Estimate,
    bounds,
    estimate,
    p_above,
    p_below,
    p_beyond,
)
from opperf.compare.statistics.settling import MOST_BLOCKS, blocks_needed

Mask = NDArray[np.bool_]


def candidates(replicates: Sequence[Replicate], thresholds: Thresholds) -> tuple[str, ...]:
    """The cases that the screen selects for the confirm phase, sorted.

    Raises what `blocks.effects` raises.
    """
    session = _estimate_session(replicates, thresholds)
    return tuple(compress(session.cases, session.chosen.tolist()))


def analyse(replicates: Sequence[Replicate], thresholds: Thresholds) -> Analysis:
    """The verdicts of a session, from the replicates that it has so far.

    Raises what `blocks.effects` raises.
    """
    session = _estimate_session(replicates, thresholds)
    reason = _why_invalid(session)
    verdicts = _verdicts(session)
    if reason:
        verdicts = [
            msgspec.structs.replace(one, verdict=Verdict.INVALID, more_blocks=None, note="")
            for one in verdicts
        ]
    return Analysis(
        valid=not reason,
        thresholds=thresholds,
        delta=session.delta,
        floor=session.floor,
        shift=common_shift(session.screened, thresholds),
        explained=session.adjustment.explained,
        verdicts=tuple(verdicts),
        reason=reason,
        note=session.adjustment.note,
    )


def next_round(analysis: Analysis, measured: int) -> Round | None:
    """The confirm blocks that `--until-settled` measures next: as many as there are, up to the cap,
    of the cases that are ambiguous; None where there are no such cases, or no blocks left.
    `measured` is the number of confirm blocks so far.

    A case's forecast is not used: after few blocks it is as uncertain as the case.
    """
    thresholds = analysis.thresholds
    left = thresholds.block_cap - measured
    cases = tuple(
        one.case
        for one in analysis.verdicts
        if one.verdict == Verdict.AMBIGUOUS and one.p is not None
    )
    if left <= 0 or not cases:
        return None
    return Round(cases, measured, min(measured or thresholds.confirm_blocks, left))


@dataclass(frozen=True)
class _Session:
    """The estimates of a session, from which its verdicts are made; arrays have a row for each
    case."""

    thresholds: Thresholds
    adjustment: Adjustment
    cases: tuple[str, ...]
    controlled: Effects
    screened: Effects
    control: Estimate
    screen: Estimate
    confirm: Estimate
    floor: float | None
    delta: float
    chosen: Mask
    """Which cases are candidates."""


def _estimate_session(replicates: Sequence[Replicate], thresholds: Thresholds) -> _Session:
    cases = cases_of(replicates)
    adjustment = adjust(replicates)
    # The confirm blocks have no part in the selection of candidates, nor has their adjustment.
    before = adjust([one for one in replicates if one.phase != "confirm"])

    def of_phase(phase: Phase) -> Effects:
        used = adjustment if phase == "confirm" else before
        found = effects(used.replicates, phase, cases)
        # The clock's resolution is that of the values as measured, not as adjusted.
        return replace(found, resolution=effects(replicates, phase, cases).resolution)

    controlled, screened = of_phase("control"), of_phase("screen")
    control, screen = estimate(controlled), estimate(screened)
    floor = noise_floor(control)
    delta = max(thresholds.margin, floor or 0.0)
    return _Session(
        thresholds=thresholds,
        adjustment=adjustment,
        cases=cases,
        controlled=controlled,
        screened=screened,
        control=control,
        screen=screen,
        confirm=estimate(of_phase("confirm")),
        floor=floor,
        delta=delta,
        chosen=_select_candidates(screen, delta, thresholds),
    )


def _select_candidates(screen: Estimate, delta: float, thresholds: Thresholds) -> Mask:
    """Selects the candidates by the screen, in either direction: true for those."""
    large = np.abs(screen.mean) > delta
    slower, faster = (
        reject(p, thresholds.screen_q) | ((p < thresholds.screen_p) & large)
        for p in (p_above(screen, 0.0), p_below(screen, 0.0))
    )
    return np.asarray(slower | faster)


def _why_invalid(session: _Session) -> str:
    """Why the session is invalid, and what to do; empty where it is not."""
    if session.floor is None:
        return "A was not compared with itself: measure at least two control blocks"
    remedy = "quieten the machine, look for differences between the arms, and measure again"
    differs = find_differing(session.control, session.thresholds)
    if differs.any():
        mean = session.control.mean
        worst = int(np.argmax(np.where(differs, np.abs(mean), 0.0)))
        return (
            f"A differs from itself in {np.count_nonzero(differs)} of {len(session.cases)} cases, "
            f"most in {session.cases[worst]}, by {np.expm1(mean[worst]):+.1%}: {remedy}"
        )
    if is_shifted(session.controlled, session.thresholds):
        return f"A differs from itself in all cases together: {remedy}"
    return ""


def _verdicts(session: _Session) -> list[CaseVerdict]:
    """The verdicts of all cases of a valid session."""
    thresholds, delta = session.thresholds, session.delta
    confirmed = session.confirm.n >= 2
    judged = _where(confirmed, session.confirm, session.screen)
    looks = np.where(confirmed, thresholds.looks, 1)

    p = p_beyond(judged, delta)
    tested = np.where(confirmed, np.minimum(p * looks, 1.0), np.nan)
    changed = reject(tested, thresholds.confirm_q)
    alike = p_within(judged, delta) * looks <= thresholds.same_level
    same = alike & (confirmed | ~session.chosen)
    low, high = bounds(judged, thresholds.same_level / looks)

    next_level = level_of_next(tested, thresholds.confirm_q)
    levels = next_level / thresholds.looks, thresholds.same_level / thresholds.looks
    needed = blocks_needed(judged, delta, *levels)
    # The forecast counts one tail and the test both, so it may be no more than there are already.
    more = np.maximum(needed - np.where(confirmed, judged.n, 0), 1)
    more[changed | same] = np.nan

    return [
        CaseVerdict(
            case=case,
            verdict=_verdict(bool(changed[row]), bool(same[row]), judged.mean[row]),
            effect=_none_if_nan(judged.mean[row]),
            low=_none_if_nan(low[row]),
            high=_none_if_nan(high[row]),
            p=_none_if_nan(p[row]),
            phase="confirm" if confirmed[row] else "screen",
            n_blocks=int(judged.n[row]),
            more_blocks=None if np.isnan(more[row]) else int(more[row]),
            note="" if changed[row] or same[row] else _why_ambiguous(session, row, judged, more),
        )
        for row, case in enumerate(session.cases)
    ]


def _where(mask: Mask, yes: Estimate, no: Estimate) -> Estimate:
    """One estimate in the rows of the mask, the other elsewhere."""
    return Estimate(
        np.where(mask, yes.mean, no.mean),
        np.where(mask, yes.error, no.error),
        np.where(mask, yes.n, no.n),
    )


def _verdict(changed: bool, same: bool, effect: float) -> Verdict:
    if changed:
        return Verdict.REGRESSED if effect > 0 else Verdict.IMPROVED
    return Verdict.SAME if same else Verdict.AMBIGUOUS


def _why_ambiguous(session: _Session, row: int, judged: Estimate, more: Floats) -> str:
    """Why a case is ambiguous, unless it only needs more blocks."""
    if judged.n[row] < 2:
        return f"complete blocks: {int(judged.n[row])}; at least 2 are needed"
    if session.chosen[row] and session.confirm.n[row] < 2:
        return "a candidate without confirm blocks"
    if np.isnan(more[row]):
        return f"too close to delta to decide with {MOST_BLOCKS} blocks"
    return ""


def _none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
