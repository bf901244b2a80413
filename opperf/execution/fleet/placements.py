"""Gives cases to the slots of nodes, each of which measures one at a time: a case that names a node
to one of it, cases that are compared to the same node, and any other to the slot that is free.

It knows neither threads nor Ray, so that a simulation drives it too."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Slot(NamedTuple):
    """A place that measures one case at a time."""

    node: str
    number: int
    """Distinguishes the slots of a run."""


@dataclass(frozen=True)
class Wanted:
    """The place that a case needs."""

    node: str = ""
    """Empty for any."""
    pair: str = ""
    """Key of the cases that it is compared with, all by one node; empty for none."""


class Given(NamedTuple):
    """An answer."""

    slot: Slot | None
    """None if no slot can measure the case any more."""
    parted: str = ""
    """Node that measured the cases that it is compared with, and has ended since."""


Give = Callable[[Given], None]


@dataclass(frozen=True)
class _Ask:
    wanted: Wanted
    give: Give


class Placements:
    """The slots of a cluster, and who waits for them. `pairs` are nodes by key, as an earlier run
    measured them. Not safe to call by several threads at once."""

    def __init__(self, pairs: Mapping[str, str] | None = None) -> None:
        self._pairs = dict(pairs or {})
        self._parted: dict[str, str] = {}
        """By key, the node that has ended."""
        self._free: dict[str, deque[Slot]] = {}
        self._idle: dict[Slot, None] = {}
        """Free slots, the one that has waited longest first."""
        self._slots: Counter[str] = Counter()
        """Number of the slots of each node that are, or will be, there."""
        self._anywhere: deque[_Ask] = deque()
        self._at: dict[str, deque[_Ask]] = {}

    @property
    def nodes(self) -> tuple[str, ...]:
        """Nodes that have a slot, or will have one."""
        return tuple(self._slots)

    @property
    def waiting(self) -> int:
        """Number of cases that wait for a slot."""
        return len(self._anywhere) + sum(map(len, self._at.values()))

    def expect(self, node: str) -> None:
        """Counts a slot of a node that is not there yet."""
        self._slots[node] += 1

    def free(self, slot: Slot) -> None:
        """Takes a slot that was expected, or whose case has ended, and gives it to who waits."""
        waiting = self._at.get(slot.node)
        if waiting:
            waiting.popleft().give(Given(slot))
            return
        while self._anywhere:
            ask = self._anywhere.popleft()
            node = self._node_of(ask.wanted)
            if node in ("", slot.node):
                self._give(ask, slot)
                return
            # Since it asked, another case of its pair has begun.
            self._wait_or_give(ask, node)
        self._idle[slot] = None
        self._free.setdefault(slot.node, deque()).append(slot)

    def withdraw(self, slot: Slot) -> bool:
        """Takes a slot out of the free ones; returns whether it was one of them."""
        if slot not in self._idle:
            return False
        self._take(slot)
        return True

    def lose(self, node: str) -> None:
        """Forgets a slot that is not free. Who waits for the last one of a node goes on without."""
        self._slots[node] -= 1
        if self._slots[node] > 0:
            return
        del self._slots[node]
        for pair in [pair for pair, own in self._pairs.items() if own == node]:
            del self._pairs[pair]
            self._parted[pair] = node
        for ask in self._at.pop(node, ()):
            self.ask(ask.wanted, ask.give)
        if not self._slots:
            self.end()

    def end(self) -> None:
        """Answers all who wait that there is no slot."""
        waiting = [*self._anywhere, *(ask for asks in self._at.values() for ask in asks)]
        self._anywhere.clear()
        self._at.clear()
        for ask in waiting:
            ask.give(Given(None))

    def ask(self, wanted: Wanted, give: Give) -> None:
        """Calls `give` with a slot, at once or when there is one."""
        ask = _Ask(wanted, give)
        node = self._node_of(wanted)
        if not self._slots or (wanted.node and wanted.node not in self._slots):
            give(Given(None))
        elif node:
            self._wait_or_give(ask, node)
        elif self._idle:
            self._give(ask, self._take(next(iter(self._idle))))
        else:
            self._anywhere.append(ask)

    def _node_of(self, wanted: Wanted) -> str:
        if wanted.node:
            return wanted.node
        node = self._pairs.get(wanted.pair, "")
        # An earlier run may have had other nodes.
        return node if node in self._slots else ""

    def _wait_or_give(self, ask: _Ask, node: str) -> None:
        free = self._free.get(node)
        if free:
            ask.give(Given(self._take(free[0])))
        else:
            self._at.setdefault(node, deque()).append(ask)

    def _take(self, slot: Slot) -> Slot:
        del self._idle[slot]
        self._free[slot.node].remove(slot)
        return slot

    def _give(self, ask: _Ask, slot: Slot) -> None:
        """Gives the first case of a pair its slot, whose node is then that of the others."""
        pair, parted = ask.wanted.pair, ""
        if pair and not ask.wanted.node:
            parted = self._parted.pop(pair, "") or self._pairs.get(pair, "")
            self._pairs[pair] = slot.node
        ask.give(Given(slot, parted if parted != slot.node else ""))
