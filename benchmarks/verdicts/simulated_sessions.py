"""Simulated sessions of `opperf ab`: effects of blocks, and the procedures that judge them.

Two procedures see the same kind of session: the package's own (`look_by_look`), and the one before
it (`screen_and_confirm`), a peer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from opperf.statistics.blocks import BLOCK, SIGNS, Effects
from opperf.statistics.common_shift import fault, median_effects
from opperf.statistics.data import Phase, Thresholds
from opperf.statistics.decisions import Decisions, look
from opperf.statistics.design import block_order
from opperf.statistics.false_discovery import reject
from opperf.statistics.paired_t import (
    Estimate,
    bounds,
    estimate,
    p_above,
    p_below,
    p_beyond,
    p_within,
)

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SPREAD = 0.46
"""Standard deviation of the logarithm of the cases' scatter. The scatters of twenty cases are then
3.7 times as far apart, a factor of 5.5: their variances differ 30-fold."""
TAIL_FREEDOM = 4.0
"""Degrees of freedom of Student's t distribution of processes: few process medians lie five
standard deviations out, as on a machine with neighbours."""
DRIFT = 0.003
"""Standard deviation of the machine's step from one process to the next, a random walk of all cases
together."""
SLOW_SHARE = 0.25
"""Share of the processes that are in a case's slow mode."""


@dataclass(frozen=True)
class Condition:
    """How a machine scatters, in log units."""

    name: str
    scatter: float
    """Geometric mean over the cases of the standard deviation of a block's effect, without drift
    and modes as with them."""
    spread: float = SPREAD
    tails: float = TAIL_FREEDOM
    """Degrees of freedom; 0 for a normal distribution."""
    modes: float = 0.0
    """Share of a case's variance between processes that is due to two modes, the slow one in
    `SLOW_SHARE` of the processes."""
    drift: float = DRIFT
    bias: float = 0.0
    """Size of what differs between A and B in every case beside the change, in a random direction:
    a layout of B's build, which A against A does not have."""


@dataclass
class Session:
    """A session on a machine. `change` is B's by case."""

    seed: int
    change: Floats
    condition: Condition
    effect: Floats = field(init=False)
    """What B's processes differ by: the change, and the bias."""
    level: float = 0.0

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.seed, self.change.size])
        cases, condition = self.change.size, self.condition
        self.scatter = condition.scatter * np.exp(self.rng.normal(0.0, condition.spread, cases))
        self.effect = self.change + condition.bias * self.rng.choice([-1.0, 1.0], cases)

    def measure(self, phase: Phase, blocks: range) -> Floats:
        """Effects of all cases (rows) in these blocks (columns)."""
        # An effect, half the difference of two sums of two, has the variance of one process.
        logs = self.scatter[:, None, None] * self._processes(len(blocks))
        walk = self.rng.normal(0.0, self.condition.drift, (len(blocks), BLOCK))
        logs += self.level + walk.cumsum().reshape(walk.shape)
        self.level += walk.sum()
        orders = [block_order(self.seed, phase, block) for block in blocks]
        signs = np.array([[SIGNS[arm] for arm in order] for order in orders])
        measured = np.einsum("cbp,bp->cb", logs, signs) / 2
        return measured + self.effect[:, None] if phase == "comparison" else measured

    def _processes(self, blocks: int) -> Floats:
        shape, condition = (self.change.size, blocks, BLOCK), self.condition
        if freedom := condition.tails:
            noise = self.rng.standard_t(freedom, shape) / np.sqrt(freedom / (freedom - 2))
        else:
            noise = self.rng.normal(size=shape)
        if not condition.modes:
            return noise
        slow = (self.rng.random(shape) < SLOW_SHARE) - SLOW_SHARE
        slow /= np.sqrt(SLOW_SHARE * (1 - SLOW_SHARE))
        return np.sqrt(1 - condition.modes) * noise + np.sqrt(condition.modes) * slow


@dataclass(frozen=True)
class Outcome:
    """A procedure's verdicts on the cases of a session."""

    slower: Mask
    faster: Mask
    same: Mask
    low: Floats
    high: Floats
    starts: int
    """Processes started."""
    invalid: bool


Procedure = Callable[[Session], Outcome]


