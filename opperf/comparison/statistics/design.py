"""The order of the arms' processes in a block, and of the cases in a process.

Assumption: disturbances of the machine change slowly compared with the time of a block. In ABBA and
in BAAB a linear drift adds as much to one arm as to the other. Which of the two a block has is
random, so that other disturbances (one that recurs with every fourth process, a cost of being
first) favour neither arm in the long run.
Source: R. A. Fisher, The Design of Experiments (1935), chapter IV, on randomised blocks;
D. R. Cox, Planning of Experiments (1958), chapter 14, on orders that are balanced for trend.
Breaks when the machine's speed jumps within a block. The jump is then in the block's effect: noise,
which the scatter of the blocks shows, and no bias.

Every order is a function of the seed and of the place in the session, so that a resumed session has
the same orders as an uninterrupted one.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Literal

from opperf.comparison.statistics.data import Phase

Order = Literal["ABBA", "BAAB"]

ORDERS: tuple[Order, Order] = ("ABBA", "BAAB")
"""The two orders of two As and two Bs in which neither arm is earlier on average."""


FEWEST_BLOCKS = 2
"""Of a phase. One block has no variance, and so no confidence interval."""


def block_order(seed: int, phase: Phase, block: int) -> Order:
    """The order of a block's four processes.

    Each pair of blocks (0 and 1, 2 and 3, ...) has both orders, in random sequence: a phase is
    balanced after any even number of blocks and can be continued.
    """
    pair, second = divmod(block, 2)
    first = random.Random(f"{seed}/{phase}/{pair}").randrange(2)
    return ORDERS[first ^ second]


def visiting_order(
    cases: Iterable[str], seed: int, phase: Phase, block: int, position: int
) -> list[str]:
    """The cases in random order, for the process at a position of a block.

    What the cases before leave in caches and allocators may change the time of a case by a third.
    So the first two processes of a block, an A and a B, have one order, and the last two another:
    it is in both arms alike, and no case always follows the same one.
    """
    visited = sorted(cases)
    random.Random(f"{seed}/{phase}/{block}/{position // 2}").shuffle(visited)
    return visited
