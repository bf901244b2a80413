"""The one view of the figures of records, which comparisons, reports, exports, histories and Python
read; and the names of cases outside of opperf."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from opperf.model import Case, identity_of
from opperf.results.settings import changed_settings_text
from opperf.results.text import inputs_text

LONGEST = 896
"""Most characters of a name: Bencher allows 1024, of which an eighth is for the metric."""


class CaseName(NamedTuple):
    """The name of a case where others show it: in exports, and in the dashboards that are fed by
    them."""

    called: str
    """What the case calls: `relu`."""
    parameters: str
    """Inputs, framework, and the settings that are not at their defaults."""

    @classmethod
    def of(cls, called: str, *parts: str) -> CaseName:
        """Returns the name with these parameters, without those that are empty."""
        return cls(called, "; ".join(filter(None, parts)))

    def __str__(self) -> str:
        return f"{self.called}[{self.parameters}]" if self.parameters else self.called

    def of_metric(self, metric: str) -> CaseName:
        """Returns the name of one of the case's metrics: `relu.forward`."""
        return self._replace(called=f"{self.called}.{metric}")


def case_name(case: Case) -> CaseName:
    """Returns the name of a case, which depends on nothing but the case: tools compare runs by
    names."""
    return CaseName.of(
        case.label,
        inputs_text(case),
        case.target.framework,
        changed_settings_text(identity_of(case.settings)),
    )


def distinct_names(named: Mapping[str, CaseName]) -> dict[str, CaseName]:
    """Returns names by the ids of cases, each with its id if it is too long, or another case of
    these has it too."""
    shared = Counter(str(name)[:LONGEST] for name in named.values())
    return {
        id: name
        if shared[str(name)[:LONGEST]] == 1 and len(str(name)) <= LONGEST
        else _with_id(name, id)
        for id, name in named.items()
    }


def _with_id(name: CaseName, id: str) -> CaseName:
    # Brackets, and what is before the id.
    room = LONGEST - len("[; ]") - len(id)
    called = name.called[:room]
    return CaseName.of(called, name.parameters[: room - len(called)], id)
