"""Share of the cases of a run that are mostly dispatch. By a profiler of kernels, these take less
than half of the call; by the wall clock, the call takes less than twice the framework's shortest.

Prints, for each pass, how many of the measured cases are, how many of these are meant to show the
overhead of a call and say so, the categories with most of the others, and the longest calls that
say so. Such cases measure the framework's overhead per call, and not the operator. The shortest
call is that of `opperf doctor --peaks`, else the shortest of this run that says so.

Run: opperf run --size default -w 2 -r 5 -f jsonl -o run.jsonl
     python -m benchmarks.inputs.dispatch_share run.jsonl [--operators]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from opperf.model import PASSES, MetricKind, NoteCode, Record, Status
from opperf.results.roofline import dispatch_ns
from opperf.results.runfile import read_run
from opperf.results.units import time_text
from opperf.rules.shapes import MOSTLY_DISPATCH

MOST_SHOWN = 10
"""Categories, and calls that say so, that are printed for each pass."""

SHORT = 2
"""Ratio to the shortest call below which at least half of a call is dispatch."""


def says_so(record: Record) -> bool:
    """Whether a case is meant to show the overhead of a call."""
    return MOSTLY_DISPATCH in record.case.why


def shortest_ns(timed: Sequence[Record], metric: str) -> float:
    """Returns the nanoseconds of the shortest call: of the framework's peaks, else of the cases
    that say so; 0 without any."""
    known = [dispatch_ns(one, one.peaks) for one in timed if one.peaks is not None]
    claimed = [one.summaries[metric].median for one in timed if says_so(one)]
    return next((ns for ns in known if ns), min(claimed, default=0.0))


def is_dispatch(record: Record, metric: str, shortest: float) -> bool:
    """Whether at least half of a measured pass is dispatch."""
    if record.time_kind is MetricKind.WALL:
        return record.summaries[metric].median < SHORT * shortest
    return record.note(metric, NoteCode.DISPATCH) is not None


def shares(records: Sequence[Record], by_operator: bool = False) -> Iterator[str]:
    """Yields the lines of the report on a run's records."""
    measured = [one for one in records if one.status is Status.OK]
    for metric in PASSES:
        timed = [one for one in measured if metric in one.summaries]
        if not timed:
            continue
        shortest = shortest_ns(timed, metric)
        short = [one for one in timed if is_dispatch(one, metric, shortest)]
        share = len(short) / len(timed)
        yield f"{metric}: {len(short)} of {len(timed)} cases are mostly dispatch, {share:.1%}"
        others = [one for one in short if not says_so(one)]
        yield f"  {len(short) - len(others)} say so, {len(others)} do not:"
        totals, counts = (
            Counter(one.case.label if by_operator else one.case.category for one in listed)
            for listed in (timed, others)
        )
        for name, count in counts.most_common(None if by_operator else MOST_SHOWN):
            yield f"  {count:4} of {totals[name]:4}  {name}"
        longest = sorted(
            ((one.summaries[metric].median, one.case.label) for one in timed if says_so(one)),
            reverse=True,
        )
        if longest:
            yield f"  the longest that say so (the shortest call: {time_text(shortest)}):"
        for ns, label in longest[:MOST_SHOWN]:
            yield f"  {time_text(ns):>12}  {label}"


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
