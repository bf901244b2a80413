"""A session of arms: a run file whose records have an arm, a block and a position.

Its verdicts are made of the records, so that they can be made again without measuring.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from opperf.comparison.ab.absences import Absence
from opperf.comparison.ab.arms import ArmSpec, Threads, with_all_threads
from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.slow_calls import SlowPair
from opperf.comparison.statistics.blocks import BLOCK
from opperf.comparison.statistics.data import Arm, Phase, Replicate, Thresholds
from opperf.comparison.statistics.verdicts import PHASES
from opperf.errors import RunFileError
from opperf.execution.run_header import read_selection
from opperf.model import (
    DIFFERENT,
    WITHOUT_FIGURE,
    Case,
    Check,
    Closing,
    Environment,
    Header,
    LoadedFile,
    Place,
    ProcessLine,
    Record,
    Run,
    Status,
    Struct,
    Tolerance,
)
from opperf.results.verifications import why_without_figures
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes


class Group(Struct, frozen=True):
    """A case of each arm, which are compared with each other."""

    id: str
    cases: tuple[str, ...]
    """Ids of the planned cases, in the order of the arms."""
    names: dict[str, str] = {}
    """Arguments of the second arm's case that the first one's has by another name."""


class Gate(Struct, frozen=True):
    """How a session counts instructions before it times cases."""

    sample: float
    """Share of the cases with the same instructions that are timed all the same."""


class SessionPlan(Struct, frozen=True):
    """How a session is measured and compared: `Header.session`."""

    kind: Literal["times", "counts", "checks"]
    """Figures that are compared beside the results; `checks` has none."""
    framework: str
    arms: dict[str, ArmSpec]
    """By name; all are compared with the first."""
    groups: tuple[Group, ...]
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
    checks: dict[str, Check] = {}
    gate: Gate | None = None
    """None if all cases are timed."""
    loaded: dict[str, tuple[LoadedFile, ...]] = {}
    """By arm, the files that its first process has loaded for the cases, and the framework's."""
    same_files: str = ""
    """That arms which are builds have loaded the same; empty where they have not."""
    slow: dict[str, SlowPair] = {}
    """By group, those of which a call takes longer than its time in a process."""


COUNTS = "counts"
"""Phase of the place of a record of instructions."""

FATAL = (Status.CRASHED, Status.TIMEOUT)
"""Statuses of a case that has ended its process."""


class Lost(Struct, frozen=True):
    """Why a process has no figure of a pair."""

    reason: str
    ended: bool = False
    """Whether it ended the process, and so is not tried again in this session."""


@dataclass(frozen=True)
class Process:
    """A process that has measured its cases."""

    line: ProcessLine
    records: tuple[Record, ...]
    values: dict[str, float]
    """By figure, the natural logarithm of the median."""
    reference: dict[str, dict[str, float]]
    lost: dict[str, Lost]


