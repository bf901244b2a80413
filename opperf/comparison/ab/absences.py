"""Cases that are compared with no other, as an arm, or both, have no figure of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opperf.model import Pass, Struct
from opperf.results.text import add_distinct


class Absence(Struct, frozen=True):
    """A case that an arm has not, or does not measure."""

    id: str
    """That of A's case in a run with the usual process; of B's where A has none."""
    operator: str
    inputs: str
    passes: tuple[Pass, ...]
    """Those of the arm that has it."""
    reasons: dict[str, str]
    """By arm that lacks it."""
    is_missing: bool = False
    """Whether the first arm can and another cannot, which is a finding. Where each arm
    names operators of its own, other inputs of its operator are none."""

    @property
    def case(self) -> str:
        """Its operator and inputs."""
        return f"{self.operator} ({self.inputs})"

    @property
    def reason(self) -> str:
        """Why arms lack it: once where that is the same of all."""
        if len(self.reasons) > 1 and len(set(self.reasons.values())) == 1:
            every = "both" if len(self.reasons) == 2 else "each"
            return f"{every}: {next(iter(self.reasons.values()))}"
        return "; ".join(f"{arm}: {why}" for arm, why in self.reasons.items())


def reasons_of(absences: Iterable[Absence]) -> Mapping[str, str]:
    """Returns the reasons by case, whose id is named where it is not the only one of its name."""
    found: dict[str, str] = {}
    for absence in absences:
        add_distinct(found, absence.case, absence.id, absence.reason)
    return found
