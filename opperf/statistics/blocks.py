"""Effects of cases in blocks of processes: mean log B minus mean log A.

Assumption: the processes of a block differ in their arm, in what is common to the block, which
the difference cancels, and in noise. That of two processes of one arm may have a part in common, as
forks of one process have their memory layout; that of two blocks has none. Iterations within a
process share its memory layout and other accidents; they are one observation, their median, and
are never pooled across processes.
Where the calls of both arms alternate within a process, that is a block: its two values have the
process's level, layout and speed in common, and their difference is one observation.
Source: T. Kalibera and R. Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013, on the
level of repetition that varies; G. E. P. Box, J. S. Hunter and W. G. Hunter, Statistics for
Experimenters (2nd ed., 2005), chapter 4, on blocking.
Breaks when blocks are not independent (a process that outlives them, a cache on disk that the first
one fills), as their noise is then shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opperf.statistics.data import Arm, Phase, Replicate
from opperf.statistics.design import ORDERS

Floats = NDArray[np.float64]

BLOCK = 4
"""Processes of a block."""

SIGNS: dict[Arm, float] = {"A": -1.0, "B": 1.0}
"""Sign of an arm's processes in an effect, which is B minus A."""


@dataclass(frozen=True)
class Effects:
    """Effects of the cases (rows) in the complete blocks of a phase (columns)."""

    values: Floats
    """Log ratios; NaN where one of the block's four processes has no value of the case."""
    resolution: Floats
    """Smallest difference between two distinct values of each case in the phase, in log units: at
    least the step of a coarse clock; 0 where all values are equal."""


def cases_of(replicates: Iterable[Replicate]) -> tuple[str, ...]:
    """Every case of which some replicate has a value, sorted."""
    return tuple(sorted({case for replicate in replicates for case in replicate.values}))


def effects(replicates: Iterable[Replicate], phase: Phase, cases: Sequence[str]) -> Effects:
    """Effects of the cases in a phase, from its complete blocks: the last block of an interrupted
    session may have fewer than four replicates. Raises `ValueError` for two replicates in one
    place, and for a block of four processes that is neither ABBA nor BAAB."""
    contrasts, values = [], []
    for block, members in sorted(by_block(replicates, phase).items()):
        if not is_complete(members):
            continue
        ordered = [members[position] for position in sorted(members)]
        order = "".join(replicate.arm for replicate in ordered)
        if len(members) >= BLOCK and order not in ORDERS:
            raise ValueError(f"{phase} block {block} is {order}, which is not balanced")
        logs = np.array(
            [[replicate.values.get(case, np.nan) for case in cases] for replicate in ordered]
        )
        signs = np.array([SIGNS[replicate.arm] for replicate in ordered])
        contrasts.append(signs @ logs * 2 / len(members))
        values.append(logs)
    if not contrasts:
        return Effects(np.empty((len(cases), 0)), np.zeros(len(cases)))
    return Effects(np.array(contrasts).T, _resolution(np.concatenate(values).T))


Members = dict[tuple[int, Arm], Replicate]


def is_complete(members: Members) -> bool:
    """Whether a block has all of its replicates: four processes, or both arms of one."""
    return len(members) >= BLOCK or len(members) > len({position for position, _ in members})


def by_block(replicates: Iterable[Replicate], phase: Phase) -> dict[int, Members]:
    """Returns the replicates by block, and by position and arm. Raises `ValueError` for two in one
    place."""
    blocks: dict[int, Members] = {}
    for replicate in replicates:
        if replicate.phase != phase:
            continue
        members = blocks.setdefault(replicate.block, {})
        position = replicate.position, replicate.arm
        if position in members:
            place = f"{phase} block {replicate.block}, position {replicate.position}"
            raise ValueError(f"two replicates in one place: {place}")
        members[position] = replicate
    return blocks


def _resolution(values: Floats) -> Floats:
    steps = np.diff(np.sort(values, axis=1), axis=1)
    smallest = np.min(np.where(steps > 0, steps, np.inf), axis=1)
    return np.where(np.isfinite(smallest), smallest, 0.0)
