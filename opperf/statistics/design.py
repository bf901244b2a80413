"""The order of the arms' processes in a block, and of the cases in a process.

Assumption: disturbances of the machine change slowly compared with the time of a block. In ABBA,
in BAAB and, of three arms, in ABCCBA a linear drift adds as much to one arm as to the others. Which
order a block has is random, so that other disturbances (one that recurs with every fourth process,
a cost of being first) favour no arm in the long run.
Source: R. A. Fisher, The Design of Experiments (1935), chapter IV, on randomised blocks;
D. R. Cox, Planning of Experiments (1958), chapter 14, on orders that are balanced for trend.
Breaks when the machine's speed jumps within a block. The jump is then in the block's effect: noise,
which the scatter of the blocks shows, and no bias.

Every order is a function of the seed and of the place in the session, so that a resumed session has
the same orders as an uninterrupted one.

How long a process measures a case, so that a session reaches a standard error soonest.

A visit of a case costs a fixed time, of the process and of the case's inputs, and the time of its
samples. Its value varies between processes, whatever the number of samples, and within a process,
less the longer it samples. More visits lower both parts, longer ones the second only.
Source: W. G. Cochran, Sampling Techniques (3rd ed., 1977), section 10.6: in two stages the best
number of elements in a unit is the root of the ratio of costs times that of variances.
Breaks when samples are not independent, as on a core whose speed changes within a visit: what they
have in common then counts as variance between processes, and a visit is shorter than is best. That
costs time and no verdict: the scatter of the blocks has all parts.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from typing import Literal

Order = Literal["ABBA", "BAAB"]

ORDERS: tuple[Order, Order] = ("ABBA", "BAAB")
"""The orders of two As and two Bs, any two arms, in which neither is earlier on average."""


FEWEST_BLOCKS = 2
"""Of a phase. One block has no variance, and so no confidence interval."""


def block_order(
    seed: int, phase: str, block: int, arms: Sequence[str] = ("A", "B")
) -> tuple[str, ...]:
    """Returns the arms of a block's processes, two for each, in their order: one that reads the
    same from both ends, so that no arm is earlier on average. Each pair of blocks (0 and 1, 2 and
    3, ...) has a random order and its reverse: a phase is balanced after any even number of blocks
    and can be continued."""
    pair, second = divmod(block, 2)
    order = random.Random(f"{seed}/{phase}/{pair}").sample(arms, len(arms))
    return (*order, *reversed(order)) if not second else (*reversed(order), *order)


def visiting_order(
    cases: Iterable[str], seed: int, phase: str, block: int, position: int, n_arms: int = 2
) -> list[str]:
    """Returns the cases in random order, for the process at a position of a block. What the cases
    before leave in caches and allocators may change the time of a case by a third. So the first
    processes of a block, one of each arm, have one order, and the others another: it is alike in
    all arms, and no case always follows the same one."""
    visited = sorted(cases)
    random.Random(f"{seed}/{phase}/{block}/{position // n_arms}").shuffle(visited)
    return visited


LEAST_SHARE = 0.1
"""Least share of a visit's variance that counts as being between processes: estimated from few
blocks it may be nothing by chance."""


def best_seconds(cost_s: float, sample_variance: float, visit_variance: float) -> float:
    """Returns the best time of a visit's samples.

    `cost_s` is the fixed time of a visit in seconds; `sample_variance` the variance within a
    process times the seconds sampled; `visit_variance` that of a visit at its present length less
    what is within; both in squared log units. Infinite where a visit varies by nothing else."""
    if visit_variance <= 0.0:
        return math.inf if sample_variance > 0.0 else 0.0
    return math.sqrt(cost_s * sample_variance / visit_variance)
