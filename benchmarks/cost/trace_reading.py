"""How fast traces are read, in how much memory, and what is in those of a folder.

Makes an execution trace of 100 MB, of the nodes of the folder's largest one again and again with
new numbers, and prints the seconds, on the clock and of the processor, and the peak memory of a
process that opens it and finds its distinct calls, beside one that does no more than `json.load`.
The marks are 10 s and 500 MB. Then the distinct topmost operators and calls of each trace of the
folder, and with `--run` the share of the calls that this PyTorch runs on the CPU, with the reasons
of the others.

Run: python -m benchmarks.cost.trace_reading FOLDER [--megabytes 100] [--run] [--dtype float32]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tabulate import tabulate

from opperf.model import Settings
from opperf.sources.completing import merge
from opperf.sources.traces import TraceSource
from opperf.sources.varying import with_settings
from opperf.traces.archives import folder_files, open_members
from opperf.traces.objects import Objects
from opperf.traces.trace import FRAMEWORK
from opperf.worker.client import Worker

SECONDS, MEGABYTES = 10.0, 500.0
"""The marks for a trace of 100 MB."""

TIMEOUT_S = 120.0
"""Limit of a call: the largest convolutions take some ten seconds on two cores."""

READ = """
import json, sys, time
from pathlib import Path
begun = time.perf_counter()
{work}
seconds = time.perf_counter() - begun
with open("/proc/self/status") as status:
    (peak,) = [line.split()[1] for line in status if line.startswith("VmHWM:")]
print(json.dumps([seconds, time.process_time(), int(peak) * 1024 / 1e6, found]))
"""
"""A process that reads a trace and prints seconds, those of the processor, megabytes, and how much
it found."""

WORKS = {
    "opperf": "from opperf.sources.traces import TraceSource\n"
    "found = len(list(TraceSource([Path(sys.argv[1])]).cases()))",
    "json.load": "found = len(json.load(open(sys.argv[1]))['nodes'])",
}


def nodes_of(path: Path) -> list[dict[str, Any]]:
    """Returns the nodes of the first execution trace of a path."""
    for member in open_members(path):
        return list(Objects(member.stream, member.name))
    raise ValueError(f"{path} has no trace")


def renumbered(value: Any, shift: int) -> Any:
    """Returns the values of a node with the numbers of other tensors and storages."""
    if not isinstance(value, list):
        return value
    if len(value) in (5, 6) and all(type(number) is int for number in value[:5]):
        tensor, storage, *others = value
        return [tensor + shift, storage + shift, *others]
    return [renumbered(element, shift) for element in value]


def copies(nodes: list[dict[str, Any]]) -> Iterator[str]:
    """Yields nodes as JSON without end, each time with further numbers."""
    most = 1 + max(node["id"] for node in nodes)
    shift = 0
    while True:
        for node in nodes:
            made = dict(node, id=node["id"] + shift)
            for name in ("ctrl_deps", "parent"):
                if name in node:
                    made[name] = node[name] + shift
            for name in ("inputs", "outputs"):
                whole = node.get(name)
                made[name] = (
                    dict(whole, values=renumbered(whole["values"], shift))
                    if isinstance(whole, dict)
                    else renumbered(whole, shift)
                )
            yield json.dumps(made)
        shift += most


def write_large(path: Path, nodes: list[dict[str, Any]], megabytes: float) -> int:
    """Writes a trace of at least so many megabytes, and returns the number of its nodes."""
    with path.open("w") as file:
        file.write('{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [\n')
        for number, text in enumerate(copies(nodes)):
            if file.tell() > megabytes * 1e6:
                file.write('],\n"finish_ts": 9}')
                return number
            file.write((",\n" if number else "") + text)
    raise AssertionError("copies end")


def read_in_process(work: str, path: Path) -> list[float]:
    """Returns the seconds on the clock and of the processor, the peak of memory in megabytes, and
    how much was found."""
    command = [sys.executable, "-c", READ.format(work=work), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: list[float] = json.loads(done.stdout)
    return found


def print_reading(folder: Path, megabytes: float) -> None:
    """Prints time and memory of reading a large trace."""
    source = max(folder_files(folder), key=lambda path: path.stat().st_size)
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "large.json"
        count = write_large(path, nodes_of(source), megabytes)
        size = path.stat().st_size / 1e6
        print(f"{size:.0f} MB, {count:,} nodes of {source.name}")
        found = {name: read_in_process(work, path) for name, work in WORKS.items()}
    titles = ("read by", "seconds", "of the processor", "peak MB", "cases or nodes")
    print(tabulate([[name, *row] for name, row in found.items()], titles, floatfmt=".1f"))
    ours, plain = found.values()
    print(
        f"{ours[1] / plain[1]:.2f} times the processor's time of json.load and "
        f"{ours[2] / plain[2]:.2f} times its memory; the marks of 100 MB are {SECONDS:.0f} s and "
        f"{MEGABYTES:.0f} MB"
    )


def print_traces(folder: Path, runs: bool, dtype: str) -> None:
    """Prints what is in each trace of a folder."""
    rows = []
    reasons: Counter[tuple[str, str, str]] = Counter()
    with Worker(FRAMEWORK, Settings(memory=False)) as worker:
        for path in folder_files(folder):
            source = TraceSource([path])
            cases = list(source.cases())
            calls = sum(case.count for case in cases)
            row = [path.name, len({case.label for case in cases}), len(cases), calls]
            rows.append(row + (ran(worker, path, cases, dtype, reasons) if runs else []))
    titles = ["trace", "operators", "distinct calls", "calls"]
    print(tabulate(rows, titles + (["ran", "of distinct", "of calls"] if runs else [])))
    if reasons:
        listed = [[*key, count] for key, count in reasons.most_common()]
        print(tabulate(listed, ("trace", "operator", "reason", "calls"), maxcolwidths=60))


def ran(
    worker: Worker, path: Path, cases: list[Any], dtype: str, reasons: Counter[tuple[str, str, str]]
) -> list[Any]:
    """Returns how many distinct calls ran, and their shares of the distinct and of all calls."""
    device = worker.resolve({}).axes["device"][0]
    completed = worker.complete(cases)
    refused = {made.case.id: made.refusal for made in completed if made.refusal}
    distinct = merge(made.case for made in completed)
    fine = calls = 0
    for case in distinct:
        reason = refused.get(case.id, "")
        if not reason:
            settings = {"device": device} | ({"dtype": dtype} if dtype else {})
            reason = worker.try_call(with_settings(case, settings), TIMEOUT_S).refusal
        if reason:
            reasons[path.name, case.label, reason] += case.count
        else:
            fine, calls = fine + 1, calls + case.count
    whole = sum(case.count for case in distinct)
    return [fine, f"{fine / max(len(distinct), 1):.1%}", f"{calls / max(whole, 1):.1%}"]


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="folder of traces")
    parser.add_argument("--megabytes", type=float, default=100.0, help="size of the large trace")
    parser.add_argument("--run", action="store_true", help="make each distinct call once")
    parser.add_argument("--dtype", default="", help="dtype in place of the recorded one")
    options = parser.parse_args()
    print_reading(options.folder, options.megabytes)
    print()
    print_traces(options.folder, options.run, options.dtype)


if __name__ == "__main__":
    main()
