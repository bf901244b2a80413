"""Where the seconds of a session of `opperf ab` go.

Runs a session of ten operators, forward and backward, with B as A, and prints the seconds of its
parts: what comes before the first process (opperf's own start, planning, calling each case once,
comparing results), and of the processes the starts with their imports, the inputs and first calls
of cases, warm-up, samples (the reference work between them included) and what is between processes.
Memory is not measured in a session.

Run: python -m benchmarks.verdicts.session_seconds [--framework NAME] [more options of opperf ab]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

from benchmarks.verdicts.ab_on_mxnet import PLANS
from opperf.comparison.ab.forecast import REST, SAMPLES, STARTS, WARMUP, parts_of
from opperf.comparison.ab.session_file import read_session

CHOSEN = {"mxnet": PLANS["ten"].chosen, "torch": PLANS["torch"].chosen}
"""Ten operators of a few microseconds each, by framework."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--framework", choices=tuple(CHOSEN), default="mxnet")
    options, more = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "ab.jsonl"
        begun, begun_at = time.time(), time.monotonic()
        done = subprocess.run(
            [
                *(sys.executable, "-m", "opperf", "ab", *CHOSEN[options.framework]),
                *("--framework", options.framework, "--size", "small", "--max-configs", "1"),
                *("--b", "env:UNREAD=1", "--report", str(report), "--quiet", *more),
            ],
            stdout=subprocess.DEVNULL,
        )
        total_s = time.monotonic() - begun_at
        if not report.exists():
            return done.returncode
        session, _ = read_session(report)
    processes = session.processes
    first = datetime.fromisoformat(processes[0].line.started).timestamp()
    within = parts_of(record for process in processes for record in process.records)
    measured_s = sum(process.line.wall_s for process in processes)
    parts = {
        "before the first process": first - begun,
        STARTS: max(0.0, measured_s - sum(within.values())),
        **{name: within.get(name, 0.0) for name in (REST, WARMUP, SAMPLES)},
    }
    parts["between processes, and after"] = total_s - sum(parts.values())
    blocks = {
        phase: len({p.line.place.block for p in processes if p.line.place.phase == phase})
        for phase in ("control", "comparison", "coarse")
    }
    print(f"{options.framework}: {len(processes)} processes, blocks {blocks}")
    for name, seconds in parts.items():
        print(f"{name:42}{seconds:8.1f} s{seconds / total_s:8.0%}")
    print(f"{'all':42}{total_s:8.1f} s")
    visits = sum(len(process.records) for process in processes)
    print(f"{visits} visits of a case, {measured_s / visits:.3f} s each")
    return 0


if __name__ == "__main__":
    sys.exit(main())
