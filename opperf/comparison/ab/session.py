"""A session of arms: a run file whose records have an arm, a block and a position.

Its verdicts are made of the records, so that they can be made again without measuring.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace

import msgspec

from opperf.comparison.ab.arms import Threads, with_all_threads
from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.process import Lost, Process, key, pair_of
from opperf.comparison.ab.session_plan import Group, SessionPlan, block_size
from opperf.model import (
    DIFFERENT,
    PASSES,
    Case,
    Check,
    Closing,
    Environment,
    Header,
    Place,
    ProcessLine,
    Record,
)
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes
from opperf.statistics.data import PHASES, Analysis, Arm, Phase, Replicate
from opperf.statistics.verdicts import analyse_together

ARMS: tuple[Arm, Arm] = ("A", "B")
"""The arms of a comparison, as statistics name them."""

REPLICATED: dict[str, Phase] = {name: name for name in (*PHASES, "coarse")}
"""Phases whose processes are replicates."""

COUNTS = "counts"
"""Phase of the place of a record of instructions."""


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

    def add(self, line: ProcessLine, records: Iterable[Record]) -> None:
        self.processes.append(Process.of(line, records, self.group_of))

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the nodes of a cluster that measured it, in order; none of this machine."""
        every = (record.node for process in self.processes for record in process.records)
        return tuple(dict.fromkeys(filter(None, every)))

    def omit_begun_blocks(self, node: str) -> None:
        """Leaves out processes of other nodes in blocks that are not complete, and arms of a
        process that lacks one, which are then measured again: the arms of a block are measured in
        one place, as its difference has no part of two places in it."""
        of_block = Counter(process.block for process in self.processes)
        self.processes = [
            process
            for process in self.processes
            if of_block[process.block]
            == block_size(process.line.place.phase, len(self.arms), self.plan.order)
            or (
                self.plan.order == "block"
                and all(record.node == node for record in process.records)
            )
        ]

    @functools.cached_property
    def group_of(self) -> dict[str, str]:
        """The group of every case, by id; of the cases of the coarse look too."""
        found = {id: group.id for group in self.plan.groups for id in group.cases if id}
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
            if group.cases[first] and group.cases[second]
        }

    @functools.cached_property
    def figures(self) -> tuple[str, ...]:
        """The figures that two arms have, in the order of the groups."""
        cases = self.cases
        found: list[str] = []
        for group in self.plan.groups:
            passes = Counter(name for id in group.cases if id for name in cases[id].passes)
            found += (key(group.id, name) for name in PASSES if passes[name] > 1)
        return tuple(found)

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
        return len({process.block for process in self.processes})

    def _ratios(self) -> dict[Place, dict[str, float]]:
        """Returns the values of the second arm, by place."""
        base, new = self.arms[:2]
        of_base = {
            process.block: process for process in self.processes if process.line.place.role == base
        }
        return {
            process.line.place: process.with_ratios(of_base[process.block])
            for process in self.processes
            if process.line.place.role == new and process.block in of_base
        }

    @functools.cached_property
    def compared(self) -> tuple[tuple[str, str], ...]:
        """The arms that are compared, two by two."""
        every = tuple(itertools.combinations(self.arms, 2))
        asked = every if self.plan.compares == "all" else every[: len(self.arms) - 1]
        own = {arm: self._figures_of([arm]) for arm in self.arms}
        # A figure that the first arm lacks is compared with the first that has it.
        having = (tuple(arm for arm in self.arms if name in own[arm]) for name in self.figures)
        more = {(arms[0], arm) for arms in having for arm in arms[1:]}
        # A comparison without a figure of the control has no verdicts.
        of_control = own[self.arms[0]]
        return tuple(
            (base, new)
            for base, new in every
            if ((base, new) in asked or (base, new) in more)
            and (not self.figures or not of_control.isdisjoint(own[base] & own[new]))
        )

    def _figures_of(self, arms: Iterable[str]) -> frozenset[str]:
        """Returns the figures that all of these arms have."""
        every = [self.cases_of(arm) for arm in arms]
        return frozenset(
            key(group, name)
            for group, case in every[0].items()
            for name in case.passes
            if all(group in own and name in own[group].passes for own in every)
        )

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
        common = None if self.plan.is_complete else self._figures_of((base, new))
        for process in self.processes if common is None else self._with_values(common):
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
                if all(group.cases[place] for place in places)
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
                if base in slow.arms and new in slow.arms
            },
        )
        found = replace(self, plan=own_plan, processes=processes)
        found.__dict__["group_of"] = self.group_of
        return found

    def _with_values(self, figures: Collection[str]) -> Iterator[Process]:
        """Yields the processes with the values of these figures alone."""
        for process in self.processes:
            own = {name: value for name, value in process.values.items() if name in figures}
            yield replace(process, values=own)

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
        own = {group.id: group.cases[number] for group in self.plan.groups}
        return {group: self.cases[id] for group, id in own.items() if id}

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
        return frozenset(name for name in self.figures if pair_of(name) in gone)
