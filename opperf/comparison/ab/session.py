"""A session of arms: a run file whose records have an arm, a block and a position.

Its verdicts are made of the records, so that they can be made again without measuring.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from opperf.comparison.ab.arms import ArmSpec
from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.plan import Group, SessionPlan, group_cases
from opperf.comparison.ab.threads import Threads, with_all_threads
from opperf.comparison.statistics.data import Arm, Phase, Replicate
from opperf.comparison.statistics.verdicts import PHASES
from opperf.errors import RunFileError
from opperf.execution.run_header import make_header, read_selection
from opperf.model import (
    DIFFERENT,
    WITHOUT_FIGURE,
    Case,
    Closing,
    Environment,
    Header,
    Interpreter,
    Pass,
    Place,
    ProcessLine,
    Record,
    Run,
    Status,
    Struct,
)
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes

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
    """By figure, as `Replicate` has it."""
    lost: dict[str, Lost]
    """By group."""


@dataclass
class Session:
    """The content of a session's file, with its processes as they are added."""

    header: Header
    plan: SessionPlan
    cases: dict[str, Case]
    """All planned cases, by id."""
    environments: dict[str, Environment]
    """By arm."""
    selection: Selection
    """The operators, inputs and settings that the arms have in common."""
    axes: Axes
    """Settings that have several values in all arms, each of which makes a case of its own."""
    processes: list[Process] = field(default_factory=list)
    closing: Closing | None = None

    @classmethod
    def of(cls, run: Run) -> Session:
        """Returns the session in a run file. Raises `RunFileError` for a run, and for a plan that
        is not valid."""
        if not run.header.session:
            raise RunFileError("it is a run, and no session of `opperf ab`")
        try:
            plan = msgspec.convert(run.header.session, SessionPlan)
        except msgspec.ValidationError as error:
            raise RunFileError(f"its plan is not valid: {error}") from error
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
            if record.place is not None:
                of_place.setdefault(record.place, []).append(record)
        for line in run.processes:
            session.add(line, of_place.get(line.place, []))
        return session

    def add(self, line: ProcessLine, records: Iterable[Record]) -> None:
        """Adds a process and its records."""
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

    @functools.cached_property
    def group_of(self) -> dict[str, str]:
        """The group of every case, by id; of the cases of the coarse look too."""
        found = {id: group.id for group in self.plan.groups for id in group.cases}
        coarse = {with_all_threads(self.cases[id]).id: group for id, group in found.items()}
        return {**coarse, **found}

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms."""
        return tuple(self.plan.arms)

    @functools.cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The cases of the first two arms."""
        return self.pairs_of(*self.arms[:2])

    def pairs_of(self, base: str, new: str) -> tuple[Pair, ...]:
        """Returns the cases of two arms."""
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
        """The replicates of the first two arms."""
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
        """The replicates of each arm beside the first."""
        first, *others = self.arms
        return [self.replicates_of(first, other) for other in others]

    def cases_of(self, arm: str) -> dict[str, Case]:
        """Returns the cases of an arm, by group."""
        number = self.arms.index(arm)
        return {group.id: self.cases[group.cases[number]] for group in self.plan.groups}

    @property
    def threads(self) -> Threads:
        """Threads of arms that set none."""
        return Threads(self.selection.settings.threads, self.plan.thresholds.coarse_blocks > 0)

    @property
    def lost(self) -> dict[str, Lost]:
        """By group, the last figure lost by the verdicts, or the first one that ended its
        process."""
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
    def has_different_results(self) -> bool:
        """Whether the results of the arms differ in some case."""
        return any(check.outcome == DIFFERENT for check in self.plan.checks.values())

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


def _values(name: str, record: Record) -> tuple[dict[str, float], str]:
    """Logarithms of the medians of a record, by figure, and why the others are missing."""
    if record.status is not Status.OK:
        return {}, f"{record.status.value}: {record.reason}"
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


def new_session(
    groups: Mapping[str, Mapping[str, Case]],
    arms: Mapping[str, ArmSpec],
    environments: Mapping[str, Environment],
    selection: Selection,
    command: str,
    excluded: Mapping[str, str],
    axes: Axes | None = None,
    names: Mapping[str, Mapping[str, str]] | None = None,
    **plan: Any,
) -> Session:
    """Returns a session without processes.

    `groups` have the cases of the arms that are compared, by id; `names` arguments of the second
    arm's case that have another name in the first one's; `plan` the other fields of `SessionPlan`.
    """
    cases = group_cases(list(groups.values()), arms)
    made = SessionPlan(
        arms=dict(arms),
        groups=tuple(
            Group(id, tuple(case.id for case in own), dict((names or {}).get(id, {})))
            for id, own in zip(groups, cases, strict=True)
        ),
        environments={arm: environment.id for arm, environment in environments.items()},
        **plan,
    )
    header = make_header(
        Plan(cases=(), excluded=dict(excluded)),
        selection,
        command,
        axes,
        interpreters=[
            Interpreter(path=spec.python, label=arm) for arm, spec in arms.items() if spec.python
        ],
    )
    return Session(
        # As it is read again.
        msgspec.structs.replace(header, session=msgspec.json.decode(msgspec.json.encode(made))),
        made,
        {case.id: case for arm in zip(*cases, strict=True) for case in arm},
        dict(environments),
        selection,
        axes or {},
    )


def key(pair: str, metric: Pass) -> str:
    """Returns the name of a figure among a replicate's values."""
    return f"{pair} {metric}"


def pair_of(name: str) -> str:
    """Returns the pair of a figure."""
    return name.partition(" ")[0]


def metric_of(name: str) -> str:
    """Returns the metric of a figure."""
    return name.partition(" ")[2]
