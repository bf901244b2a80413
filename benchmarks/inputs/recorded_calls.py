"""How many of recorded operator calls PyTorch can make here.

Reads each log of a folder, completes its calls, and makes each distinct one of all logs once on the
CPU, in a worker that may die. Prints the calls read, the distinct ones, those whose overload this
PyTorch has, and those of them that ran; then the reasons of the others, with the number of calls.

Run: python -m benchmarks.inputs.recorded_calls FOLDER [--dtype float32] [--scale-batch 0.0625]
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tabulate import tabulate

from opperf.model import Case, Settings
from opperf.sources.completing import Completed, merge
from opperf.sources.logged_text import FRAMEWORK, InputLog
from opperf.sources.varying import with_settings
from opperf.worker.client import Worker

TIMEOUT_S = 120.0
"""Limit of a call: the largest convolutions take some ten seconds on two cores."""


def completed(worker: Worker, folder: Path, batch_factor: float) -> tuple[int, list[Completed]]:
    """Returns the number of calls in a folder's logs, and the distinct ones, each with why this
    PyTorch lacks its operator."""
    found: list[Completed] = []
    for path in sorted(folder.glob("*.txt")):
        found += worker.complete(list(InputLog(path).cases()), batch_factor)
    refusals = {one.case.id: one.refusal for one in found}
    distinct = [Completed(case, refusals[case.id]) for case in merge(one.case for one in found)]
    return len(found), distinct


def reasons(worker: Worker, cases: list[Case]) -> Iterator[tuple[Case, str]]:
    """Yields each case with why it cannot be made; empty if it can."""
    device = worker.resolve({}).axes["device"][0]
    for case in cases:
        yield case, worker.try_call(with_settings(case, {"device": device}), TIMEOUT_S).refusal


def main() -> None:
    """Prints the shares and the reasons."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="folder of logs of operator inputs")
    parser.add_argument("--dtype", help="dtype in place of the recorded one")
    parser.add_argument("--scale-batch", type=float, default=1.0, help="factor of each log's batch")
    options = parser.parse_args()
    with Worker(FRAMEWORK, Settings(memory=False)) as worker:
        count, found = completed(worker, options.folder, options.scale_batch)
        lacking = [one for one in found if one.refusal]
        cases = [one.case for one in found if not one.refusal]
        if options.dtype:
            # Calls that differ in their dtype alone are the same then.
            cases = merge(with_settings(case, {"dtype": options.dtype}) for case in cases)
        why: Counter[tuple[str, str]] = Counter((one.case.label, one.refusal) for one in lacking)
        ran = 0
        for case, reason in reasons(worker, cases):
            ran += not reason
            if reason:
                why[case.label, reason] += 1
    print(f"{count:,} calls read, {len(found):,} distinct, {len(lacking):,} of no operator")
    print(f"{ran:,} of {len(cases):,} distinct calls ran: {ran / len(cases):.2%}")
    print(
        tabulate(
            [(number, *one) for one, number in why.most_common()], ("calls", "operator", "reason")
        )
    )


if __name__ == "__main__":
    main()
