"""The findings of a session of implementations: times, ratios to the first arm, memory and results
of each row, and those of all."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from opperf.comparison.ab.judging import judge
from opperf.comparison.ab.process import key
from opperf.comparison.ab.session import Session
from opperf.comparison.ab.session_plan import Implemented, Lacking
from opperf.comparison.compared import Comparison
from opperf.errors import FOUND, INCONCLUSIVE, RunFileError
from opperf.model import DIFFERENT, PASSES, Record, Struct, Verification
from opperf.results.figures import CaseFigures
from opperf.results.units import Figure
from opperf.statistics.data import Verdict
from opperf.statistics.distributions import t_exceeded
from opperf.statistics.weights import geometric_mean

LEVEL = 0.025
"""Probability that a time is beyond either end of its interval: the usual 95 % interval."""


class ArmRow(Struct, frozen=True):
    """A pass of a row in one arm."""

    id: str
    """That of the group in the session."""
    operation: str
    inputs: str
    metric: str
    arm: str
    operator: str = ""
    """The arm's own, that is called."""
    time: Figure | None = None
    """Nanoseconds of a call, with half the width of its 95 % interval."""
    base: str = ""
    """The first arm that has it."""
    ratio: float | None = None
    """Time over that of `base`; None of that itself."""
    low: float | None = None
    high: float | None = None
    verdict: Verdict | None = None
    """On the ratio; None of the base, of a first look and of wrong results."""
    p: float | None = None
    blocks: int | None = None
    memory: float | None = None
    results: str = ""
    """`same` as the operation's reference, or else as the first arm's; `different`, `undecidable`,
    `not compared`, or `base`, that of the arm which others are compared with."""
    error: float | None = None
    """Largest relative error of the results from the reference."""
    difference: str = ""
    note: str = ""
    point: dict[str, int] = {}
    configuration: str = ""
    flops: float = 0.0
    moved: int = 0
    """As of `Implemented`."""

    @property
    def is_wrong(self) -> bool:
        return self.results == DIFFERENT


class Total(NamedTuple):
    """An arm over all rows."""

    arm: str
    ratio: float | None
    """Geometric mean of the ratios to the first arm, over rows where both are right."""
    rows: int
    """Those of the mean."""
    fastest: int
    """Rows where no other right arm has a shorter time."""
    measured: int
    passed: int
    wrong: int
    lacking: int


class Versus(Struct, frozen=True):
    """A comparison of implementations."""

    arms: tuple[str, ...]
    rows: tuple[ArmRow, ...]
    totals: tuple[Total, ...]
    lacking: tuple[Lacking, ...] = ()
    excluded: dict[str, str] = {}
    """Operations that no arm measures, each with the reason."""
    absent: dict[str, str] = {}
    numerics: dict[str, dict[str, str]] = {}
    is_quick: bool = False
    """Whether it is a first look, without verdicts."""
    valid: bool = True
    reason: str = ""
    """Why it is not."""
    threshold: float = 0.02
    fail_on: tuple[str, ...] = ()
    processes: int = 0
    alternates: bool = False
    """Whether calls of the arms alternated within each process."""


def versus_of(session: Session, fail_on: Sequence[str] = ()) -> Versus:
    """Returns what a session says. Raises `RunFileError` for one that `opperf versus` has not
    made."""
    plan = session.plan
    if plan.implementations is None:
        raise RunFileError("the session is none of opperf versus")
    compared = {} if plan.is_quick else judge(session)
    rows = tuple(_rows(session, compared))
    invalid = [found.session for found in compared.values() if found.session is not None]
    return Versus(
        arms=session.arms,
        rows=rows,
        totals=tuple(_totals(session, rows)),
        lacking=plan.implementations.lacking,
        excluded=dict(session.header.excluded),
        absent=dict(plan.implementations.absent),
        numerics=dict(plan.implementations.numerics),
        is_quick=plan.is_quick,
        valid=all(facts.valid for facts in invalid),
        reason=next((facts.reason for facts in invalid if facts.reason), ""),
        threshold=plan.thresholds.threshold,
        fail_on=tuple(fail_on),
        processes=session.n_processes,
        alternates=plan.order == "alternate",
    )


def _rows(session: Session, compared: Mapping[tuple[str, str], Comparison]) -> Iterator[ArmRow]:
    implementations = session.plan.implementations
    assert implementations is not None
    judged = {
        (row.id, row.metric, *both): row for both, found in compared.items() for row in found.rows
    }
    cases = {arm: session.cases_of(arm) for arm in session.arms}
    for group, told in implementations.groups.items():
        results = {arm: _results(session, group, told, arm) for arm in told.operators}
        lost = session.lost.get(group)
        for metric in PASSES:
            own = [arm for arm in told.operators if metric in cases[arm][group].passes]
            if key(group, metric) not in session.figures:
                continue
            times = {arm: _time(session, arm, group, metric) for arm in own}
            base, first = own[0], times[own[0]]
            for arm, time in times.items():
                row = judged.get((group, metric, base, arm))
                ratio = None if row is None else row.ratio
                if session.plan.is_quick and arm != base and first and time:
                    ratio = time.value / first.value
                outcome, difference = results[arm]
                verified = told.verified.get(arm)
                yield ArmRow(
                    id=group,
                    operation=told.operation,
                    inputs=told.inputs,
                    metric=metric,
                    arm=arm,
                    operator=told.operators[arm],
                    time=time,
                    base=base,
                    ratio=ratio,
                    low=row.low if row else None,
                    high=row.high if row else None,
                    # One that computes something else is neither faster nor slower.
                    verdict=row.verdict if row and outcome != DIFFERENT else None,
                    p=row.p if row else None,
                    blocks=row.blocks if row else None,
                    memory=told.memory.get(arm) if metric == PASSES[0] else None,
                    results=outcome,
                    error=verified.max_relative_error if verified is not None else None,
                    difference=difference,
                    note=row.note if row else lost.reason if time is None and lost else "",
                    point=told.point,
                    configuration=told.configuration,
                    flops=told.flops,
                    moved=told.moved,
                )


