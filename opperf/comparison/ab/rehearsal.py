"""The rehearsal of a session: every pair is called once in both arms, to find whether it runs,
which passes it has, and how long it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from opperf.comparison.ab.pairs import Pair
from opperf.execution.progress import Progress
from opperf.frameworks.capabilities import needs_build
from opperf.model import Case, Record, Status
from opperf.results.text import add_distinct
from opperf.worker.client import Worker

WARMUP_FACTOR = 1.2
"""Time of a case as a multiple of its time limit: warm-up adds a fifth."""


@dataclass(frozen=True)
class Rehearsal:
    """The result of calling each pair once in both arms."""

    pairs: tuple[Pair, ...]
    """Those that run in both arms, with the passes that both have."""
    excluded: dict[str, str]
    visit_s: dict[str, float]
    """Seconds that a process of the slower arm takes for a pair, by pair."""
    first_s: float
    """Seconds that the first case of a process takes in addition."""


def rehearse(
    pairs: Sequence[Pair], workers: Mapping[str, Worker], case_time_s: float, progress: Progress
) -> Rehearsal:
    """Calls every pair once in each arm, to find whether it runs, its passes, and how long it takes
    in addition to the measured time. Ends their processes, one before the other begins."""
    records: dict[str, dict[str, Record]] = {"A": {}, "B": {}}
    first_s = 0.0
    with progress:
        for arm, found in records.items():
            worker = workers[arm]
            compiled = [case for case in (pair.of(arm) for pair in pairs) if needs_build(case)]
            if compiled:
                worker.build(compiled)
            # Called twice: imports are not part of the first case's own time.
            first = worker.measure(_once(pairs[0].of(arm)))
            for pair in pairs:
                case = _once(pair.of(arm))
                progress.begin(case)
                found[pair.id] = worker.measure(case)
                progress.end(found[pair.id])
            first_s = max(first_s, first.wall_s - found[pairs[0].id].wall_s)
            worker.end_process()
    kept: list[Pair] = []
    excluded: dict[str, str] = {}
    for pair in pairs:
        reasons = {
            arm: f"{found[pair.id].status.value}: {found[pair.id].reason}"
            for arm, found in records.items()
            if found[pair.id].status is not Status.OK
        }
        both = [found[pair.id].summaries for found in records.values()]
        passes = tuple(metric for metric in pair.a.passes if all(metric in own for own in both))
        if reasons or not passes:
            add_distinct(excluded, f"{pair.label} ({pair.inputs})", pair.id, _why_excluded(reasons))
        else:
            kept.append(pair.with_passes(passes))
    return Rehearsal(
        tuple(kept),
        excluded,
        {
            pair.id: max(found[pair.id].wall_s for found in records.values())
            + WARMUP_FACTOR * case_time_s
            for pair in kept
        },
        first_s,
    )


def _why_excluded(reasons: Mapping[str, str]) -> str:
    """Why a pair does not run, from the reasons in either arm."""
    if not reasons:
        return "no pass runs a kernel in both arms"
    if len(set(reasons.values())) < len(reasons):
        return f"both: {reasons['A']}"
    return "; ".join(f"{arm}: {reason}" for arm, reason in reasons.items())


def _once(case: Case) -> Case:
    settings = msgspec.structs.replace(case.settings, warmup=0, runs=1, max_time_s=None)
    return msgspec.structs.replace(case, settings=settings)
