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
"""

from __future__ import annotations

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
