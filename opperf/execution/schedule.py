"""Schedules: the order in which cases are visited, and what becomes of their records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from opperf.execution.contended import find_contended, settle_contended
from opperf.execution.rounds import without_memory
from opperf.execution.stalls import find_suspects, settle
from opperf.model import Case, Record
from opperf.results.merging import merge


class Schedule(Protocol):
    """Orders visits of cases, and makes the records that are kept of theirs."""

    def visits(self, extend: Callable[[int], None]) -> Iterator[Case]:
        """Yields the cases to measure. Says by `extend` when more follow than planned. What it
        yields may depend on the records kept by then."""
        ...

    def has_record(self, case: Case) -> bool:
        """Returns whether the record of a visited case is kept, and so its environment."""
        ...

    def keep(self, record: Record) -> list[Record]:
        """Returns the records to write after a visit: new ones, and changed ones again."""
        ...


class Rounds:
    """Visits cases once, or once in each of several rounds. A case that occurs several times has
    one record of all its rounds. One whose time is an outlier beside the others' is measured again
    at the end, and one whose threads waited for cores with one thread."""

    def __init__(self, remaining: Sequence[Case], earlier: Iterable[Record] = ()) -> None:
        self._remaining = remaining
        self.records = {record.id: record for record in earlier}
        """Records so far, by the id of the case, those of an earlier run among them."""
        self._suspects: dict[str, Record] = {}
        self._contended: dict[str, list[str]] = {}
        """Ids of records by those of the cases that measure them with one thread."""

    def visits(self, extend: Callable[[int], None]) -> Iterator[Case]:
        yield from self._remaining
        # A run whose cases are all measured is only closed.
        if not self._remaining:
            return
        found = find_suspects(self.records.values(), len(self.records))
        self._suspects.update({record.id: record for record in found})
        extend(len(found))
        yield from (without_memory(record.case) for record in found)
        unsettled = [id for id, first in self._suspects.items() if self.records[id] is first]
        alone = find_contended(self.records.values(), unsettled)
        self._contended.update({contended.case.id: contended.ids for contended in alone})
        extend(len(alone))
        yield from (contended.case for contended in alone)

    def has_record(self, case: Case) -> bool:
        # That of a case with one thread is part of another case's.
        return case.id not in self._contended

    def keep(self, record: Record) -> list[Record]:
        if record.id in self._contended:
            kept = [settle_contended(self.records[id], record) for id in self._contended[record.id]]
        else:
            first = self._suspects.get(record.id)
            earlier = self.records.get(record.id)
            kept = [
                settle(first, record) if first else merge(earlier, [record]) if earlier else record
            ]
        # A second measurement may have changed nothing.
        changed = [made for made in kept if made is not self.records.get(made.id)]
        self.records.update({made.id: made for made in changed})
        return changed
