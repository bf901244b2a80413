"""From a session's replicates to its verdicts.

Who is tested where, and what each error rate is a rate of:

- Control: every case of A against A. The chance that a sound session is declared invalid is at
  most `control_q` (`noise_floor`).
- Screen: one-sided tests in both directions that there is no change at all. Candidates are
  those that Benjamini and Hochberg's correction at `screen_q` picks in either direction, and those
  with p below `screen_p` and a ratio beyond delta. Nothing is claimed of them yet, so the rates
  set the costs and not the errors.
- Confirm: the candidates, and what was measured on with them, in blocks that had no part in
  choosing them. `regressed` and `improved` are what the correction at `confirm_q` rejects of the
  hypotheses that the ratio is within delta: of everything said to have changed in a session, a
  share of `confirm_q` at most has not, on average over sessions.
- `same` is shown case by case, at `same_level` in each phase (`equivalence`), from the confirm
  blocks of a case that has them and from its screen blocks if it was no candidate. Choosing by
  the same blocks does no harm there: being no candidate and passing is rarer than passing.
- A case that is looked at several times has each of its p-values in the confirm phase multiplied
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
from opperf.compare.statistics.covariates import Adjustment, adjusted
from opperf.compare.statistics.data import (
    Analysis,
    CaseVerdict,
    Phase,
    Replicate,
    Round,
    Rules,
    Verdict,
)
from opperf.compare.statistics.equivalence import p_within
from opperf.compare.statistics.false_discovery import level_of_next, rejected
from opperf.compare.statistics.noise_floor import differing, noise_floor, shifted
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


def candidates(replicates: Sequence[Replicate], rules: Rules) -> tuple[str, ...]:
    """The cases that the screen gives reason to measure again, sorted.

    Raises `ValueError` for replicates that make no blocks, as `blocks.effects` does.
    """
    session = _session(replicates, rules)
    return tuple(compress(session.cases, session.chosen.tolist()))


def analyse(replicates: Sequence[Replicate], rules: Rules) -> Analysis:
    """The verdicts of a session, from whatever has been measured of it so far.

    Raises `ValueError` for replicates that make no blocks, as `blocks.effects` does.
    """
    session = _session(replicates, rules)
    reason = _why_invalid(session)
    verdicts = _verdicts(session)
    if reason:
        verdicts = [
            msgspec.structs.replace(one, verdict=Verdict.INVALID, more_blocks=None, note="")
            for one in verdicts
        ]
    return Analysis(
        valid=not reason,
        rules=rules,
        delta=session.delta,
        floor=session.floor,
        shift=common_shift(session.screened, rules),
        explained=session.adjustment.explained,
        verdicts=tuple(verdicts),
        reason=reason,
        note=session.adjustment.note,
    )


def next_round(analysis: Analysis, measured: int) -> Round | None:
    """The confirm blocks that `--until-settled` measures next, or None where there is nothing to
    do: as many as there have been, up to the cap, of the cases that are ambiguous for want of
    blocks. `measured` is the number of confirm blocks so far.

    What a case is forecast to need does not choose: after few blocks the forecast is as uncertain
    as the case.
    """
    rules = analysis.rules
    left = rules.block_cap - measured
    cases = tuple(
        one.case
        for one in analysis.verdicts
        if one.verdict == Verdict.AMBIGUOUS and one.p is not None
    )
    if left <= 0 or not cases:
        return None
    return Round(cases, measured, min(measured or rules.confirm_blocks, left))


@dataclass(frozen=True)
class _Session:
    """What the replicates say of each case, a row each, before anything is concluded."""

    rules: Rules
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


def _session(replicates: Sequence[Replicate], rules: Rules) -> _Session:
    cases = cases_of(replicates)
    adjustment = adjusted(replicates)
    # What the confirm blocks tell of the core's pace has no part in choosing what they measure.
    before = adjusted([one for one in replicates if one.phase != "confirm"])

    def of_phase(phase: Phase) -> Effects:
        used = adjustment if phase == "confirm" else before
        found = effects(used.replicates, phase, cases)
        # The clock's steps are in what was measured.
        return replace(found, resolution=effects(replicates, phase, cases).resolution)

    controlled, screened = of_phase("control"), of_phase("screen")
    control, screen = estimate(controlled), estimate(screened)
    floor = noise_floor(control)
    delta = max(rules.margin, floor or 0.0)
    return _Session(
        rules=rules,
        adjustment=adjustment,
        cases=cases,
        controlled=controlled,
        screened=screened,
        control=control,
        screen=screen,
        confirm=estimate(of_phase("confirm")),
        floor=floor,
        delta=delta,
        chosen=_chosen(screen, delta, rules),
    )


def _chosen(screen: Estimate, delta: float, rules: Rules) -> Mask:
    """Which cases the screen makes candidates of, in either direction."""
    large = np.abs(screen.mean) > delta
    slower, faster = (
        rejected(p, rules.screen_q) | ((p < rules.screen_p) & large)
        for p in (p_above(screen, 0.0), p_below(screen, 0.0))
    )
    return np.asarray(slower | faster)


def _why_invalid(session: _Session) -> str:
    """Why the session is invalid, and what to do; empty where it is not."""
    if session.floor is None:
        return "A was not compared with itself: measure two control blocks or more"
    remedy = "quieten the machine, look for what differs between the arms, and measure again"
    differs = differing(session.control, session.rules)
    if differs.any():
        mean = session.control.mean
        worst = int(np.argmax(np.where(differs, np.abs(mean), 0.0)))
        return (
            f"A differs from itself in {np.count_nonzero(differs)} of {len(session.cases)} cases, "
            f"most in {session.cases[worst]}, by {np.expm1(mean[worst]):+.1%}: {remedy}"
        )
    if shifted(session.controlled, session.rules):
        return f"A differs from itself in all cases together: {remedy}"
    return ""


def _verdicts(session: _Session) -> list[CaseVerdict]:
    """The verdicts of all cases, as they are in a valid session."""
    rules, delta = session.rules, session.delta
    confirmed = session.confirm.n >= 2
    judged = _either(confirmed, session.confirm, session.screen)
    looks = np.where(confirmed, rules.looks, 1)

    p = p_beyond(judged, delta)
    tested = np.where(confirmed, np.minimum(p * looks, 1.0), np.nan)
    changed = rejected(tested, rules.confirm_q)
    alike = p_within(judged, delta) * looks <= rules.same_level
    same = alike & (confirmed | ~session.chosen)
    low, high = bounds(judged, rules.same_level / looks)

    next_level = level_of_next(tested, rules.confirm_q)
    levels = next_level / rules.looks, rules.same_level / rules.looks
    needed = blocks_needed(judged, delta, *levels)
    # The forecast counts one tail and the test both: two blocks that failed may seem enough.
    more = np.maximum(needed - np.where(confirmed, judged.n, 0), 1)
    more[changed | same] = np.nan

    return [
        CaseVerdict(
            case=case,
            verdict=_verdict(bool(changed[row]), bool(same[row]), judged.mean[row]),
            effect=_known(judged.mean[row]),
            low=_known(low[row]),
            high=_known(high[row]),
            p=_known(p[row]),
            phase="confirm" if confirmed[row] else "screen",
            n_blocks=int(judged.n[row]),
            more_blocks=None if np.isnan(more[row]) else int(more[row]),
            note="" if changed[row] or same[row] else _why_open(session, row, judged, more),
        )
        for row, case in enumerate(session.cases)
    ]


def _either(mask: Mask, yes: Estimate, no: Estimate) -> Estimate:
    """Row by row the one estimate or the other."""
    return Estimate(
        np.where(mask, yes.mean, no.mean),
        np.where(mask, yes.error, no.error),
        np.where(mask, yes.n, no.n),
    )


def _verdict(changed: bool, same: bool, effect: float) -> Verdict:
    if changed:
        return Verdict.REGRESSED if effect > 0 else Verdict.IMPROVED
    return Verdict.SAME if same else Verdict.AMBIGUOUS


def _why_open(session: _Session, row: int, judged: Estimate, more: Floats) -> str:
    """Why a case is ambiguous, where the number of blocks it needs does not say it."""
    if judged.n[row] < 2:
        return f"complete blocks: {int(judged.n[row])}, and two are the fewest"
    if session.chosen[row] and session.confirm.n[row] < 2:
        return "a candidate without confirm blocks"
    if np.isnan(more[row]):
        return f"too near delta for {MOST_BLOCKS} blocks to settle it"
    return ""


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
