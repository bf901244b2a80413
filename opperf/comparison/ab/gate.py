"""Instructions first (`ab --gate`): which figures of a session its counts leave to be timed.

A pass that runs the same instructions on the same data with one thread is the same computation. Its
time can change all the same, by what counts do not see: caches, branches that are mispredicted,
alignment, other threads, the kernel, and code that Valgrind's processor does not run. So its
verdict is never `same` but `instructions same`, and a random sample of such cases is timed: what
moves the time of all code, as an allocator or a clock does, shows in any few of them.

And the stage of a session that counts: each case once, as load and order do not change a count.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import chain, zip_longest
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

import msgspec

from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.process import key, pair_of
from opperf.comparison.ab.session import COUNTS, Session
from opperf.execution.execute import Rounds, find_pending
from opperf.execution.executor import Executor
from opperf.execution.workers import Workers, lane_count
from opperf.frameworks.base import CPU
from opperf.instruments.instructions import CALLGRIND
from opperf.machine.pinning import Pinning
from opperf.model import (
    DEFAULTS,
    WITHOUT_FIGURE,
    Case,
    Environment,
    Interpreter,
    NoteCode,
    Pass,
    Place,
    Record,
    Run,
    ScriptTarget,
    Settings,
    Status,
)
from opperf.plurals import pluralize
from opperf.results.figures import CaseFigures
from opperf.sources.varying import with_settings

SAME_SHARE = 0.001
"""Largest difference of two counts of the same code, as a share of A's: two processes that ran the
same cases differed by up to 0.06 % in MXNet's ten operators, whose threads wait for each other
(`benchmarks/verdicts/ab_on_mxnet.py`), and by less than 0.1 % in 219 of PyTorch's."""

LEAST_SAMPLE = 3
"""Fewest cases of a sample: what moves the time of half of all cases is in one of three with a
probability of 88 %."""

METRICS: Mapping[Pass, str] = {"forward": "instructions", "backward": "instructions_backward"}


def as_counted(case: Case) -> Case:
    """Returns the case whose instructions are counted."""
    return with_settings(case, {"profiler": CALLGRIND.profiler, "verify": False})


CODE = frozenset({"env", "python", "imports"})
"""Settings by which arms have other code. Any other that differs is one of the data, or of how the
same code is run, which instructions do not show."""

OBSTACLES: tuple[tuple[Callable[[Case], bool], str], ...] = (
    (lambda case: isinstance(case.target, ScriptTarget), "it is a program"),
    (lambda case: not case.settings.device.startswith(CPU.partition("(")[0]), "not on the CPU"),
    (lambda case: case.settings.threads != 1, "it may have several threads"),
    (lambda case: case.settings.mode != DEFAULTS["mode"], "its code is compiled when it runs"),
)
"""Tests of a case that keep it from an exact count, each with the reason."""


def why_not_counted(a: Case, b: Case) -> str:
    """Returns why the counts of a pair would say nothing of its times; empty if they may."""
    found = next((why for case in (a, b) for keeps, why in OBSTACLES if keeps(case)), "")
    if found:
        return found
    if a.target != b.target:
        return "the arms call different functions"
    if a.arguments != b.arguments:
        return "the arms have different inputs"
    differing = [
        name
        for name in Settings.__struct_fields__
        if name not in CODE and getattr(a.settings, name) != getattr(b.settings, name)
    ]
    return f"the arms differ in {', '.join(differing)}" if differing else ""


def counted_cases(session: Session) -> dict[str, tuple[Case, ...]]:
    """Returns the cases that are counted, by arm: those of a session of counts, or for the gate of
    one of times."""
    if session.plan.kind == "counts":
        return {arm: tuple(session.cases_of(arm).values()) for arm in session.arms}
    if session.plan.gate is None:
        return {}
    pairs = [pair for pair in session.pairs if not why_not_counted(pair.a, pair.b)]
    a, b = session.arms[:2]
    return {
        a: tuple(as_counted(pair.a) for pair in pairs),
        b: tuple(as_counted(pair.b) for pair in pairs),
    }


