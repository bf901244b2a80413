"""Two Ray nodes on this machine, one killed in the middle of a run: whether a record is lost or
doubled.

Each run measures NumPy's operators on both nodes; after a random number of records one of them is
killed, with all its processes. In the end there has to be one record of each planned case, which
ended ok, and those that were measured again have to say so. Another node then takes its place.

Run: python -m benchmarks.cluster.kills [KILLS]
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.damage.kills import ids
from opperf.model import NoteCode, Status
from opperf.results.runfile import read_run

KILLS = 50

OPERATORS = ("exp", "add", "cumsum", "sort", "sum")

STEP_S = 0.05
"""Seconds between looks at the file of records."""

COUNT = 40
"""Cases of a run: some seconds on two nodes."""


def command(address: str, file: Path) -> list[str]:
    """Returns the command of a run on the cluster."""
    words = ["run", *OPERATORS, "--framework", "numpy", "--size", "small", "--threads", "1"]
    words += ["--max-time", "0.2", "--executor", "ray", "--address", address, "-o", str(file)]
    return [sys.executable, "-m", "opperf", *words]


def main(kills: int) -> int:
    """Prints what was lost or doubled; the exit code is 1 if anything was."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    generator = random.Random(0)
    lost = doubled = failed = moved = 0
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        for number in range(1, kills + 1):
            cluster.wait_for_nodes()
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "run.jsonl"
                started = subprocess.Popen(
                    command(cluster.address, file),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                )
                after = generator.randrange(1, COUNT // 2)
                while started.poll() is None and len(ids(file)) < after:
                    time.sleep(STEP_S)
                killed = nodes.pop(generator.randrange(2))
                cluster.remove_node(killed, allow_graceful=False)
                _, said = started.communicate()
                if not file.is_file():
                    print(f"run {number}: {said}")
                    return 1
                run, _ = read_run(file)
                planned, records = {case.id for case in run.cases}, ids(file)
                again = [
                    record
                    for record in run.records
                    if any(note.code == NoteCode.MOVED for note in record.notes)
                ]
                bad = [record for record in run.records if record.status is not Status.OK]
                lost += len(planned - set(records))
                doubled += len(records) - len(set(records))
                failed += len(bad)
                moved += len(again)
                print(
                    f"run {number}: killed after {after}; {len(planned)} cases, {len(records)} "
                    f"records, {len(again)} measured again, {len(bad)} not ok",
                    flush=True,
                )
            nodes.append(cluster.add_node(num_cpus=1))
    finally:
        cluster.shutdown()
    print(
        f"{kills} kills: {lost} records lost, {doubled} doubled, {failed} not ok; {moved} cases "
        "were measured again by the other node"
    )
    return int(bool(lost or doubled or failed))


if __name__ == "__main__":
    begun = time.monotonic()
    code = main(int(sys.argv[1]) if len(sys.argv) > 1 else KILLS)
    print(f"{time.monotonic() - begun:.0f} s")
    sys.exit(code)
