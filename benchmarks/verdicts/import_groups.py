"""What sessions would be worth whose blocks share imports, simulated.

A block starts a worker for each arm, and its processes are forks of these. An import takes a second
or two, a fork ten milliseconds: if several blocks had the same two workers, a session would take
less. But forks have a part of their parent's layout, which then is in all blocks of a group: they
are not independent. Here is what the package's procedure does if it takes them as such.

`shared` is the part of the variance of a block's effect that belongs to its workers: of ten
operators, forks had 0.66 of the variance of fresh processes (`fork_layouts.py`), which leaves 0.34
to the workers, and with two forks of an arm in a block 0.34 / (0.34 + 0.66 / 2) = 0.51 of the
block's. With `--layout all` the workers had 0.20 of the processes' variance, and so 0.33.

Prints, for each number of blocks of a pair of workers: sessions with any false flag where nothing
changed, and where every case changed by exactly the threshold, with 99 % intervals; the coverage of
the 90 % intervals; what is found at 7 %, and imports. Twenty cases, as `verdict_simulation`.
Run: python -m benchmarks.verdicts.import_groups [--repetitions 200]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from benchmarks.verdicts.simulated_sessions import Condition, Session
from benchmarks.verdicts.simulated_sessions import look_by_look as package
from benchmarks.verdicts.simulation import (
    AT_MARGIN,
    FIGURES,
    MEASURED,
    NOTHING,
    PINNED,
    REPETITIONS,
    SOME,
    repeat,
)
from opperf.statistics.blocks import BLOCK
from opperf.statistics.data import Phase

Floats = NDArray[np.float64]

SHARED = {"forks as they are": 0.51, "layouts varied": 0.33}

CONDITIONS = PINNED, Condition("measured", *MEASURED["forward"])

GROUPS = (1, 2, 3, 4, 12)
"""Blocks of a pair of workers; the control's are always of their own."""


@dataclass
class Grouped(Session):
    """A session whose blocks share workers."""

    shared: float = 0.0
    size: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.of_workers: dict[int, Floats] = {}

    def measure(self, phase: Phase, blocks: range) -> Floats:
        whole = super().measure(phase, blocks)
        known = self.effect[:, None] if phase == "comparison" else 0.0
        own = np.sqrt(1 - self.shared) * (whole - known)
        return known + own + np.stack([self._layout(phase, block) for block in blocks], axis=1)

    def _layout(self, phase: Phase, block: int) -> Floats:
        group = block // self.size if phase == "comparison" else -1 - block
        if group not in self.of_workers:
            drawn = self.rng.normal(size=self.change.size)
            self.of_workers[group] = np.sqrt(self.shared) * self.scatter * drawn
        return self.of_workers[group]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="sessions of a row")
    sessions = parser.parse_args().repetitions
    rows: list[list[object]] = []
    for condition in CONDITIONS:
        for layout, shared in SHARED.items():
            for size in GROUPS:
                make = partial(Grouped, shared=shared, size=size)
                nothing, margin, some = (
                    repeat(package, condition, situation, FIGURES, sessions, make)
                    for situation in (NOTHING, AT_MARGIN, SOME)
                )
                # Two blocks of the control, each with its own workers.
                imports = 2 * (2 + -(-(nothing.starts / sessions / BLOCK - 2) // size))
                rows.append(
                    [
                        condition.name,
                        layout,
                        size,
                        nothing.show(nothing.any_false),
                        margin.show(margin.any_false),
                        f"{margin.mean(margin.covered):.2f}",
                        f"{some.mean(some.found):.2f}",
                        f"{imports:.0f}",
                    ]
                )
    headers = [
        *("machine", "layout", "blocks of an import", "any false flag, nothing changed"),
        *("all at the margin", "coverage", "found at 7 %", "imports"),
    ]
    print(tabulate(rows, headers, tablefmt="github", disable_numparse=True))


if __name__ == "__main__":
    main()
