"""Tables of a simulation, and the targets that it missed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tabulate import tabulate

MOST_FALSE = 0.05
"""False discovery rate that is promised."""


@dataclass
class Report:
    """Tables to print, and the targets that were missed."""

    missed: list[str] = field(default_factory=list)

    def check(self, kept: bool, target: str) -> None:
        if not kept:
            self.missed.append(target)

    def table(self, title: str, headers: Iterable[str], rows: Iterable[list[object]]) -> None:
        print(f"\n{title}\n")
        print(tabulate(rows, list(headers), tablefmt="github", disable_numparse=True), flush=True)
