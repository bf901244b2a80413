"""How damaged input ends: commands on thousands of damaged files, settings and requests.

    python -m benchmarks.damage.mutations --count 10000 --seed 1

prints how often the input of each entrance was damaged, and each distinct internal error, hang or
death with the command that reproduces it. `--keep FOLDER` leaves the damaged files of one there.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import accumulate, pairwise, repeat
from multiprocessing import get_context
from pathlib import Path

from tests.mutations.entrances import ALL
from tests.mutations.running import InputError, Outcome, Trial, search


def found_in(name: str, seed: str, count: int) -> tuple[str, float, list[Trial]]:
    begun = time.monotonic()
    try:
        found = list(search(ALL[name], seed, [""] * count))
    except InputError as error:
        found = [Trial(Outcome(0, str(error), "its undamaged input is refused"), name)]
    return name, time.monotonic() - begun, found


def shares(count: int, names: list[str]) -> list[int]:
    """How often each entrance's input is damaged, of all that are to be `count` times."""
    parts = [SLOW_SHARE if ALL[name].is_slow else 1.0 for name in names]
    ends = [round(count * end / sum(parts)) for end in accumulate(parts, initial=0.0)]
    return [end - begin for begin, end in pairwise(ends)]


SLOW_SHARE = 0.1
"""Of the damage of another entrance: a chart takes some seconds, and reads what a table does."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000, help="of all entrances")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--entrance", default="", help="only those with this in their names")
    parser.add_argument("--at", type=int, help="only the damage at this position")
    parser.add_argument("--kind", default="", help="of that damage")
    parser.add_argument("--keep", type=Path, help="leave the files of that damage here")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    names = [name for name in ALL if asked.entrance in name]
    if asked.at is not None:
        kinds = [""] * asked.at + [asked.kind]
        for one in search(ALL[asked.entrance], asked.seed, kinds, asked.keep, first=asked.at):
            print(one.report)
        return 0
    begun = time.monotonic()
    faults: dict[str, list[Trial]] = {}
    total = 0
    with ProcessPoolExecutor(asked.jobs, get_context("spawn")) as pool:
        for name, seconds, found in pool.map(
            found_in, names, repeat(asked.seed), shares(asked.count, names)
        ):
            total += len(found)
            codes = sorted(Counter(one.outcome.code for one in found).items())
            ends = ", ".join(f"{times} x {code}" for code, times in codes)
            print(f"{len(found):5} {seconds:6.1f} s  {name}: exit codes {ends}", flush=True)
            for one in found:
                if one.outcome.fault and one.outcome.fault not in faults:
                    print(one.report, flush=True)
                if one.outcome.fault:
                    faults.setdefault(one.outcome.fault, []).append(one)
    for fault, several in sorted(faults.items(), key=lambda item: -len(item[1])):
        print(f"{len(several)} x {fault}\n  {several[0].command}")
    print(
        f"{total} mutations of {len(names)} entrances in {time.monotonic() - begun:.0f} s: "
        f"{sum(map(len, faults.values()))} faults, {len(faults)} distinct"
    )
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main())
