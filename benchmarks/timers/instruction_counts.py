"""Counts of instructions: how many in a minute, how equal, and how small a change they show.

    rate       cases a minute in one run, against a run for each case, and whether the counts agree
    agreement  the share of operators whose counts agree in two runs
    injected   a change of 1 % of one kernel's instructions: whether one run shows it, and what else
    snippets   the time of the standard set of snippets

Cases are small, one for each operator; operators are a random selection of the registry, always
the same. The second run of `agreement` has another order.

Run: python benchmarks/timers/instruction_counts.py PART [--framework NAME] [--operators NUMBER]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from opperf.comparison.explaining.callgrind import read_dump
from opperf.model import NoteCode, Record, Status
from opperf.results.runfile import read_run

OPPERF = (sys.executable, "-m", "opperf")
HERE = Path(__file__).resolve().parent

METRICS = ("instructions", "instructions_backward")

AGREES = 0.001
"""Largest difference of two counts that agree, as a share."""

ALONE = 5
"""Cases that are run alone: each takes the start of a framework under Valgrind."""

INJECTED_SHARE = 0.01


class Pair(NamedTuple):
    """One count of one case in two runs."""

    operator: str
    metric: str
    first: float
    second: float
    is_noted: bool
    """Whether one of the runs says that the count is unsteady."""

    @property
    def difference(self) -> float:
        return abs(self.second / self.first - 1) if self.first else float(self.second != 0)


def operators(framework: str, number: int) -> list[str]:
    """Returns so many operators of the registry."""
    listed = subprocess.run(
        [*OPPERF, "list", "--framework", framework, "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    found = [one["operator"] for one in json.loads(listed.stdout) if one.get("cases")]
    names = [".".join(filter(None, (one["name"], one.get("overload")))) for one in found]
    # More than asked for, as some cannot be measured here.
    return sorted(random.Random(0).sample(names, min(len(names), number * 11 // 10)))


SMALL = ("--size", "small", "--max-configs", "1")


def run(path: Path, *arguments: str, **variables: str) -> float:
    """Counts as a user does, and returns the seconds."""
    command = [*OPPERF, "run", "--profiler", "instructions", *arguments]
    begun = time.perf_counter()
    subprocess.run(
        [*command, "-o", str(path), "--overwrite"],
        stdout=subprocess.DEVNULL,
        check=True,
        env={**os.environ, **variables},
    )
    return time.perf_counter() - begun


def records(path: Path) -> dict[str, Record]:
    """Returns the measured records of a run, by id."""
    found, _ = read_run(path)
    return {one.id: one for one in found.records if one.status is Status.OK}


def pairs(first: Path, second: Path) -> Iterator[Pair]:
    """Returns the counts that two runs have."""
    others = records(second)
    for id, one in records(first).items():
        other = others.get(id)
        for metric in METRICS:
            if other and metric in one.summaries and metric in other.summaries:
                noted = any(
                    note.metric == metric and note.code is NoteCode.UNSTEADY
                    for record in (one, other)
                    for note in record.notes
                )
                before, after = (record.summaries[metric].median for record in (one, other))
                yield Pair(one.case.label, metric, before, after, noted)


def print_agreement(found: Sequence[Pair]) -> None:
    """Prints how many counts agree, and those that do not."""
    by_operator: dict[str, list[Pair]] = {}
    for pair in found:
        by_operator.setdefault(pair.operator, []).append(pair)
    apart = [pair for pair in found if pair.difference > AGREES]
    names = {pair.operator for pair in apart}
    total, agree = len(by_operator), len(by_operator) - len(names)
    same = sum(pair.first == pair.second for pair in found)
    print(f"operators: {agree} of {total} agree within {AGREES:.1%} ({agree / total:.1%})")
    print(f"counts: {len(found)}, of which {same} are identical")
    print(f"median difference {median(pair.difference for pair in found):.4%}")
    silent = {pair.operator for pair in apart if not pair.is_noted}
    print(f"apart and not noted as unsteady: {len(silent)} operators")
    for pair in sorted(apart, key=lambda pair: -pair.difference):
        noted = "noted" if pair.is_noted else "not noted"
        change = f"{pair.first:.0f} to {pair.second:.0f}, {pair.difference:.2%}"
        print(f"  {pair.operator} {pair.metric}: {change}, {noted}")


def agreement(framework: str, number: int, folder: Path) -> None:
    names = operators(framework, number)
    first, second = folder / "first.jsonl", folder / "second.jsonl"
    seconds = [
        run(path, *names, "--framework", framework, *SMALL, *order)
        for path, order in ((first, ()), (second, ("--shuffle",)))
    ]
    times = " and ".join(f"{one:.0f}" for one in seconds)
    print(f"{framework}: {len(records(first))} cases, {times} s")
    print_agreement(list(pairs(first, second)))


def rate(framework: str, number: int, folder: Path) -> None:
    together = folder / "together.jsonl"
    names = operators(framework, number)
    wall_s = run(together, *names, "--framework", framework, *SMALL)
    found = records(together)
    each_s = wall_s / len(found)
    print(f"{framework}: one run, {len(found)} cases in {wall_s:.0f} s, {60 / each_s:.1f} a minute")
    chosen = random.Random(1).sample(sorted(found), ALONE)
    alone_s: list[float] = []
    found_pairs: list[Pair] = []
    for place, id in enumerate(chosen):
        path = folder / f"alone{place}.jsonl"
        alone_s.append(run(path, found[id].case.label, "--framework", framework, *SMALL))
        found_pairs += pairs(together, path)
    alone = median(alone_s)
    print(f"a run each: {60 / alone:.1f} a minute, median of {ALONE}; ratio {alone / each_s:.1f}")
    print_agreement(found_pairs)


def build(folder: Path) -> Path:
    """Compiles the injected kernel."""
    from torch.utils import cpp_extension

    cpp_extension.load(
        "injected",
        [str(HERE / "injected" / "kernel.cpp")],
        build_directory=str(folder),
        is_python_module=False,
    )
    return folder / "injected.so"


def kernel_count(profile: Path) -> float:
    """Returns the instructions of PyTorch's own kernel in each call."""
    found = read_dump(profile)
    counts = [
        call.counts[0]
        for (_, callee), call in found.edges.items()
        if "atan2_kernel" in found.nodes[callee].name
    ]
    return max(counts) / found.calls


