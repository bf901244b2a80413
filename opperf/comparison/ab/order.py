"""The order in which a session times its arms: in processes of their own that take turns, or in
turn within each process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from opperf.comparison.ab.arms import ArmSpec, settings_of
from opperf.errors import UsageError
from opperf.metrics import process_settings
from opperf.sources.selecting import Selection
from opperf.statistics.blocks import BLOCK

Order = Literal["alternate", "block"]
"""`alternate`: calls of the arms alternate within a process, which is a block. `block`: processes
of the arms take turns, two of each in a block."""


def block_size(phase: str, n_arms: int, order: Order = "block") -> int:
    """Returns the replicates of a block: two of each arm, or of the first one and itself; one of
    each where they alternate within a process."""
    each = BLOCK // 2 if order == "block" else 1
    return each * (2 if phase == "control" else n_arms)


def why_not_alternating(arms: Iterable[ArmSpec], common: Selection) -> str:
    """Returns why no process can have all arms; empty if one can."""
    every = list(arms)
    own = [process_settings(settings_of(arm, common.settings)) for arm in every]
    if any(arm.python for arm in every) or any(found != own[0] for found in own):
        return "as the arms differ in what a process has one of: interpreter, variables, threads"
    return ""


def choose_order(asked: Order | None, arms: Mapping[str, ArmSpec], common: Selection) -> Order:
    """Returns the order of a session: blocks, unless the user asked for the other. Raises
    `UsageError` if its arms cannot alternate."""
    why_not = why_not_alternating(arms.values(), common)
    if asked == "alternate" and why_not:
        raise UsageError(f"--order alternate: not possible, {why_not}; omit it")
    return asked or "block"
