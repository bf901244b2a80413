"""A session of arms: a run file whose records have an arm, a block and a position.

Its verdicts are made of the records, so that they can be made again without measuring.
"""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from opperf.comparison.ab.absences import Absence
from opperf.comparison.ab.arms import ArmSpec, Threads, with_all_threads
from opperf.comparison.ab.order import Order, block_size
from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.slow_calls import SlowPair
from opperf.comparison.statistics.data import Analysis, Arm, Phase, Replicate, Thresholds
from opperf.comparison.statistics.verdicts import PHASES, analyse_together
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
    names: dict[str, dict[str, str]] = {}
    """By arm, arguments of its case that the first arm's has by another name."""


class Gate(Struct, frozen=True):
    """How a session counts instructions before it times cases."""

    sample: float
    """Share of the cases with the same instructions that are timed all the same."""


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

    @property
    def by_name(self) -> dict[str, ArmSpec]:
        return {arm.name: arm for arm in self.arms}


ARMS: tuple[Arm, Arm] = ("A", "B")
"""The arms of a comparison, as statistics name them."""

REPLICATED: dict[str, Phase] = {name: name for name in (*PHASES, "coarse")}
"""Phases whose processes are replicates."""

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
    samples: dict[str, Sequence[float]] = field(default_factory=dict)
    """By figure."""


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
        samples: dict[str, Sequence[float]] = {}
        for record in listed:
            name = self.group_of[record.id]
            found, reason = _values(name, record)
            values |= found
            own = record.samples.items()
            samples |= {key(name, metric): taken for metric, taken in own}
            for metric in record.case.passes:
                if key(name, metric) in found and metric in record.reference:
                    works = record.reference[metric].items()
                    reference[key(name, metric)] = {work: math.log(ns) for work, ns in works}
            if reason:
                lost[name] = Lost(f"{line.place.arm}: {reason}", record.status in FATAL)
        self.processes.append(Process(line, listed, values, reference, lost, samples))

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the nodes of a cluster that measured it, in order; none of this machine."""
        every = (record.node for process in self.processes for record in process.records)
        return tuple(dict.fromkeys(filter(None, every)))

    def omit_begun_blocks(self, node: str) -> None:
        """Leaves out processes of other nodes in blocks that are not complete, and arms of a
        process that lacks one, which are then measured again: the arms of a block are measured in
        one place, as its difference has no part of two places in it."""
        of_block = Counter(map(_block, self.processes))
        self.processes = [
            process
            for process in self.processes
            if of_block[_block(process)]
            == block_size(process.line.place.phase, len(self.arms), self.plan.order)
            or (
                self.plan.order == "block"
                and all(record.node == node for record in process.records)
            )
        ]

    @functools.cached_property
    def group_of(self) -> dict[str, str]:
        """The group of every case, by id; of the cases of the coarse look too."""
        found = {id: group.id for group in self.plan.groups for id in group.cases}
        coarse = {with_all_threads(self.cases[id]).id: group for id, group in found.items()}
        return {**coarse, **found}

    @property
    def arms(self) -> tuple[str, ...]:
        return tuple(arm.name for arm in self.plan.arms)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs of the first two arms."""
        return tuple(self.pairs_of(*self.arms[:2]).values())

    def pairs_of(self, base: str, new: str) -> dict[str, Pair]:
        """Returns the pairs of two arms, by group."""
        first, second = self.arms.index(base), self.arms.index(new)
        return {
            group.id: Pair(
                self.cases[group.cases[first]],
                self.cases[group.cases[second]],
                {} if first else group.names.get(new, {}),
                group.id,
            )
            for group in self.plan.groups
        }

    @property
    def replicates(self) -> tuple[Replicate, ...]:
        """Returns the replicates of the first two arms, as A and B. Where their calls alternate,
        B's value is A's and the median over rounds of the ratio."""
        roles: dict[str, Arm] = dict(zip(self.arms[:2], ARMS, strict=True))
        ratios = self._ratios() if self.plan.order == "alternate" else {}
        return tuple(
            Replicate(
                REPLICATED[place.phase],
                place.block,
                place.position,
                roles[place.role],
                ratios.get(place, process.values),
                process.reference,
            )
            for process in self.processes
            if (place := process.line.place).role in roles
        )

    @property
    def n_processes(self) -> int:
        """How many processes have measured."""
        if self.plan.order == "block":
            return len(self.processes)
        return len(set(map(_block, self.processes)))

    def _ratios(self) -> dict[Place, dict[str, float]]:
        """Returns the values of the second arm, by place."""
        base, new = self.arms[:2]
        of_base = {
            _block(process): process
            for process in self.processes
            if process.line.place.role == base
        }
        return {
            process.line.place: _with_ratios(process, of_base[_block(process)])
            for process in self.processes
            if process.line.place.role == new and _block(process) in of_base
        }

    @functools.cached_property
    def compared(self) -> tuple[tuple[str, str], ...]:
        """The arms that are compared, two by two."""
        every = tuple(itertools.combinations(self.arms, 2))
        return every if self.plan.compares == "all" else every[: len(self.arms) - 1]

    @property
    def views(self) -> tuple[Session, ...]:
        """The comparisons, each as the session of its two arms."""
        return tuple(self._view(base, new) for base, new in self.compared)

    def _view(self, base: str, new: str) -> Session:
        """Returns the session of two arms, in which the control's processes are of both."""
        if self.arms == (base, new):
            return self
        first, second = self.arms[:2]
        roles = {"control": {first: base, second: new}}
        processes = []
        for process in self.processes:
            place = process.line.place
            role = roles.get(place.phase, {base: base, new: new}).get(place.role)
            if role is not None:
                own = msgspec.structs.replace(place, role=role)
                line = msgspec.structs.replace(process.line, place=own, checks=None)
                processes.append(replace(process, line=line))
        plan = self.plan
        places = [self.arms.index(name) for name in (base, new)]
        own_plan = msgspec.structs.replace(
            plan,
            arms=tuple(plan.arms[place] for place in places),
            groups=tuple(
                Group(
                    group.id,
                    tuple(group.cases[place] for place in places),
                    {} if places[0] else group.names,
                )
                for group in plan.groups
            ),
            absences=tuple(
                msgspec.structs.replace(
                    absence,
                    is_missing=absence.is_missing
                    and new in absence.reasons
                    and base not in absence.reasons,
                )
                for absence in plan.absences
            ),
            checks={} if places[0] else {new: self.checks_of(new)},
            slow={
                group: msgspec.structs.replace(
                    slow, arms={name: slow.arms[name] for name in (base, new)}
                )
                for group, slow in plan.slow.items()
            },
        )
        found = replace(self, plan=own_plan, processes=processes)
        found.__dict__["group_of"] = self.group_of
        return found

    @property
    def comparisons(self) -> list[tuple[Replicate, ...]]:
        """The replicates of each comparison, those of the control in all."""
        return [view.replicates for view in self.views]

    def judge(self) -> list[tuple[Session, Analysis]]:
        """Returns the comparisons, each with its verdicts."""
        found = analyse_together(self.comparisons, self.plan.thresholds)
        return list(zip(self.views, found, strict=True))

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
        """How the results of the first two arms compare, by group."""
        return self.checks_of(self.arms[1])

    def checks_of(self, arm: str) -> dict[str, Check]:
        """How the results of an arm compare with those of the first, by group: of first calls, and
        after the timed ones."""
        found = dict(self.plan.checks.get(arm, {}))
        for process in self.processes:
            for group, later in (process.line.checks or {}).get(arm, {}).items():
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


