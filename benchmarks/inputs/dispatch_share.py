"""Share of the cases of a run that are mostly dispatch: their kernels take less than half a call.

Prints, for each pass, how many of the measured cases have the note, how many of these are meant to
show the overhead of a call and say so, and the categories with most of the others. Such cases
measure the framework's overhead per call, and not the operator.

Run: opperf run --size default -w 2 -r 5 -f jsonl -o run.jsonl
     python -m benchmarks.inputs.dispatch_share run.jsonl [--operators]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from opperf.model import PASSES, NoteCode, Record, Status
from opperf.results.runfile import read_run
from opperf.rules.shapes import MOSTLY_DISPATCH

MOST_SHOWN = 10
"""Categories that are printed for each pass."""


def shares(records: Sequence[Record], by_operator: bool = False) -> Iterator[str]:
    """Yields the lines of the report on a run's records."""
    measured = [one for one in records if one.status is Status.OK]
    for metric in PASSES:
        timed = [one for one in measured if metric in one.summaries]
        short = [one for one in timed if one.note(metric, NoteCode.DISPATCH) is not None]
        if not timed:
            continue
        share = len(short) / len(timed)
        yield f"{metric}: {len(short)} of {len(timed)} cases are mostly dispatch, {share:.1%}"
        others = [one for one in short if MOSTLY_DISPATCH not in one.case.why]
        yield f"  {len(short) - len(others)} say so, {len(others)} do not:"
        totals, counts = (
            Counter(one.case.label if by_operator else one.case.category for one in listed)
            for listed in (timed, others)
        )
        for name, count in counts.most_common(None if by_operator else MOST_SHOWN):
            yield f"  {count:4} of {totals[name]:4}  {name}"


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="a run file of opperf run -f jsonl")
    parser.add_argument("--operators", action="store_true", help="list operators, not categories")
    arguments = parser.parse_args(words)
    run, warnings = read_run(arguments.file)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    print(*shares(run.records, arguments.operators), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
