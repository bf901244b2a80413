"""The command that lists the functions which made the largest change of a count."""

from __future__ import annotations

import shlex

from opperf.comparison.files.comparison import Comparison
from opperf.comparison.statistics.data import Verdict
from opperf.instruments.instructions import INSTRUCTIONS, INSTRUCTIONS_BACKWARD
from opperf.results.kept import path_of, profile_folder

PASS_OF = {INSTRUCTIONS.name: "forward", INSTRUCTIONS_BACKWARD.name: "backward"}
"""The pass whose profile has a metric."""

CHANGED = (Verdict.REGRESSED, Verdict.IMPROVED)


def explaining_command(found: Comparison) -> str:
    """The command for the largest increase of a count, or else the largest decrease; empty where no
    count changed, and where the runs' profiles are not beside their files."""
    rows = [row for row in found.rows if row.metric in PASS_OF and row.verdict in CHANGED]
    rows.sort(key=lambda row: (not row.is_worse, -abs(row.new - row.base)))
    for row in rows:
        passed = PASS_OF[row.metric]
        dumps = [
            profile_folder(path_of(side.path)) / f"{id}.{passed}.callgrind"
            for side, id in ((found.base, row.id), (found.new, row.other_id))
        ]
        if row.other_id and not found.base.arm and all(dump.is_file() for dump in dumps):
            # No id names both.
            return shlex.join(["opperf", "explain", *map(str, dumps)])
        if (found.base.arm or not row.other_id) and dumps[0].is_file() and dumps[1].parent.is_dir():
            # A session has both sides.
            paths = dict.fromkeys((found.base.path, found.new.path))
            words = ["opperf", "explain", *paths, row.id]
            return shlex.join([*words, *(("--pass", passed) if passed != "forward" else ())])
    return ""
