"""Where a case's peaks of memory are measured: in this process, or in one that has run nothing."""

from __future__ import annotations

from typing import Protocol

import msgspec

from opperf.frameworks import Framework
from opperf.metrics import MEMORY
from opperf.model import Case, Note, NoteCode
from opperf.runner.memory import Peaks, peaks
from opperf.runner.prepared import Prepared
from opperf.runner.pristine import is_self_contained, pristine
from opperf.sources.bound import Bound


class Memory(Protocol):
    """Measures the peaks of a case."""

    def begin(self, case: Case, framework: Framework) -> None:
        """Begin to measure the case, whose tensors are made here meanwhile."""
        ...

    def peaks(self, prepared: Prepared) -> Peaks:
        """The peaks of the case."""
        ...


class Here:
    """Measures in this process, which may have run other cases before."""

    def begin(self, case: Case, framework: Framework) -> None:
        """There is no second process that could begin."""

    def peaks(self, prepared: Prepared) -> Peaks:
        return peaks(prepared)


HERE = Here()


class Fresh:
    """Measures in a process that has run nothing, where the case can be measured there; else in
    this one, with a note. `bound` are the objects of a caller's that the case needs."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def begin(self, case: Case, framework: Framework) -> None:
        if not self._obstacle(case, framework):
            pristine(framework.name).begin(case)

    def peaks(self, prepared: Prepared) -> Peaks:
        case, framework = prepared.case, prepared.framework
        obstacle = self._obstacle(case, framework)
        found = None if obstacle else pristine(framework.name).peaks(case)
        return found or _with_note(prepared, obstacle or "the fork made for it gave no answer")

    def _obstacle(self, case: Case, framework: Framework) -> str:
        """Why the case cannot be measured in another process; empty if it can."""
        if not is_self_contained(case, self._bound):
            return "its function or its arrays are its caller's"
        if not framework.supports_fork(case.settings.device):
            return f"{case.settings.device} cannot be used in a fork"
        return ""


def _with_note(prepared: Prepared, why: str) -> Peaks:
    """Peaks from this process, which has run this case and others before."""
    note = Note(
        MEMORY.name,
        NoteCode.NOT_PRISTINE,
        f"measured where operators had run before, as {why}; workspace kept from then is missing",
    )
    return msgspec.structs.replace(peaks(prepared), notes=(note,))
