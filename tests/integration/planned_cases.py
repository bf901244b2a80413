"""The cases that the rules plan, one a line, as the files in `planned/` have them.

    python -m tests.integration.planned_cases

writes these files anew. A change of a rule shows there as the cases that it changes, by their ids,
which are hashes of all that is measured: shapes, dtypes, contents, settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import opperf  # noqa: F401  (restores what MXNet needs of NumPy)
from opperf.frameworks import load
from opperf.instruments.profilers import find_profilers
from opperf.model import Settings
from opperf.results.text import inputs_text
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection

SIZES = ("small", "default")
"""The large size differs from the default one in numbers that both come from."""

FILES = {"mxnet": "1.9.", "numpy": "1.26."}
"""Frameworks, and the beginning of the versions whose registry the files are of."""


def file_of(name: str) -> Path:
    """Where a framework's lines are."""
    return Path(__file__).parent / "planned" / f"{name}.txt"


def planned(name: str) -> Iterator[str]:
    """A line for each case: operator, size, id, inputs."""
    framework = load(name)
    settings = Settings(profiler=next(iter(find_profilers(framework))))
    for size in SIZES:
        for case in plan(framework, Selection(size=size, settings=settings)).cases:
            yield f"{case.label}\t{size}\t{case.id}\t{inputs_text(case)}\n"


if __name__ == "__main__":
    for framework_name in FILES:
        file_of(framework_name).write_text("".join(planned(framework_name)))