@dataclass
class Session:
    """The content of a session's file, with its processes as they are added."""

    header: Header
    plan: SessionPlan
    cases: dict[str, Case]
    """By id."""
    environments: dict[str, Environment]
    selection: Selection
    """The operators, inputs and settings that the arms have in common."""
    axes: Axes
    """Settings that have several values in all arms, each of which makes a case of its own."""
    processes: list[Process] = field(default_factory=list)
    counts: dict[str, Record] = field(default_factory=dict)
    """Records of instructions, by the id of the counted case."""
    closing: Closing | None = None

    @classmethod
    def of(cls, run: Run) -> Session:
        """Returns the session of a run file. Raises `RunFileError` for a run or an invalid plan."""
        if not run.header.session:
            raise RunFileError("it is a run, and no session of `opperf ab`")
        try:
            plan = msgspec.convert(run.header.session, SessionPlan)
        except msgspec.ValidationError as error:
            raise RunFileError(f"its plan is not valid: {error}") from error
        for fault in _faults(plan, run):
            raise RunFileError(f"its plan is not valid: {fault}")
        session = cls(
            run.header,
            plan,
            {case.id: case for case in run.cases},
            {arm: run.environments[id] for arm, id in plan.environments.items()},
            *read_selection(run),
            closing=run.closing,
        )
        of_place: dict[Place, list[Record]] = {}
        for record in run.records:
            if record.place is not None and record.place.phase == COUNTS:
                session.counts[record.id] = record
            elif record.place is not None:
                of_place.setdefault(record.place, []).append(record)
        # One that was measured again, by another node, has two lines.
        for line in {line.place: line for line in run.processes}.values():
            records = of_place.get(line.place, [])
            if not {record.id for record in records} <= session.group_of.keys():
                raise RunFileError(f"a record of {line.place} is of a case that no group has")
            session.add(line, records)
        return session

    def add(self, line: ProcessLine, records: Iterable[Record]) -> None:
        listed = tuple(records)
        values: dict[str, float] = {}
        reference: dict[str, dict[str, float]] = {}
        lost: dict[str, Lost] = {}
        for record in listed:
            name = self.group_of[record.id]
            found, reason = _values(name, record)
            values |= found
            for metric in record.case.passes:
                if key(name, metric) in found and metric in record.reference:
                    works = record.reference[metric].items()
                    reference[key(name, metric)] = {work: math.log(ns) for work, ns in works}
            if reason:
                lost[name] = Lost(f"{line.place.arm}: {reason}", record.status in FATAL)
        self.processes.append(Process(line, listed, values, reference, lost))

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the nodes of a cluster that measured it, in order; none of this machine."""
        every = (record.node for process in self.processes for record in process.records)
        return tuple(dict.fromkeys(filter(None, every)))

    def omit_blocks_begun_elsewhere(self, node: str) -> None:
        """Leaves out processes of other nodes in blocks that are not complete, which are then
        measured again: A and B of a block are measured in one place, as its difference has no part
        of two places in it."""
        of_block = Counter(map(_block, self.processes))
        self.processes = [
            process
            for process in self.processes
            if of_block[_block(process)] == BLOCK
            or all(record.node == node for record in process.records)
        ]

    @functools.cached_property
    def group_of(self) -> dict[str, str]:
        """The group of every case, by id; of the cases of the coarse look too."""
        found = {id: group.id for group in self.plan.groups for id in group.cases}
        coarse = {with_all_threads(self.cases[id]).id: group for id, group in found.items()}
        return {**coarse, **found}

    @property
    def arms(self) -> tuple[str, ...]:
        return tuple(self.plan.arms)

    @functools.cached_property
    def pairs(self) -> tuple[Pair, ...]:
        return self.pairs_of(*self.arms[:2])

    def pairs_of(self, base: str, new: str) -> tuple[Pair, ...]:
        first, second = self.arms.index(base), self.arms.index(new)
        return tuple(
            Pair(
                self.cases[group.cases[first]],
                self.cases[group.cases[second]],
                group.names if second == 1 else {},
                group.id,
            )
            for group in self.plan.groups
        )

    @property
    def replicates(self) -> tuple[Replicate, ...]:
        return self.replicates_of(*self.arms[:2])

    def replicates_of(self, base: str, new: str) -> tuple[Replicate, ...]:
        """Returns the replicates of two arms as A and B; those of the control are of the first."""
        first, second = self.arms[:2]
        roles: dict[str, tuple[Phase, dict[str, Arm]]] = {
            "control": ("control", {first: "A", second: "B"}),
            "comparison": ("comparison", {base: "A", new: "B"}),
            "coarse": ("coarse", {base: "A", new: "B"}),
        }
        found = []
        for process in self.processes:
            place = process.line.place
            phase, arms = roles[place.phase]
            if place.role in arms:
                found.append(
                    Replicate(
                        phase,
                        place.block,
                        place.position,
                        arms[place.role],
                        process.values,
                        process.reference,
                    )
                )
        return tuple(found)

    @property
    def comparisons(self) -> list[tuple[Replicate, ...]]:
        first, *others = self.arms
        return [self.replicates_of(first, other) for other in others]

    def cases_of(self, arm: str) -> dict[str, Case]:
        number = self.arms.index(arm)
        return {group.id: self.cases[group.cases[number]] for group in self.plan.groups}

    @property
    def threads(self) -> Threads:
        return Threads(self.selection.settings.threads, self.plan.thresholds.coarse_blocks > 0)

    @property
    def lost(self) -> dict[str, Lost]:
        """By group, the last figure lost by the verdicts, or the first that ended its process."""
        return self._lost_in(*PHASES)

    @property
    def coarse_lost(self) -> dict[str, Lost]:
        """The same of the coarse look."""
        return self._lost_in("coarse")

    def _lost_in(self, *phases: str) -> dict[str, Lost]:
        found: dict[str, Lost] = {}
        for process in self.processes:
            if process.line.place.phase not in phases:
                continue
            for name, lost in process.lost.items():
                if name not in found or not found[name].ended:
                    found[name] = lost
        return found

    @property
    def is_checked(self) -> bool:
        """Whether results were compared after the timed calls."""
        return any(process.line.checks is not None for process in self.processes)

    @property
    def checks(self) -> dict[str, Check]:
        """How the results of the groups compare: of first calls, and after the timed ones."""
        found = dict(self.plan.checks)
        for process in self.processes:
            for group, later in (process.line.checks or {}).items():
                found[group] = found[group].with_later(later) if group in found else later
        return found

    @property
    def different(self) -> frozenset[str]:
        """The groups whose arms do not compute the same."""
        checks = self.checks.items()
        return frozenset(name for name, check in checks if check.outcome == DIFFERENT)

    @property
    def decided(self) -> frozenset[str]:
        """Figures that the rehearsal has decided."""
        slow = self.plan.slow.items()
        return frozenset(key(name, metric) for name, pair in slow for metric in pair.decided)

    @property
    def ended(self) -> frozenset[str]:
        """Figures of the groups that have ended a process, and are measured no more."""
        gone = {name for name, lost in self.lost.items() if lost.ended}
        return frozenset(
            key(pair.id, metric)
            for pair in self.pairs
            if pair.id in gone
            for metric in pair.a.passes
        )


def _faults(plan: SessionPlan, run: Run) -> Iterator[str]:
    """Yields what a plan names, and its file does not have."""
    if len(plan.arms) < 2:
        yield "it has fewer than two arms"
    for arm, id in plan.environments.items():
        if id not in run.environments:
            yield f"the environment of {arm} is {id}, which the file does not have"
    if run.processes and plan.environments.keys() != plan.arms.keys():
        yield f"it has environments of {', '.join(plan.environments) or 'no arm'}"
    cases = {case.id for case in run.cases}
    for group in plan.groups:
        if len(group.cases) != len(plan.arms):
            yield f"the group {group.id} has not one case of each arm"
        for id in set(group.cases) - cases:
            yield f"the group {group.id} has the case {id}, which the file does not have"
    for place in (line.place for line in run.processes):
        if place.phase not in (*PHASES, "coarse") or place.role not in plan.arms:
            yield f"a process is of the phase {place.phase!r} and the arm {place.role!r}"


def _block(process: Process) -> tuple[str, int]:
    return process.line.place.phase, process.line.place.block


def _values(name: str, record: Record) -> tuple[dict[str, float], str]:
    """Returns the logarithms of a record's medians, by figure, and why others are missing."""
    failed = why_without_figures(record)
    if failed:
        return {}, failed
    values: dict[str, float] = {}
    missing: list[str] = []
    # A record has the passes that its stage measured.
    for metric in record.case.passes:
        summary = record.summaries.get(metric)
        note = record.note(metric, *WITHOUT_FIGURE)
        if summary is not None and summary.median > 0:
            values[key(name, metric)] = math.log(summary.median)
        elif summary is not None or note is not None:
            missing.append(f"{metric}: {note.message if note else 'its median is zero'}")
    return values, "; ".join(missing)


def key(pair: str, metric: str) -> str:
    """Returns the name of a figure among a replicate's values."""
    return f"{pair} {metric}"


def pair_of(name: str) -> str:
    """Returns the pair of a figure."""
    return name.partition(" ")[0]


def metric_of(name: str) -> str:
    """Returns the metric of a figure."""
    return name.partition(" ")[2]
