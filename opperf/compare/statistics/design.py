"""The order of measuring: which arm comes when, and which case.

Assumption: whatever disturbs the machine changes slowly against the time of a block. In ABBA
and in BAAB a level that rises in proportion to time adds as much to one arm as to the other, and
the arms' places are left to chance, so that what no such block cancels (a disturbance that comes
back with every fourth process, a cost of being first) favours neither of them in the long run.
Source: R. A. Fisher, The Design of Experiments (1935), chapter IV, on randomised blocks;
D. R. Cox, Planning of Experiments (1958), chapter 14, on orders that are balanced for trend.
Breaks when the machine jumps within a block. The jump then is in the block's effect: noise,
which the blocks' scatter tells of, and no bias.

Everything here is a function of the seed and of the place in the session, so that a session
that was interrupted goes on as it would have.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Literal

from opperf.compare.statistics.data import Phase

Order = Literal["ABBA", "BAAB"]

ORDERS: tuple[Order, Order] = ("ABBA", "BAAB")
"""The two orders of two As and two Bs in which neither arm is earlier on average."""


def block_order(seed: int, phase: Phase, block: int) -> Order:
    """The order of a block's four processes.

    Of the blocks 0 and 1, 2 and 3, ... one has each order, by lot: they are balanced after any
    even number of blocks, so a phase can be continued.
    """
    pair, second = divmod(block, 2)
    first = random.Random(f"{seed}/{phase}/{pair}").randrange(2)
    return ORDERS[first ^ second]


def visiting_order(
    cases: Iterable[str], seed: int, phase: Phase, block: int, position: int
) -> list[str]:
    """The cases, in the order in which the process at that position of the block visits them.

    Each process has its own order: what a case finds of the one before it, in caches and
    allocators, is then part of the noise between processes instead of a bias in all of them.
    """
    visited = sorted(cases)
    random.Random(f"{seed}/{phase}/{block}/{position}").shuffle(visited)
    return visited
