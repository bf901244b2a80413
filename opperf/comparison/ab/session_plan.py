"""The plan of a session: its arms, its groups of cases, and how they are measured and compared."""

from __future__ import annotations

from typing import Literal

from opperf.comparison.ab.arms import ArmSpec, Order
from opperf.comparison.ab.process import Absence
from opperf.comparison.ab.slow_calls import SlowPair
from opperf.model import Check, LoadedFile, Struct, Tolerance, Verification
from opperf.statistics.blocks import BLOCK
from opperf.statistics.data import Thresholds


def block_size(phase: str, n_arms: int, order: Order = "block") -> int:
    """Returns the replicates of a block: two of each arm, or of the first one and itself; one of
    each where they alternate within a process."""
    each = BLOCK // 2 if order == "block" else 1
    return each * (2 if phase == "control" else n_arms)


class Group(Struct, frozen=True):
    """A case of each arm, which are compared with each other."""

    id: str
    cases: tuple[str, ...]
    """Ids of the planned cases, in the order of the arms; empty for an arm that has none."""
    names: dict[str, dict[str, str]] = {}
    """By arm, arguments of its case that the first arm's has by another name."""


class Gate(Struct, frozen=True):
    """How a session counts instructions before it times cases."""

    sample: float
    """Share of the cases with the same instructions that are timed all the same."""


class Lacking(Struct, frozen=True):
    """A row of an operation that an arm does not measure."""

    operation: str
    inputs: str
    arm: str
    reason: str


class Implemented(Struct, frozen=True):
    """The operation that the cases of a group are, each by an operator of its arm."""

    operation: str
    inputs: str
    """By role."""
    operators: dict[str, str]
    """By arm."""
    memory: dict[str, float] = {}
    """By arm, bytes at the peak of the call."""
    point: dict[str, int] = {}
    configuration: str = ""
    """Of a sweep, which of the operation's: the rest of a point."""
    flops: float = 0.0
    moved: int = 0
    """Operations and bytes of the forward pass; zero where they are not known."""
    verified: dict[str, Verification] = {}
    """By arm, how its results compare with the operation's reference."""


class Implementations(Struct, frozen=True):
    """The facts of the arms of `opperf versus`: implementations of operations."""

    groups: dict[str, Implemented]
    absent: dict[str, str] = {}
    """Arms that could not be started, each with the reason."""
    lacking: tuple[Lacking, ...] = ()
    numerics: dict[str, dict[str, str]] = {}
    """By arm, settings of its processes that decide how precisely they compute."""
    is_quick: bool = False
    """Whether it is a first look, of one block and without a control."""


Fact = bool | int | float | str | None


class SessionPlan(Struct, frozen=True):
    """How a session is measured and compared: `Header.session`."""

    kind: Literal["times", "counts", "checks"]
    """Figures that are compared beside the results; `checks` has none."""
    framework: str
    arms: tuple[ArmSpec, ...]
    groups: tuple[Group, ...]
    asked: dict[str, Fact] = {}
    """Values of the request, by field, that one which resumes the session has too."""
    compares: Literal["first", "all"] = "first"
    """Whether each other arm is compared with the first, or all with each other."""
    order: Order = "block"
    environments: dict[str, str] = {}
    thresholds: Thresholds = Thresholds()
    seed: int = 0
    """Seed of the orders of processes and of cases; the selection has that of the inputs."""
    absences: tuple[Absence, ...] = ()
    """Cases that no group has, as an arm does not measure them."""
    visit_s: dict[str, float] = {}
    start_s: float = 0.0
    later_start_s: float = 0.0
    """Of another one of the arm in the block: a fork if the framework supports that."""
    allocates: bool = False
    """Whether a case has another time after the first look, by its scatter (`visit_times`)."""
    reference_work: bool = False
    """Whether reference work was timed between the calls, to gauge the core's speed."""
    tolerance: Tolerance | None = None
    """Tolerance of differences between the arms' results; None if they were not compared."""
    checks: dict[str, dict[str, Check]] = {}
    """How the results of each other arm compare with those of the first, by arm and group."""
    gate: Gate | None = None
    """None if all cases are timed."""
    loaded: dict[str, tuple[LoadedFile, ...]] = {}
    """By arm, the files that its first process has loaded for the cases, and the framework's."""
    same_files: str = ""
    """That arms which are builds have loaded the same; empty where they have not."""
    slow: dict[str, SlowPair] = {}
    """By group, those of which a call takes longer than its time in a process."""

    implementations: Implementations | None = None
    """None of a session whose arms have the same operators, or name them."""

    @property
    def is_quick(self) -> bool:
        """Whether it is a first look, which has no verdicts."""
        return self.implementations is not None and self.implementations.is_quick

    @property
    def is_complete(self) -> bool:
        """Whether each arm has a case in each group."""
        return all(all(group.cases) for group in self.groups)

    @property
    def by_name(self) -> dict[str, ArmSpec]:
        return {arm.name: arm for arm in self.arms}