def injected(framework: str, number: int, folder: Path) -> None:
    library = str(build(folder))
    module = str(HERE / "injected" / "injected.py")
    options = ("--framework", "torch", "--import", module, *SMALL)
    trial, base, new = (folder / f"{name}.jsonl" for name in ("trial", "base", "new"))
    run(trial, "atan2", *options, INJECTED=library, EXTRA="0")
    (record,) = records(trial).values()
    kernel = kernel_count(folder / "trial.callgrind" / f"{record.id}.forward.callgrind")
    elements = math.prod(record.case.arguments["self"].shape)
    extra = INJECTED_SHARE * kernel * 1024 / elements
    names = sorted({*operators("torch", number), "atan2"})
    run(base, *names, *options, INJECTED=library, EXTRA="0")
    run(new, *names, *options, INJECTED=library, EXTRA=str(round(extra)))
    count = record.summaries["instructions"].median
    print(f"atan2 of {elements} elements: {count:.0f} instructions, {kernel:.0f} in its kernel")
    compared = subprocess.run(
        [*OPPERF, "compare", str(base), str(new), "--metric", "instructions", "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"opperf compare ended with {compared.returncode}")
    print_agreement([pair for pair in pairs(base, new) if pair.operator != "atan2"])
    rows = json.loads(compared.stdout)["rows"]
    flagged = [row for row in rows if row["verdict"] in ("regressed", "improved")]
    print(f"{len(rows)} counts of {len(records(base))} cases compared, {len(flagged)} flagged:")
    for row in flagged:
        print(f"  {row['verdict']}: {row['operator']} {row['metric']} {row['ratio']:.4f}")


def snippets(framework: str, number: int, folder: Path) -> None:
    path = folder / "standard.jsonl"
    seconds = run(path, "opperf.snippets.standard")
    found, _ = read_run(path)
    done = len(records(path))
    print(f"standard set: {done} of {len(found.cases)} cases in {seconds / 60:.1f} min")


PARTS = {"rate": rate, "agreement": agreement, "injected": injected, "snippets": snippets}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--framework", default="torch")
    parser.add_argument("--operators", type=int, default=200)
    parser.add_argument("--folder", type=Path, help="keeps the run files there")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        PARTS[chosen.part](chosen.framework, chosen.operators, folder)


if __name__ == "__main__":
    main()