def look_by_look(session: Session, thresholds: Thresholds | None = None) -> Outcome:
    """The package's procedure; `verdicts.analyse` does the same with processes' results."""
    thresholds = thresholds or Thresholds()
    cases = session.change.size
    control = _of(session.measure("control", range(thresholds.control_blocks)))
    starts = BLOCK * thresholds.control_blocks
    decisions = Decisions.none(cases)
    measured, invalid = np.empty((cases, 0)), False
    for n_blocks in thresholds.looks:
        blocks = range(measured.shape[1], n_blocks)
        new = session.measure("comparison", blocks)
        new[decisions.decided] = np.nan
        measured = np.concatenate([measured, new], axis=1)
        starts += BLOCK * len(blocks)
        if not decisions.looks and fault(control, _of(measured), thresholds):
            invalid = True
            break
        look([decisions], [estimate(_of(measured), control)], thresholds)
        if decisions.decided.all():
            break
    slower = decisions.changed & (decisions.mean > 0)
    return Outcome(
        slower=slower,
        faster=decisions.changed & ~slower,
        same=decisions.same,
        low=decisions.low,
        high=decisions.high,
        starts=starts,
        invalid=invalid,
    )


PEER_CONTROL, PEER_SCREEN, PEER_CONFIRM = 4, 6, 12
"""Blocks of the peer's three phases."""
PEER_FLOOR = 99.0
"""Percentile of the control's |log ratio| that is the peer's noise floor."""
PEER_SCREEN_Q, PEER_SCREEN_P = 0.30, 0.05
"""The peer's candidates: false discovery rate, and level beyond delta."""


def screen_and_confirm(session: Session) -> Outcome:
    """A screen of all cases and fresh blocks of the candidates, with a margin of at least the noise
    floor, which the control's effects give."""
    thresholds = Thresholds()
    control = _of(session.measure("control", range(PEER_CONTROL)))
    of_control = estimate(control)
    delta = max(thresholds.margin, float(np.percentile(np.abs(of_control.mean), PEER_FLOOR)))
    level = thresholds.control_q / 2
    differs = reject(p_beyond(of_control, thresholds.margin), level).any()
    (shifted,) = p_beyond(estimate(median_effects(control)), thresholds.margin) <= level
    invalid = bool(differs or shifted)
    screen = estimate(_of(session.measure("comparison", range(PEER_SCREEN))))
    chosen = candidates(screen, delta)
    starts = BLOCK * (PEER_CONTROL + PEER_SCREEN)
    # Orders need not be new: the noise of every block is.
    confirm = session.measure("comparison", range(PEER_CONFIRM))
    confirm[~chosen] = np.nan
    if chosen.any():
        starts += BLOCK * PEER_CONFIRM
    return judge_confirmed(screen, estimate(_of(confirm)), chosen, delta, starts, invalid)


def candidates(screen: Estimate, delta: float) -> Mask:
    """The cases of which the peer measures more blocks."""
    large = np.abs(screen.mean) > delta
    slower, faster = (
        reject(p, PEER_SCREEN_Q) | ((p < PEER_SCREEN_P) & large)
        for p in (p_above(screen, 0.0), p_below(screen, 0.0))
    )
    return np.asarray(slower | faster)


def judge_confirmed(
    screen: Estimate, confirm: Estimate, chosen: Mask, delta: float, starts: int, invalid: bool
) -> Outcome:
    """The peer's verdicts."""
    thresholds = Thresholds()
    changed = reject(p_beyond(confirm, delta), thresholds.changed_q)
    within = np.where(chosen, p_within(confirm, delta), p_within(screen, delta))
    ends = zip(*(bounds(one, thresholds.same_level) for one in (confirm, screen)), strict=True)
    low, high = (np.where(chosen, of_confirm, of_screen) for of_confirm, of_screen in ends)
    valid = np.full(chosen.shape, not invalid)
    return Outcome(
        slower=changed & (confirm.mean > 0) & valid,
        faster=changed & (confirm.mean < 0) & valid,
        same=(within <= thresholds.same_level) & ~changed & valid,
        low=low,
        high=high,
        starts=BLOCK * PEER_CONTROL if invalid else starts,
        invalid=invalid,
    )


def _of(values: Floats) -> Effects:
    """Effects as of a clock without steps."""
    return Effects(values, np.zeros(len(values)))
