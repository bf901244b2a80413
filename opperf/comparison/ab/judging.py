"""Judges a session: the comparison of its arms, and the exit code."""

from __future__ import annotations

import math
import shlex
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opperf.comparison.ab.figures import decided_verdicts, doubts, missing_figures, weigh_session
from opperf.comparison.ab.gate import findings, left_to_count, sampled, timed_figures
from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.process import Absence, metric_of, pair_of, reasons_of
from opperf.comparison.ab.session import Session
from opperf.comparison.compared import (
    CoarseReport,
    ComparedRow,
    Comparison,
    GateReport,
    SessionFacts,
    Side,
)
from opperf.comparison.results import ResultsRow, count_different, row_fields
from opperf.errors import FOUND, INCONCLUSIVE
from opperf.machine.environment import Difference, lasting_differences, machine_text
from opperf.model import DIFFERENT, Check, SameResults
from opperf.results.text import add_distinct
from opperf.statistics.data import Analysis, CaseVerdict, CoarseLook, Shift, Verdict

Arms = tuple[str, str]
"""Names of the arms of a comparison, the base first."""

INTERVAL = "90 % interval"
"""Each bound is wrong with a probability of 5 %, `Thresholds.same_level`."""

NOT_IN_BOTH, NOT_IN_SOME = "Not measured in both A and B", "Not measured in some process"
"""Titles of the reasons of cases without a comparison."""


def judge(
    session: Session, fail_on: tuple[str, ...] = (), weight: str | None = None, name: str = ""
) -> dict[Arms, Comparison]:
    """Returns the comparison of each two arms. `weight` asks for totals; commands read the
    session's file by `name`, if at all."""
    return {
        (view.arms[0], view.arms[1]): comparison_of(view, analysis, fail_on, weight, name)
        for view, analysis in session.judge()
    }


def comparison_of(
    session: Session,
    analysis: Analysis,
    fail_on: tuple[str, ...] = (),
    weight: str | None = None,
    name: str = "",
) -> Comparison:
    """Returns the comparison of the first two arms of a session."""
    thresholds = session.plan.thresholds
    rows = _rows(session, analysis)
    known = [v.detectable for v in analysis.verdicts if v.detectable is not None]
    detectable = statistics.median(known) if known else None
    checks = session.checks
    return Comparison(
        command="ab",
        sides=tuple(_sides(session)),
        labels=(session.arms[0], session.arms[1]),
        threshold=thresholds.threshold,
        same_within=thresholds.same_within,
        detectable=_change(detectable),
        interval=INTERVAL,
        rows=tuple(rows),
        differences=tuple(
            Difference(name, *map(str, both))
            for name, *both in lasting_differences(
                *(session.environments[arm] for arm in session.arms[:2])
            )
        ),
        reasons={NOT_IN_BOTH: _absent(session), NOT_IN_SOME: _lost(session)},
        fail_on=fail_on,
        weighted=weigh_session(session, analysis) if weight and analysis.valid else None,
        results=tuple(
            ResultsRow.of(pair.id, pair.label, pair.inputs, check)
            for pair in session.pairs
            if (check := checks.get(pair.id)) is not None
        ),
        session=_facts(session, analysis, rows, detectable),
        samples=_samples(session),
        again=_again(session, name) if name else {},
    )


def _sides(session: Session) -> Iterator[Side]:
    plan = session.plan
    for arm, spec in zip(session.arms[:2], plan.arms, strict=False):
        environment = session.environments.get(arm)
        yield Side(
            str(spec),
            session.header.started,
            machine=machine_text(environment) if environment else "",
            loaded=tuple(plan.loaded.get(arm, ())),
        )


def _facts(
    session: Session, analysis: Analysis, rows: Sequence[ComparedRow], detectable: float | None
) -> SessionFacts:
    plan, looks = session.plan, session.plan.thresholds.looks
    margin = plan.thresholds.margin
    return SessionFacts(
        kind="checks" if plan.kind == "checks" else "times",
        alternates=plan.order == "alternate",
        framework=_framework(session),
        complete=session.closing is not None,
        valid=analysis.valid,
        reason=analysis.reason,
        cases=len(session.pairs) + sum(absence.is_missing for absence in plan.absences),
        processes=session.n_processes,
        blocks=looks[analysis.looks - 1] if analysis.looks else 0,
        block_cap=looks[-1],
        first_look=looks[0],
        detectable_with_four_times=(
            None if detectable is None else _change(margin + (detectable - margin) / 2)
        ),
        explained=analysis.explained,
        note=analysis.note,
        shift=_shift(analysis.shift, rows),
        coarse=_coarse(session, analysis.coarse),
        nodes=session.nodes,
        gate=_gate(session),
        same_files=plan.same_files,
    )


