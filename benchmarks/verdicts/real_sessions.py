"""Real sessions of `opperf ab` with arms that are equal, or of which one does more work.

A session compares functions of NumPy that repeat a step 40 times with functions that do so as often
(`--more 0`), or more often (`--more 2` is 5 %), with default options but for the order. Prints the
sessions that were invalid, that flagged a figure, the share of figures found, and the seconds of a
session; each order is a peer of the other in the same run, session by session.

Run: python -m benchmarks.verdicts.real_sessions [--sessions 40] [--more 0]
     [--order block alternate]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

FUNCTIONS = ("exp", "sqrt", "tanh", "cumsum", "square", "sort")
REPEATS = 40
"""Steps of a call: enough that one more is 2.5 %."""

ELEMENTS = 2000
"""Elements of the input, which stay in a core's first cache."""

MODULE = """
import numpy as np

def repeated(function, repeats):
    def run(data):
        for _ in range(repeats):
            result = function(data)
        return result
    return run

"""


class Ended(NamedTuple):
    """A session."""

    is_valid: bool
    flagged: int
    """Figures with a verdict of regressed or improved."""
    figures: int
    elapsed_s: float


def session(folder: Path, order: str) -> Ended:
    """Runs a session in a folder that has the module."""
    words = ["--shape", f"data={ELEMENTS}", "--order", order, "--overwrite", "-o", "verdict.json"]
    for arm, version in (("--a", "old"), ("--b", "new")):
        words += (word for name in FUNCTIONS for word in (arm, f"ops:arms.py:{name}_{version}"))
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "opperf", "ab", *words], cwd=folder, capture_output=True, text=True
    )
    elapsed_s = time.monotonic() - begun
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(done.stderr)
    verdict = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    rows = verdict["rows"]
    flagged = sum(row["verdict"] in ("regressed", "improved") for row in rows)
    return Ended(verdict["session"]["valid"], flagged, len(rows), elapsed_s)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--sessions", type=int, default=40)
    parser.add_argument("--more", type=int, default=0, help="more steps of the second arm")
    parser.add_argument("--order", nargs="+", default=["block", "alternate"])
    options = parser.parse_args()
    code = MODULE + "".join(
        f"{name}_{version} = repeated(np.{name}, {repeats})\n"
        for name in FUNCTIONS
        for version, repeats in (("old", REPEATS), ("new", REPEATS + options.more))
    )
    ended: dict[str, list[Ended]] = {order: [] for order in options.order}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "arms.py").write_text(code, encoding="utf-8")
        for _ in range(options.sessions):
            for order, sessions in ended.items():
                sessions.append(session(folder, order))
    print(f"{options.sessions} sessions of each order, {options.more / REPEATS:.1%} more work")
    print(f"{'order':12}{'invalid':>9}{'with a flag':>13}{'figures flagged':>17}{'seconds':>9}")
    for order, sessions in ended.items():
        valid = [made for made in sessions if made.is_valid]
        figures = sum(made.figures for made in valid)
        share = sum(made.flagged for made in valid) / figures if figures else 0.0
        seconds = sum(made.elapsed_s for made in sessions) / len(sessions)
        print(
            f"{order:12}{len(sessions) - len(valid):9}{sum(made.flagged > 0 for made in valid):13}"
            f"{share:17.1%}{seconds:9.1f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