class Finding(NamedTuple):
    """Counts of a figure in both arms, compared."""

    same: bool = False
    ratio: float | None = None
    """Instructions of B over those of A; None if they were not counted."""
    reason: str = ""
    """Why it is timed whatever its counts are."""

    @property
    def kind(self) -> str:
        if self.ratio is None:
            return "not counted"
        return "identical" if self.same else "moved"

    @property
    def is_open(self) -> bool:
        """Whether only its time can decide."""
        return not self.same or bool(self.reason)

    def __str__(self) -> str:
        if self.ratio is None:
            return f"instructions not counted ({self.reason})"
        if not self.same:
            return f"instructions moved by {self.ratio - 1:+.2%}"
        within = "" if self.ratio == 1 else f" within {SAME_SHARE:.1%}"
        return f"instructions identical{within}{f', {self.reason}' if self.reason else ''}"


def findings(session: Session) -> dict[str, Finding]:
    """Returns what the counts say, by figure; of a session without a gate, nothing."""
    if session.plan.gate is None:
        return {}
    return {
        key(pair.id, metric): _finding(session, pair, metric)
        for pair in session.pairs
        for metric in pair.a.passes
    }


def _finding(session: Session, pair: Pair, metric: Pass) -> Finding:
    why = why_not_counted(pair.a, pair.b)
    if why:
        return Finding(reason=why)
    counts: list[float] = []
    for arm, case in zip(session.arms, (pair.a, pair.b), strict=False):
        record = session.counts.get(as_counted(case).id)
        count, why = _count(record, METRICS[metric])
        if count is None:
            return Finding(reason=f"{arm}: {why}")
        counts.append(count)
    a, b = counts
    ratio = b / a if a else (1.0 if b == a else math.inf)
    differs = pair.id in session.different
    return Finding(abs(ratio - 1) <= SAME_SHARE, ratio, "results differ" if differs else "")


def _count(record: Record | None, metric: str) -> tuple[float | None, str]:
    """Returns the count of a record, or why it has none that can be compared."""
    if record is None:
        return None, "not counted yet"
    if record.status is not Status.OK:
        return None, f"{record.status.value}: {record.reason}"
    found = CaseFigures(record).of(metric)
    note = record.note(metric, NoteCode.UNSTEADY, *WITHOUT_FIGURE)
    if found is None or note is not None:
        return None, "no count" if note is None else note.message
    return found.median, ""


def left_to_count(session: Session) -> bool:
    """Returns whether cases have yet to be counted."""
    planned = (case for cases in counted_cases(session).values() for case in cases)
    return any(case.id not in session.counts for case in planned)


def sampled(session: Session, found: Mapping[str, Finding]) -> tuple[str, ...]:
    """Returns the groups that are timed although both arms run the same instructions: a random
    sample of those of which no figure is timed otherwise, the same for a session's seed."""
    gate = session.plan.gate
    same = [pair.id for pair in session.pairs if not _is_open(pair, found)]
    if gate is None or not gate.sample:
        return ()
    number = min(len(same), max(LEAST_SAMPLE, math.ceil(gate.sample * len(same))))
    chosen = set(random.Random(f"{session.plan.seed} gate").sample(same, number))
    return tuple(group for group in same if group in chosen)


def _is_open(pair: Pair, found: Mapping[str, Finding]) -> bool:
    return any(found[key(pair.id, metric)].is_open for metric in pair.a.passes)


def timed_figures(session: Session) -> tuple[str, ...]:
    """Returns the figures that are timed, in the order of the pairs: all while cases have yet to be
    counted, and of a session without a gate; but for those that the rehearsal has decided."""
    decided = session.decided
    every = tuple(name for name in session.figures if name not in decided)
    found = findings(session)
    if not found or left_to_count(session):
        return every
    drawn = frozenset(sampled(session, found))
    return tuple(name for name in every if found[name].is_open or pair_of(name) in drawn)