def _samples(session: Session) -> dict[tuple[str, str], tuple[list[float], list[float]]]:
    """Returns the medians of the processes of both arms, of figures that both have."""
    medians: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for replicate in session.replicates:
        if replicate.phase == "comparison":
            for figure, value in replicate.values.items():
                if math.isfinite(value):
                    medians[figure]["AB".index(replicate.arm)].append(math.exp(value))
    return {
        (pair_of(figure), metric_of(figure)): sides
        for figure, sides in medians.items()
        if all(sides)
    }


def _again(session: Session, name: str) -> dict[str, tuple[tuple[str, str], ...]]:
    arms = session.arms[:2]
    return {
        pair.id: tuple(
            (f"Measure it again with {arm}", f"opperf run {shlex.quote(name)} --id {case.id}")
            for arm, case in zip(arms, (pair.a, pair.b), strict=True)
        )
        for pair in session.pairs
    }


def _rows(session: Session, analysis: Analysis) -> list[ComparedRow]:
    pairs = {pair.id: pair for pair in session.pairs}
    found, missing = findings(session), missing_figures(session)
    checks, doubtful = session.checks, doubts(session)

    def row(one: CaseVerdict) -> ComparedRow:
        fields = row_fields(one.verdict, checks.get(pair_of(one.case)))
        basis = str(found.get(one.case, ""))
        if basis and one.verdict is not Verdict.INSTRUCTIONS_SAME:
            basis += ", and timed"
        if one.case in missing:
            fields["verdict"] = Verdict.MISSING
        return ComparedRow(
            **_figure(one, pairs),
            **fields,
            unit="ns",
            detectable=_change(one.detectable),
            note=missing.get(one.case)
            or "; ".join(filter(None, (one.note, doubtful.get(one.case)))),
            basis=basis,
        )

    rows = sorted(map(row, analysis.verdicts), key=lambda one: -(one.ratio or 0.0))
    rows += map(row, untimed(session))
    if session.plan.kind == "checks":
        rows += (_checked(pair, checks[pair.id]) for pair in session.pairs)
    gone = [absence for absence in session.plan.absences if absence.is_missing]
    rows += (row for absence in gone for row in _rows_without(absence))
    return rows


CHECKED: Mapping[SameResults, Verdict] = {
    "same": Verdict.SAME,
    DIFFERENT: Verdict.DIFFERENT,
    "not compared": Verdict.AMBIGUOUS,
}
"""Verdicts of cases of which the results alone were compared."""

RESULTS = "results"
"""Their metric."""


def _checked(pair: Pair, check: Check) -> ComparedRow:
    return ComparedRow(
        id=pair.id,
        operator=pair.label,
        inputs=pair.inputs,
        metric=RESULTS,
        note="" if check.differences else check.note,
        settings=pair.settings,
        changed_settings=pair.settings,
        **row_fields(CHECKED[check.outcome], check),
    )


