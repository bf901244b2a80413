"""Rounds: measures all cases several times, so that a drift of the machine affects all of them.

The record of a later round has the samples of all rounds so far and replaces the earlier one in the
run file, so that an interrupted run loses nothing.
"""

from __future__ import annotations

import random
from collections.abc import Container, Iterable, Mapping

import msgspec

from opperf.model import Case, Record, Status
from opperf.sources.varying import group_by_process


def plan_visits(
    cases: Iterable[Case],
    rounds: int,
    seed: int,
    earlier: Mapping[str, Record] | None = None,
    retry: Container[Status] = (),
) -> tuple[Case, ...]:
    """Returns the cases in the order of their measurement, each once for every round that it still
    needs. Cases of one process are together. Each of several rounds has a random order of its own,
    by the seed.

    A case that did not end ok is not measured again, unless its status is in `retry`.
    """
    listed = list(cases)
    done = {case.id: _rounds_done((earlier or {}).get(case.id), rounds, retry) for case in listed}
    found: list[Case] = []
    for number in range(rounds):
        order = list(listed)
        if rounds > 1:
            random.Random(f"{seed} {number}").shuffle(order)
        remaining = (_for_round(case, number) for case in order if done[case.id] <= number)
        found += group_by_process(remaining)
    return tuple(found)


def _rounds_done(record: Record | None, rounds: int, retry: Container[Status]) -> int:
    if record is None or record.status in retry:
        return 0
    return record.rounds if record.status is Status.OK else rounds


def _for_round(case: Case, number: int) -> Case:
    """Returns the case as measured in a round: the first round alone measures memory."""
    return case if number == 0 else without_memory(case)


def without_memory(case: Case) -> Case:
    """Returns the case without a measurement of its memory, which is the same each time."""
    settings = msgspec.structs.replace(case.settings, memory=False)
    return msgspec.structs.replace(case, settings=settings)
