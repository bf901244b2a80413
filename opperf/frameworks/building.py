"""The capability to compile what cases need before they are measured."""

from __future__ import annotations

from collections.abc import Sequence

from opperf.frameworks.base import Core
from opperf.model import Case, SnippetTarget


class Building(Core):
    """Cases whose code is compiled ahead of the run. Default: none, and each is ready."""

    def build(self, cases: Sequence[Case]) -> None:
        """Compiles what the cases need, together, as that takes less time than one by one. What
        cannot be compiled is the record of its case, and no error here."""


def needs_build(case: Case) -> bool:
    """Whether the code of a case is compiled ahead of the run."""
    return isinstance(case.target, SnippetTarget) and case.target.language == "c++"
