"""The plan of a session, which its file's first line has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from opperf.comparison.ab.arms import ArmSpec
from opperf.comparison.statistics.data import Thresholds
from opperf.model import Case, Check, Struct, Tolerance
from opperf.sources.completing import distinguish
from opperf.sources.varying import with_settings


class Group(Struct, frozen=True):
    """A case of each arm, which are compared with each other."""

    id: str
    cases: tuple[str, ...]
    """Ids of the planned cases, in the order of the arms."""
    names: dict[str, str] = {}
    """Arguments of the second arm's case that have another name in the first one's, each with
    that."""


class SessionPlan(Struct, frozen=True):
    """How a session is measured and compared: `Header.session`."""

    kind: Literal["times", "counts"]
    framework: str
    arms: dict[str, ArmSpec]
    """By name; all are compared with the first."""
    groups: tuple[Group, ...]
    environments: dict[str, str] = {}
    """Ids of the arms' environments."""
    thresholds: Thresholds = Thresholds()
    seed: int = 0
    """Seed of the orders of processes and of cases; the selection has that of the inputs."""
    alone: dict[str, str] = {}
    """Cases without a partner in the other arm, each with the reason."""
    visit_s: dict[str, float] = {}
    """Expected seconds of a process for a group, by group."""
    start_s: float = 0.0
    """Expected seconds until the first process of an arm in a block has started."""
    later_start_s: float = 0.0
    """Expected seconds until another one of the arm in the block has started, which is a fork if
    the framework supports that."""
    reference_work: bool = False
    """Whether reference work was timed between the calls, to gauge the core's speed."""
    tolerance: Tolerance | None = None
    """Tolerance of differences between the arms' results; None if they were not compared."""
    checks: dict[str, Check] = {}
    """How the results of the arms compare, by group."""


def group_cases(
    groups: Sequence[Mapping[str, Case]], arms: Mapping[str, ArmSpec]
) -> list[tuple[Case, ...]]:
    """Returns the cases of each group as the file has them, in the order of the arms: none equals
    another, and those of an arm with its own interpreter name it."""
    named = {arm: {"python": arm} if spec.python else {} for arm, spec in arms.items()}
    # In the order of the arms, as equal cases are numbered.
    listed = distinguish(with_settings(group[arm], named[arm]) for arm in arms for group in groups)
    of_arm = [listed[start : start + len(groups)] for start in range(0, len(listed), len(groups))]
    return list(zip(*of_arm, strict=True))