class Counts(Rounds):
    """Schedule of counted cases, each in the place of its arm; none that has a count already."""

    def __init__(self, session: Session, pinning: Pinning) -> None:
        self._session, self._pinning = session, pinning
        planned = counted_cases(session)
        self._places = {
            case.id: Place(COUNTS, 0, position, arm, arm)
            for position, (arm, own) in enumerate(planned.items())
            for case in own
        }
        self.every = tuple(chain.from_iterable(planned.values()))
        earlier = tuple(session.counts.values())
        left = {case.id for case in find_pending(Run(session.header, earlier, cases=self.every))}
        of_arms = {arm: [case for case in own if case.id in left] for arm, own in planned.items()}
        self.left = {arm: own for arm, own in of_arms.items() if own}
        order = tuple(chain.from_iterable(self.left.values()))
        self._lanes = lane_count(order, pinning)
        self._lanes -= self._lanes % max(1, len(self.left))
        if self._lanes > 1:
            turns = zip_longest(*self.left.values())
            order = tuple(case for turn in turns for case in turn if case is not None)
        self.order = order
        super().__init__(order, earlier)

    def executor(self, workers: Workers, profiles: Path) -> AbstractContextManager[Executor]:
        """Returns the executor of the cases: side by side where there are cores for that, else the
        workers."""
        if self._lanes < 2:
            workers.profiles = profiles
            return workers
        workers.close()
        return ArmLanes(self.left, workers.interpreters, self._pinning, profiles, self._lanes)

    def keep(self, record: Record) -> list[Record]:
        kept = [
            msgspec.structs.replace(made, place=self._places.get(made.id))
            for made in super().keep(record)
        ]
        self._session.counts.update((made.id, made) for made in kept)
        return kept


class ArmLanes(AbstractContextManager["ArmLanes"]):
    """Executor of cases of several arms side by side: each arm has as many workers as another, on
    cores of their own, so that no worker is replaced by one of another arm, whose import takes half
    a minute under Valgrind."""

    def __init__(
        self,
        cases: Mapping[str, Sequence[Case]],
        interpreters: Sequence[Interpreter],
        pinning: Pinning,
        profiles: Path,
        number: int,
    ) -> None:
        self.lanes = number
        self._arm_of = {case.id: arm for arm, own in cases.items() for case in own}
        self._free: dict[str, SimpleQueue[Workers]] = {arm: SimpleQueue() for arm in cases}
        self._stack = ExitStack()
        self._all: list[Workers] = []
        for cores, arm in zip(pinning.split(number), number * list(cases), strict=False):
            one = self._stack.enter_context(Workers(interpreters, cores))
            one.profiles = profiles
            self._all.append(one)
            self._free[arm].put(one)

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def kill(self) -> None:
        for workers in self._all:
            workers.kill()

    @contextmanager
    def _one(self, case: Case) -> Iterator[Workers]:
        free = self._free[self._arm_of[case.id]]
        workers = free.get()
        try:
            yield workers
        finally:
            free.put(workers)

    def environment(self, case: Case) -> Environment:
        with self._one(case) as workers:
            return workers.environment(case)

    def measure(self, case: Case) -> Record:
        with self._one(case) as workers:
            return workers.measure(case)


def leftover(session: Session) -> str:
    """Returns what the counts say, and what is timed, in a sentence."""
    found = findings(session)
    timed = frozenset(timed_figures(session))
    kinds = Counter(finding.kind for finding in found.values())
    parts = [f"{number} {words}" for words, number in kinds.items()]
    drawn = len(sampled(session, found))
    sample = f", with a sample of {pluralize(drawn, 'case')}" if drawn else ""
    return (
        f"instructions of {pluralize(len(found), 'figure')}: {', '.join(parts)}; "
        f"{len(timed) or 'none'} timed{sample}"
    )
