"""The command that lists the functions which made the largest change of a count."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

from opperf.compare.files.comparison import Comparison, Row
from opperf.compare.statistics.data import Verdict
from opperf.metrics import INSTRUCTIONS, INSTRUCTIONS_BACKWARD
from opperf.runner.valgrind import profile_folder

PASS_OF = {INSTRUCTIONS.name: "forward", INSTRUCTIONS_BACKWARD.name: "backward"}
"""The pass whose profile has a metric."""

CHANGED = (Verdict.REGRESSED, Verdict.IMPROVED)


def explaining_command(found: Comparison) -> str:
    """The command for the largest increase of a count, or else the largest decrease; empty where no
    count changed, and where the runs' profiles are not beside their files."""
    rows = [row for row in found.rows if row.metric in PASS_OF and row.verdict in CHANGED]
    rows.sort(key=lambda row: (not row.is_worse, -_change(row)))
    chosen = next((row for row in rows if row.id and _is_profiled(found, row)), None)
    if chosen is None:
        return ""
    passed = PASS_OF[chosen.metric]
    words = ["opperf", "explain", found.base.path, found.new.path, chosen.id]
    return shlex.join([*words, *(("--pass", passed) if passed != "forward" else ())])


def _change(row: Row) -> float:
    return abs(row.new - row.base)


def _is_profiled(found: Comparison, row: Row) -> bool:
    """Whether both runs kept profiles. The case may have another id in the new one."""
    base, new = (profile_folder(Path(side.path)) for side in (found.base, found.new))
    name = f"{row.id}.{PASS_OF[row.metric]}.callgrind"
    return (base / name).is_file() and _has_any(new.glob(f"*.{PASS_OF[row.metric]}.callgrind"))


def _has_any(paths: Iterable[Path]) -> bool:
    return next(iter(paths), None) is not None