def _with_ratios(process: Process, base: Process) -> dict[str, float]:
    found = dict(process.values)
    for name in process.values.keys() & base.values.keys():
        ours, theirs = (own.samples.get(name, ()) for own in (process, base))
        if ours and len(ours) == len(theirs) and min(*ours, *theirs) > 0:
            logs = [math.log(new / old) for new, old in zip(ours, theirs, strict=True)]
            found[name] = base.values[name] + statistics.median(logs)
    return found


def _faults(plan: SessionPlan, run: Run) -> Iterator[str]:
    """Yields what a plan names, and its file does not have."""
    arms = [arm.name for arm in plan.arms]
    if len(arms) < 2:
        yield "it has fewer than two arms"
    for name in (name for name, number in Counter(arms).items() if number > 1):
        yield f"it has several arms {name}"
    for arm, id in plan.environments.items():
        if id not in run.environments:
            yield f"the environment of {arm} is {id}, which the file does not have"
    if run.processes and plan.environments.keys() != set(arms):
        yield f"it has environments of {', '.join(plan.environments) or 'no arm'}"
    cases = {case.id for case in run.cases}
    for group in plan.groups:
        if len(group.cases) != len(arms):
            yield f"the group {group.id} has not one case of each arm"
        for id in set(group.cases) - cases:
            yield f"the group {group.id} has the case {id}, which the file does not have"
    for id, slow in plan.slow.items():
        if slow.arms.keys() != set(arms):
            yield f"the slow group {id} has not calls of each arm"
    for place in (line.place for line in run.processes):
        if place.phase not in (*PHASES, "coarse") or place.role not in arms:
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
