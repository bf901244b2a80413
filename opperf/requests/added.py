"""Options that other packages add to the commands that measure, for their sources and executors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from opperf.declared import declared as entries_of
from opperf.declared import load_declared
from opperf.errors import UsageError
from opperf.requests.declaring import Chosen, Declared, Group, declared

GROUP = "opperf.options"


@dataclass(frozen=True)
class AddedOptions(Chosen):
    """The fields of every `Group` that is an entry point of the group `opperf.options`."""

    def fields(self) -> Iterator[Declared]:
        """Yields the field of each. Raises `UsageError` for an entry point that is none."""
        for entry in entries_of(GROUP):
            kind = load_declared(entry)
            if not (isinstance(kind, type) and issubclass(kind, Group)):
                raise UsageError(
                    f"{entry.value}, an entry point of the group {GROUP}, is not a subclass of "
                    "Group; fix its package, or remove it"
                )
            yield from declared(kind).values()