def _rows_without(absence: Absence) -> Iterator[ComparedRow]:
    """Yields the figures of a case that B cannot measure."""
    for metric in absence.passes:
        yield ComparedRow(
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


def _shift(shift: Shift | None, rows: Sequence[ComparedRow]) -> Shift | None:
    """Returns the common shift; none that is a gain where it may be that of other results."""
    judged = [row for row in rows if row.ratio is not None]
    different = sum(row.results == DIFFERENT for row in judged)
    if shift is None or shift.verdict is Verdict.REGRESSED or 2 * different < len(judged):
        return shift
    return None


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


def _figure(one: CaseVerdict, pairs: Mapping[str, Pair]) -> dict[str, Any]:
    pair = pairs[pair_of(one.case)]
    return {
        "id": pair.id,
        "operator": pair.label,
        "inputs": pair.inputs,
        "metric": metric_of(one.case),
        "settings": pair.settings,
        "changed_settings": pair.settings,
        "ratio": one.ratio,
        "low": _exp(one.low),
        "high": _exp(one.high),
        "p": one.p,
        "blocks": one.n_blocks,
    }


def _lost(session: Session) -> dict[str, str]:
    pairs = {pair.id: pair for pair in session.pairs}
    missing = {pair_of(figure) for figure in missing_figures(session)}
    reasons = {name: [why.reason] for name, why in session.lost.items() if name not in missing}
    for name, why in session.coarse_lost.items():
        if name not in missing:
            reasons.setdefault(name, []).append(f"with all threads: {why.reason}")
    lost: dict[str, str] = {}
    for name, found in reasons.items():
        add_distinct(lost, f"{pairs[name].label} ({pairs[name].inputs})", name, "; ".join(found))
    return lost


def _coarse(session: Session, look: CoarseLook | None) -> CoarseReport | None:
    if look is None:
        return None
    pairs = {pair.id: pair for pair in session.pairs}

    def row(one: CaseVerdict) -> ComparedRow:
        fields = row_fields(one.verdict, session.checks.get(pair_of(one.case)))
        return ComparedRow(**_figure(one, pairs), **fields)

    rows = sorted(map(row, look.cases), key=lambda one: -(one.ratio or 0.0))
    return CoarseReport(look.n_blocks, session.plan.thresholds.coarse_threshold, tuple(rows))


def _framework(session: Session) -> str:
    """Returns the framework's name, with its version if it is the same in both arms."""
    name = session.plan.framework
    found = {environment.versions.get(name, "") for environment in session.environments.values()}
    return " ".join([name, *found]).rstrip() if len(found) == 1 else name


def _change(value: float | None) -> float | None:
    """A log ratio as a share."""
    return None if value is None else math.expm1(value)


def _exp(value: float | None) -> float | None:
    return None if value is None else math.exp(value)


EXIT_CODES = {
    Verdict.REGRESSED.value: FOUND,
    DIFFERENT: FOUND,
    Verdict.MISSING.value: FOUND,
    Verdict.IMPROVED.value: FOUND,
    Verdict.AMBIGUOUS.value: INCONCLUSIVE,
}
"""Exit codes by finding that a session can fail on."""

OPEN = frozenset({Verdict.AMBIGUOUS, Verdict.INVALID, Verdict.MISSING, Verdict.INSTRUCTIONS_SAME})
"""Verdicts that decide nothing of a time."""


def outcome(comparisons: Mapping[Arms, Comparison]) -> tuple[int, str]:
    """Returns the exit code of a session's comparisons, and the findings if it is 1, as one line:
    the worst one's, in the order of the codes."""
    judged = {names: outcome_of(found) for names, found in comparisons.items()}
    codes = {code for code, _ in judged.values()}
    code = next((code for code in (FOUND, INCONCLUSIVE) if code in codes), 0)
    said = {names: why for names, (own, why) in judged.items() if own == code and why}
    if len(judged) == 1:
        return code, "".join(said.values())
    return code, "; ".join(f"{new} against {base}: {why}" for (base, new), why in said.items())


def outcome_of(found: Comparison) -> tuple[int, str]:
    """Returns the exit code of a comparison, and the findings if it is 1, as one line:
    of `Comparison.fail_on`, the shift of all operators together included. Results that differ and
    figures that are missing are findings in an invalid session too, as no noise hides them.
    Inconclusive where no figure is decided, unless none had to be timed: what counts say fails
    nothing."""
    session = found.session
    assert session is not None
    numbers = Counter(row.verdict.value for row in found.rows)
    numbers[DIFFERENT] = count_different(found.results)
    if session.valid and session.shift is not None:
        numbers[session.shift.verdict.value] += 1
    asked = {word: numbers[word] for word in found.fail_on if numbers[word]}
    said = [f"{number} {word}" for word, number in asked.items() if EXIT_CODES[word] == FOUND]
    if said:
        return FOUND, ", ".join(said)
    if session.complete and session.gate is not None and not session.gate.timed:
        return 0, ""
    is_open = not session.valid or all(row.verdict in OPEN for row in found.rows)
    return INCONCLUSIVE if is_open or asked else 0, ""