def _results(session: Session, group: str, told: Implemented, arm: str) -> tuple[str, str]:
    """Returns `ArmRow.results` and `ArmRow.difference` of an arm."""
    verified = told.verified.get(arm)
    if verified is not None and is_decided(verified):
        return OF_CODES[verified.code.value], verified.line if verified.is_wrong else ""
    if arm == next(iter(told.operators)):
        return "base", ""
    check = session.checks_of(arm).get(group)
    if check is None:
        return "not compared", ""
    return check.outcome, "; ".join(map(str, check.differences))


OF_CODES = {"PASS": "same", "FAIL": DIFFERENT, "UNDECIDABLE": "undecidable"}
"""Results by the code of a verification by reference; of others nothing is known."""


def is_decided(verified: Verification | None) -> bool:
    """Whether results were compared with a reference."""
    return verified is not None and verified.code.value in OF_CODES


def _time(session: Session, arm: str, group: str, metric: str) -> Figure | None:
    """Returns the time of a call: the geometric mean of the medians of an arm's processes, with the
    interval of blocks; of one block that of the samples."""
    name, blocks = key(group, metric), defaultdict(list)
    records: list[Record] = []
    for process in session.processes:
        place = process.line.place
        if place.arm != arm or place.phase != "comparison" or name not in process.values:
            continue
        blocks[place.block].append(process.values[name])
        # Of several blocks, none is looked at.
        if len(blocks) == 1:
            records += (
                record for record in process.records if session.group_of[record.id] == group
            )
    means = [statistics.fmean(values) for values in blocks.values()]
    if not means:
        return None
    value = math.exp(statistics.fmean(means))
    if len(means) < 2:
        figures = (CaseFigures(record).figure(metric) for record in records)
        widths = [each.half_width for each in figures if each and each.half_width is not None]
        return Figure(value, statistics.median(widths) if widths else None)
    error = statistics.stdev(means) / math.sqrt(len(means))
    freedom = np.array([float(len(means) - 1)])
    (times,) = t_exceeded(LEVEL, freedom)
    return Figure(value, value * math.expm1(float(times) * error))


def _totals(session: Session, rows: Sequence[ArmRow]) -> Iterator[Total]:
    implementations = session.plan.implementations
    assert implementations is not None
    wins = _fastest(rows)
    lacking = Counter(lack.arm for lack in implementations.lacking)
    first = session.arms[0]
    right = {(row.id, row.metric) for row in rows if row.arm == first and not row.is_wrong}
    for arm in session.arms:
        own = [row for row in rows if row.arm == arm]
        ratios = [
            row.ratio
            for row in own
            if row.ratio is not None and not row.is_wrong and (row.id, row.metric) in right
        ]
        yield Total(
            arm,
            1.0 if arm == first else geometric_mean(ratios) if ratios else None,
            len(ratios),
            wins[arm],
            len(own),
            sum(row.results in ("same", "base") for row in own),
            sum(row.is_wrong for row in own),
            lacking[arm],
        )


def _fastest(rows: Iterable[ArmRow]) -> Counter[str]:
    """Returns in how many rows an arm has the shortest time among those that are right."""
    times: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in rows:
        if row.time is not None and not row.is_wrong:
            times[row.id, row.metric][row.arm] = row.time.value
    return Counter(min(own, key=own.__getitem__) for own in times.values())


DECIDED = frozenset({Verdict.REGRESSED, Verdict.IMPROVED, Verdict.SAME})


def outcome_of(found: Versus) -> tuple[int, str]:
    """Returns the exit code, and the findings if it is 1: of `Versus.fail_on`. It is inconclusive
    where the session is invalid, or no ratio is decided."""
    wrong = {(row.id, row.metric, row.arm) for row in found.rows if row.is_wrong}
    slower = [row for row in found.rows if row.verdict is Verdict.REGRESSED]
    numbers = {
        "wrong": len(wrong),
        # A wrong base is no measure of the others.
        "slower": sum((row.id, row.metric, row.base) not in wrong for row in slower),
        "lacking": len(found.lacking) + len(found.absent),
    }
    said = [f"{numbers[word]} {word}" for word in found.fail_on if numbers.get(word)]
    if said:
        return FOUND, ", ".join(said)
    if found.is_quick:
        return 0, ""
    is_open = not any(row.is_wrong or row.verdict in DECIDED for row in found.rows)
    return INCONCLUSIVE if is_open or not found.valid else 0, ""
