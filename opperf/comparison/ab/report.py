"""The report of a session, which every format writes."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from opperf.comparison.ab.absences import Absence, reasons_of
from opperf.comparison.ab.arms import ArmSpec
from opperf.comparison.ab.gate import Finding, findings, left_to_count, sampled, timed_figures
from opperf.comparison.ab.order import Order
from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.plausibility import doubts
from opperf.comparison.ab.process import metric_of, pair_of
from opperf.comparison.ab.session import Session
from opperf.comparison.ab.totals import weigh_session
from opperf.comparison.ab.untimed import decided_verdicts, missing_figures
from opperf.comparison.results import ResultsRow, row_fields
from opperf.comparison.statistics.data import (
    Analysis,
    CaseVerdict,
    CoarseCase,
    CoarseLook,
    Shift,
    Verdict,
)
from opperf.comparison.statistics.weights import Weighted
from opperf.machine.environment import lasting_differences
from opperf.model import DIFFERENT, Check, LoadedFile, SameResults, Struct
from opperf.results.text import add_distinct


class Row(Struct, frozen=True, omit_defaults=False):
    """A figure and its verdict."""

    id: str
    operator: str
    inputs: str
    metric: str
    verdict: Verdict
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    """Bounds of the ratio, each wrong with the probability `Thresholds.same_level`."""
    p: float | None = None
    detectable: float | None = None
    """Smallest change that the session would find four times out of five, as a share."""
    blocks: int = 0
    note: str = ""
    settings: str = ""
    results: SameResults | Literal[""] = ""
    difference: str = ""
    basis: str = ""
    """The counts and times that the verdict rests on, of a session that counted first."""


class GateReport(Struct, frozen=True, omit_defaults=False):
    """Numbers of figures that a session counted before it timed, by result."""

    identical: int
    moved: int
    uncounted: int
    timed: int
    sample: int
    """Cases that were timed although both arms run the same instructions."""


class CoarseRow(Struct, frozen=True, omit_defaults=False):
    """A figure with all threads."""

    id: str
    operator: str
    inputs: str
    metric: str
    changed: Literal["slower", "faster"] | None = None
    """Not faster where the results differ."""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    blocks: int = 0


class CoarseReport(Struct, frozen=True, omit_defaults=False):
    """The results of the coarse look, which decides no verdict and no exit code."""

    blocks: int
    threshold: float
    rows: tuple[CoarseRow, ...]


class EnvironmentDifference(Struct, frozen=True):
    """A field of the environment that differs between the arms."""

    field: str
    a: str
    b: str


class Report(Struct, frozen=True, omit_defaults=False):
    """The results of a session. A figure is a metric of a case."""

    framework: str
    a: str
    b: str
    started: str
    complete: bool
    valid: bool
    reason: str
    cases: int
    processes: int
    blocks: int
    """Blocks of A and B at the latest look, on which the verdicts rest."""
    block_cap: int
    first_look: int
    threshold: float
    same_within: float
    """Share below which a change counts as none, where that could be shown."""
    detectable: float | None
    """Median of the figures' smallest detectable changes, as a share; None without one."""
    detectable_with_four_times: float | None
    """The same with four times the blocks, whose standard errors are half as large."""
    explained: float | None
    """As in `Analysis`."""
    note: str
    counts: dict[str, int]
    shift: Shift | None
    rows: tuple[Row, ...]
    differences: tuple[EnvironmentDifference, ...]
    absent: dict[str, str]
    """Cases that an arm does not measure, without those of `rows`, each with the reason."""
    lost: dict[str, str]
    """Likewise cases without a figure in some process."""
    fail_on: tuple[str, ...] = ()
    weighted: Weighted | None = None
    """None unless asked for, and of an invalid session."""
    coarse: CoarseReport | None = None
    """None without one, or before it is complete."""
    results: tuple[ResultsRow, ...] = ()
    """Empty if they were not compared."""
    nodes: tuple[str, ...] = ()
    """Names of the nodes of a cluster that measured it; empty for this machine."""
    gate: GateReport | None = None
    """None of a session that times all figures."""
    loaded: dict[str, tuple[LoadedFile, ...]] = {}
    """By arm, the files that it has loaded for the cases, and the framework's."""
    same_files: str = ""
    """That both arms have loaded the same files, although they are of two builds."""
    order: Order = "block"
    """How the processes that timed the arms were ordered."""
    kind: Literal["times", "checks"] = "times"
    """`checks` of a session that compares results alone."""


