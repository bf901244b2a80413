"""The order in which a session times its arms: in processes of their own that take turns, or in
turn within each process."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from opperf.comparison.ab.arms import ArmSpec, settings_of
from opperf.comparison.statistics.blocks import BLOCK
from opperf.errors import UsageError
from opperf.metrics import process_settings
from opperf.sources.selecting import Selection

Order = Literal["alternate", "block"]
"""`alternate`: calls of the arms alternate within a process, which is a block. `block`: processes
of the arms take turns, two of each in a block."""


def block_size(phase: str, n_arms: int, order: Order = "block") -> int:
    """Returns the replicates of a block: two of each arm, or of the first one and itself; one of
    each where they alternate within a process."""
    each = BLOCK // 2 if order == "block" else 1
    return each * (2 if phase == "control" else n_arms)


WALL_CLOCK = "python"
"""Profiler that a turn of a few calls costs nothing to begin."""


def why_not_alternating(arms: Iterable[ArmSpec], common: Selection) -> str:
    """Returns why no process can have all arms; empty if one can."""
    every = list(arms)
    own = [process_settings(settings_of(arm, common.settings)) for arm in every]
    if any(arm.python for arm in every) or any(found != own[0] for found in own):
        return "as the arms differ in what a process has one of: interpreter, variables, threads"
    return ""


def choose_order(
    asked: Order | None,
    arms: Mapping[str, ArmSpec],
    common: Selection,
    profilers: Collection[str | None] = (WALL_CLOCK,),
) -> tuple[Order, str]:
    """Returns the order of a session under some profilers, and why. Raises `UsageError` for one
    that its arms cannot have."""
    why_not = why_not_alternating(arms.values(), common)
    if asked == "alternate" and why_not:
        raise UsageError(f"--order alternate: not possible, {why_not}; omit it")
    if asked is not None:
        return asked, "as asked"
    if why_not:
        return "block", why_not
    if set(profilers) - {WALL_CLOCK}:
        return "block", "as a profiler of kernels would begin a recording for each turn of an arm"
    return "alternate", "as one process can have all arms: its level is in none of the ratios"
