"""Several ranks of one job side by side: who waits for whom in collective operations, and where
ranks do not make the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opperf.traces.anomalies import BETWEEN_JOBS, Anomalies, labels_of, of_processes
from opperf.traces.collectives import Message
from opperf.traces.overview import Overview
from opperf.traces.trace import Collective


class Joined(NamedTuple):
    """One collective operation as its ranks made it."""

    group: str
    number: int
    """Its position among those of the group that are compared, from 0."""
    message: Message
    """As the first rank has it."""
    nodes: tuple[int | None, ...]
    """Its node on each rank; None on those that are not in the group."""
    times_ns: tuple[int | None, ...]
    """On each rank; None where it is unknown."""

    @property
    def last(self) -> int | None:
        """Index of the rank that came last, for which the others waited: that on which it is
        shortest; None if less than two times are known."""
        known = [(time, rank) for rank, time in enumerate(self.times_ns) if time is not None]
        return min(known)[1] if len(known) > 1 else None

    @property
    def waits_ns(self) -> tuple[int, ...]:
        """Time that each rank waited for the last one, 0 where it is unknown."""
        if self.last is None:
            return (0,) * len(self.times_ns)
        known = [time for time in self.times_ns if time is not None]
        return tuple(0 if time is None else time - min(known) for time in self.times_ns)


class Disagreement(NamedTuple):
    """The first place in a process group where its ranks do not do the same."""

    group: str
    number: int
    """Position among those of the group."""
    texts: tuple[str, ...]
    """Operation of each rank there."""
    nodes: tuple[int | None, ...]


class Ranks(NamedTuple):
    """Several ranks side by side."""

    overviews: tuple[Overview, ...]
    joined: tuple[Joined, ...]
    disagreements: tuple[Disagreement, ...]
    """One of each group that has one. Later operations of it are not compared."""
    anomalies: Anomalies
    """Of these ranks as those of one job."""

    @property
    def labels(self) -> list[str]:
        return labels_of([overview.process for overview in self.overviews])

    @property
    def has_times(self) -> bool:
        """Whether it is known how long some collective operation took."""
        return any(operation.last is not None for operation in self.joined)

    def waits(self) -> list[list[int]]:
        """Returns how long each rank waited for each, in nanoseconds: by the index of the rank that
        waits, then of the one that came last."""
        size = len(self.overviews)
        found = [[0] * size for _ in range(size)]
        for operation in self.joined:
            if operation.last is not None:
                for rank, wait in enumerate(operation.waits_ns):
                    found[rank][operation.last] += wait
        return found


def compare_ranks(overviews: Sequence[Overview]) -> Ranks:
    """Returns ranks side by side. Collective operations of a group are those of other ranks by
    their number in it, or their order where a trace has no numbers; those of several jobs are not
    compared."""
    anomalies = of_processes([overview.process for overview in overviews])
    if any(anomaly in anomalies for anomaly in BETWEEN_JOBS):
        return Ranks(tuple(overviews), (), (), anomalies)
    groups = dict.fromkeys(group for overview in overviews for group in overview.collectives)
    joined: list[Joined] = []
    disagreements: list[Disagreement] = []
    for group in groups:
        own, different = _join(group, [overview.collectives.get(group) for overview in overviews])
        joined += own
        disagreements += different
    return Ranks(tuple(overviews), tuple(joined), tuple(disagreements), anomalies)


NOTHING = "nothing more"
"""Text for a rank that has no further operation."""


def _join(
    group: str, ranks: Sequence[list[Collective] | None]
) -> tuple[list[Joined], list[Disagreement]]:
    """Returns the operations of a group up to the first one that its ranks do not make alike, and
    that. Recording may have begun and ended at another operation on each rank, where these are
    numbered."""
    by_order = [
        None if own is None else {operation.order: operation for operation in own} for own in ranks
    ]
    members = [found for found in by_order if found]
    if len(members) < 2:
        return [], []
    first = max(min(found) for found in members)
    orders = sorted({order for found in members for order in found if order >= first})
    joined: list[Joined] = []
    for number, order in enumerate(orders):
        here = [None if found is None else found.get(order) for found in by_order]
        texts = tuple(
            ""
            if found is None
            else NOTHING
            if operation is None
            else message_text(operation.message)
            for found, operation in zip(by_order, here, strict=True)
        )
        nodes = tuple(None if operation is None else operation.node for operation in here)
        if len(set(filter(None, texts))) > 1:
            return joined, [Disagreement(group, number, texts, nodes)]
        made = next(operation for operation in here if operation is not None)
        times = tuple(
            None if operation is None or operation.time_ns < 0 else operation.time_ns
            for operation in here
        )
        joined.append(Joined(group, number, made.message, nodes, times))
    return joined, []


def message_text(message: Message) -> str:
    """Returns what a collective operation sends, in a few words."""
    size = f" of {message.sent:,} x" if message.sent > 0 else ""
    return f"{message.name}{size} {message.dtype}".strip()