def reports_of(
    session: Session, fail_on: tuple[str, ...] = (), weight: str | None = None
) -> dict[tuple[str, str], Report]:
    """Returns the report of each comparison, by the names of its arms."""
    return {
        (view.arms[0], view.arms[1]): report_of(view, analysis, fail_on, weight)
        for view, analysis in session.judge()
    }


def report_of(
    session: Session, analysis: Analysis, fail_on: tuple[str, ...] = (), weight: str | None = None
) -> Report:
    """Returns the report of a session; `weight` asks for totals."""
    plan = session.plan
    a, b = session.arms[:2]
    pairs = {pair.id: pair for pair in session.pairs}
    checks = session.checks
    rows = _rows(session, analysis)
    looks = plan.thresholds.looks
    margin = plan.thresholds.margin
    known = [v.detectable for v in analysis.verdicts if v.detectable is not None]
    detectable = statistics.median(known) if known else None
    return Report(
        kind="checks" if plan.kind == "checks" else "times",
        order=plan.order,
        framework=" ".join([plan.framework, *_versions(session)]),
        a=_shown(plan.arms[0], "A"),
        b=_shown(plan.arms[1], "B"),
        started=session.header.started,
        complete=session.closing is not None,
        valid=analysis.valid,
        reason=analysis.reason,
        cases=len(pairs) + sum(absence.is_missing for absence in plan.absences),
        processes=session.n_processes,
        blocks=looks[analysis.looks - 1] if analysis.looks else 0,
        block_cap=looks[-1],
        first_look=looks[0],
        threshold=plan.thresholds.threshold,
        same_within=plan.thresholds.same_within,
        detectable=_change(detectable),
        detectable_with_four_times=(
            None if detectable is None else _change(margin + (detectable - margin) / 2)
        ),
        explained=analysis.explained,
        note=analysis.note,
        counts=dict(Counter(row.verdict.value for row in rows)),
        shift=_shift(analysis.shift, rows),
        rows=tuple(rows),
        differences=tuple(
            EnvironmentDifference(name, str(before), str(after))
            for name, before, after in lasting_differences(
                session.environments[a], session.environments[b]
            )
        ),
        absent=_absent(session),
        lost=_lost(session, pairs),
        fail_on=fail_on,
        weighted=weigh_session(session, analysis) if weight and analysis.valid else None,
        coarse=_coarse(session, analysis.coarse, pairs),
        results=tuple(
            ResultsRow.of(pair.id, pair.label, pair.inputs, check)
            for pair in session.pairs
            if (check := checks.get(pair.id)) is not None
        ),
        nodes=session.nodes,
        gate=_gate(session),
        loaded=plan.loaded,
        same_files=plan.same_files,
    )


def _rows(session: Session, analysis: Analysis) -> list[Row]:
    pairs = {pair.id: pair for pair in session.pairs}
    found, missing = findings(session), missing_figures(session)
    checks, doubtful = session.checks, doubts(session)

    def row(one: CaseVerdict) -> Row:
        fields = row_fields(one.verdict, checks.get(pair_of(one.case)))
        if one.case in missing:
            fields["verdict"] = Verdict.MISSING
        return Row(
            **_figure(one, pairs),
            **fields,
            detectable=_change(one.detectable),
            note=missing.get(one.case)
            or "; ".join(filter(None, (one.note, doubtful.get(one.case)))),
            settings=pairs[pair_of(one.case)].settings,
            basis=basis_text(one, found.get(one.case)),
        )

    rows = sorted(map(row, analysis.verdicts), key=lambda one: -(one.ratio or 0.0))
    rows += map(row, untimed(session))
    if session.plan.kind == "checks":
        rows += (_checked(pair, checks[pair.id]) for pair in session.pairs)
    gone = [absence for absence in session.plan.absences if absence.is_missing]
    rows += (row for absence in gone for row in _rows_without(absence))
    return rows


def _shown(arm: ArmSpec, role: str) -> str:
    return str(arm) if arm.name == role else f"{arm.name} ({arm})"


CHECKED: Mapping[SameResults, Verdict] = {
    "same": Verdict.SAME,
    DIFFERENT: Verdict.DIFFERENT,
    "not compared": Verdict.AMBIGUOUS,
}
"""Verdicts of cases of which the results alone were compared."""

RESULTS = "results"
"""Their metric."""


def _checked(pair: Pair, check: Check) -> Row:
    return Row(
        id=pair.id,
        operator=pair.label,
        inputs=pair.inputs,
        metric=RESULTS,
        note="" if check.differences else check.note,
        settings=pair.settings,
        **row_fields(CHECKED[check.outcome], check),
    )


