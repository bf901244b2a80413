"""Measures a case's peak memory in a pristine process, which has run nothing."""

from __future__ import annotations

import msgspec

from opperf.frameworks import Framework
from opperf.instruments.bound import Bound
from opperf.instruments.memory import MEMORY
from opperf.instruments.peaks import Peaks, peaks
from opperf.instruments.prepared import PreparedCase, compiles
from opperf.model import Case, Note, NoteCode
from opperf.runner.pristine import is_self_contained, pristine_server


class PristineMeter:
    """Measures in a pristine process where the framework keeps workspace; if the case cannot be
    measured there, in this one, with a note. `bound` are the caller's objects that the case
    needs."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def begin(self, case: Case, framework: Framework) -> None:
        if framework.keeps_workspace(case.settings.device) and not self._obstacle(case, framework):
            pristine_server(framework.name).begin(case)

    def peaks(self, prepared: PreparedCase) -> Peaks:
        case, framework = prepared.case, prepared.framework
        if not framework.keeps_workspace(case.settings.device):
            return peaks(prepared)
        obstacle = self._obstacle(case, framework)
        found = None if obstacle else pristine_server(framework.name).peaks(case)
        return found or _measure_here(prepared, obstacle or "the fork made for it gave no answer")

    def _obstacle(self, case: Case, framework: Framework) -> str:
        """Returns why the case cannot be measured in another process; empty if it can."""
        if not is_self_contained(case, self._bound):
            return "its function or its arrays are its caller's"
        if compiles(case, framework):
            return "another one would compile it a second time"
        if not framework.supports_fork(case.settings.device):
            return f"{case.settings.device} cannot be used in a fork"
        return ""


def _measure_here(prepared: PreparedCase, why: str) -> Peaks:
    """Returns the peaks in this process, which has run operators before, with a note."""
    note = Note(
        MEMORY.name,
        NoteCode.NOT_PRISTINE,
        f"measured in a process that had run operators before, as {why}; workspace kept from "
        "them is not counted",
    )
    return msgspec.structs.replace(peaks(prepared), notes=(note,))