def _rows_without(absence: Absence) -> Iterator[Row]:
    """Yields the figures of a case that B cannot measure."""
    for metric in absence.passes:
        yield Row(
            id=absence.id,
            operator=absence.operator,
            inputs=absence.inputs,
            metric=metric,
            verdict=Verdict.MISSING,
            note=absence.reason,
        )


def _absent(session: Session) -> dict[str, str]:
    """Returns why what was asked for is in no comparison, by name: without a case, or in one arm
    alone and no finding."""
    absences = session.plan.absences
    gone = reasons_of(absence for absence in absences if absence.is_missing)
    known = {**session.header.excluded, **reasons_of(absences)}
    return {name: why for name, why in known.items() if name not in gone}


def _shift(shift: Shift | None, rows: Sequence[Row]) -> Shift | None:
    """Returns the common shift; none that is a gain where it may be that of other results."""
    judged = [row for row in rows if row.ratio is not None]
    different = sum(row.results == DIFFERENT for row in judged)
    if shift is None or shift.verdict is Verdict.REGRESSED or 2 * different < len(judged):
        return shift
    return None


def basis_text(verdict: CaseVerdict, counted: Finding | None) -> str:
    """Returns what a verdict rests on; empty in a session without counts."""
    if counted is None:
        return ""
    is_timed = verdict.verdict is not Verdict.INSTRUCTIONS_SAME
    return f"{counted}, and timed" if is_timed else str(counted)


def untimed(session: Session) -> Iterator[CaseVerdict]:
    """Yields the figures that were not timed, as the rehearsal has decided them or their
    instructions are the same."""
    yield from decided_verdicts(session)
    timed = frozenset(timed_figures(session)) | session.decided
    for figure in findings(session):
        if figure not in timed:
            yield CaseVerdict(figure, Verdict.INSTRUCTIONS_SAME, note="not timed")


def _gate(session: Session) -> GateReport | None:
    found = findings(session)
    if not found or left_to_count(session):
        return None
    kinds = Counter(finding.kind for finding in found.values())
    return GateReport(
        identical=kinds["identical"],
        moved=kinds["moved"],
        uncounted=kinds["not counted"],
        timed=len(timed_figures(session)),
        sample=len(sampled(session, found)),
    )


def _figure(one: CaseVerdict | CoarseCase, pairs: Mapping[str, Pair]) -> dict[str, Any]:
    pair = pairs[pair_of(one.case)]
    return {
        "id": pair.id,
        "operator": pair.label,
        "inputs": pair.inputs,
        "metric": metric_of(one.case),
        "ratio": one.ratio,
        "low": _exp(one.low),
        "high": _exp(one.high),
        "p": one.p,
        "blocks": one.n_blocks,
    }


def _lost(session: Session, pairs: Mapping[str, Pair]) -> dict[str, str]:
    missing = {pair_of(figure) for figure in missing_figures(session)}
    reasons = {name: [why.reason] for name, why in session.lost.items() if name not in missing}
    for name, why in session.coarse_lost.items():
        if name in missing:
            continue
        reasons.setdefault(name, []).append(f"with all threads: {why.reason}")
    lost: dict[str, str] = {}
    for name, found in reasons.items():
        add_distinct(lost, f"{pairs[name].label} ({pairs[name].inputs})", name, "; ".join(found))
    return lost


def _coarse(
    session: Session, look: CoarseLook | None, pairs: Mapping[str, Pair]
) -> CoarseReport | None:
    if look is None:
        return None

    def row(one: CoarseCase) -> CoarseRow:
        is_other = one.changed == "faster" and pair_of(one.case) in session.different
        return CoarseRow(**_figure(one, pairs), changed=None if is_other else one.changed)

    rows = sorted(map(row, look.cases), key=lambda one: -(one.ratio or 0.0))
    return CoarseReport(look.n_blocks, session.plan.thresholds.coarse_threshold, tuple(rows))


def _versions(session: Session) -> list[str]:
    """Returns the framework's version, if it is the same in both arms."""
    framework = session.plan.framework
    found = {
        environment.versions.get(framework, "") for environment in session.environments.values()
    }
    return [version for version in found if version] if len(found) == 1 else []


def _change(value: float | None) -> float | None:
    """A log ratio as a share."""
    return None if value is None else math.expm1(value)


def _exp(value: float | None) -> float | None:
    return None if value is None else math.exp(value)
