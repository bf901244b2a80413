"""Measures two builds against each other, in a session of `opperf ab`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import msgspec

from opperf.comparison.ab.deadline import Deadline
from opperf.comparison.ab.figures import decided_verdicts, missing_figures
from opperf.comparison.ab.pairs import Pair, usual_id
from opperf.comparison.ab.process import metric_of, pair_of
from opperf.comparison.ab.session import Session
from opperf.comparison.ab.session_file import session_of
from opperf.comparison.compared import MISSING, Change, ChangeKind
from opperf.comparison.explaining.callgrind import read_dump
from opperf.comparison.explaining.choosing import choose_dumps
from opperf.comparison.explaining.difference import compare_dumps
from opperf.comparison.explaining.difference_report import report_of
from opperf.errors import UsageError
from opperf.execution.progress import Pace, Progress
from opperf.history.bisection.bisecting import COUNT_FREEDOM, COUNT_SCATTER, Ask
from opperf.history.bisection.results import Figure, Kind, Step
from opperf.history.builds import Build
from opperf.instruments.instructions import CALLGRIND
from opperf.metrics import counts, expected_metrics
from opperf.model import Role
from opperf.reports.model import Report
from opperf.requests.ab.beginning import begin
from opperf.requests.ab.request import AbRequest, SessionRequest
from opperf.requests.ab.resolving import (
    CAP_FACTOR,
    OF_TIMES,
    ResolvedAb,
    Watch,
    Work,
    chosen_profiler,
    resolve,
)
from opperf.requests.ab.sessions import measured
from opperf.requests.bisecting.request import BisectRequest
from opperf.requests.declaring import declared, unsaid
from opperf.requests.judging import judge_counts
from opperf.requests.operators import OperatorGroups, Operators
from opperf.requests.selecting import split_sources
from opperf.results.runfile import read_run
from opperf.statistics.data import SAME_FACTOR, Thresholds
from opperf.statistics.verdicts import analyse


class Sessions:
    """The sessions of a bisection: a judge."""

    def __init__(self, asked: BisectRequest, kind: Kind, watch: Callable[[str], Watch]) -> None:
        self._asked, self._kind, self._watch = asked, kind, watch
        self._folder = asked.folder

    def __call__(self, good: Build, other: Build, ask: Ask) -> Step:
        name = f"{ask.number:02}-{other.commit[:8]}.jsonl"
        return self.compare(good, other, ask, name, self._kind)

    def compare(self, a: Build, b: Build, ask: Ask, name: str, kind: Kind) -> Step:
        """Returns the figures of B against A. Raises `OpperfError` where they cannot be measured;
        the session stays in the file `name`."""
        begun = time.monotonic()
        request = self._request(a, b, ask, name, kind)
        session = measured(request, begin, _same_files)
        if session.pairs:
            found = _counted(session, request) if kind == "counts" else _timed(session)
        else:
            found = Step(0, ())
        failures = (*_absent(session), *_without_passes(session), *found.failures)
        if not failures and not found.figures and not session.pairs:
            absence = session.plan.absences[0]
            raise UsageError(f"no case runs in both commits, e.g. {absence.case}: {absence.reason}")
        failed = {failure.id for failure in failures}
        ran = tuple(sorted({usual_id(pair.a) for pair in session.pairs} - failed))
        seconds = time.monotonic() - begun
        return msgspec.structs.replace(
            found,
            seconds=seconds,
            file=name,
            same_files=session.plan.same_files,
            ran=ran,
            failures=failures,
            call_s=max((pair.slowest_s for pair in session.plan.slow.values()), default=0.0),
        )

    def _request(self, a: Build, b: Build, ask: Ask, name: str, kind: Kind) -> ResolvedAb:
        if a.arm == b.arm:
            raise UsageError(
                "both commits would be found in the same place: name {worktree} in --commit-env, "
                "or have the build leave a wheel"
            )
        asked, watch = self._asked, self._watch(b.commit)
        if asked.quiet:
            watch = _unseen
        resolved = resolve(self._step(a, b, ask, name, kind), unsaid, watch, "opperf bisect")
        assert resolved is not None, "no operators of changed files"
        resolved = replace(
            resolved,
            thresholds=_thresholds(resolved, ask),
            # Every step has orders of its own.
            seed=resolved.seed + ask.number,
            loss=ask.loss,
        )
        limit_s = asked.limit_s
        if limit_s is None:
            return resolved
        settings = msgspec.structs.replace(resolved.selection.settings, timeout_s=limit_s)
        selection = msgspec.structs.replace(resolved.selection, settings=settings)
        return replace(resolved, selection=selection, deadline=Deadline(limit_s))

    def _step(self, a: Build, b: Build, ask: Ask, name: str, kind: Kind) -> AbRequest:
        asked = self._asked
        shared = {field: getattr(asked, field) for field in SessionRequest.__struct_fields__}
        in_files = bool(split_sources(asked.operators.ops)[1])
        operators = msgspec.structs.asdict(asked.operators)
        ops = operators.pop("ops")
        profiler = _profiler(chosen_profiler(asked), kind)
        # Cases of files are those of the file: their ids are of another interpreter there.
        shared |= {
            "ids": asked.ids if in_files else ask.cases or asked.ids,
            "settings": msgspec.structs.replace(asked.settings, profiler=profiler),
            **{"overwrite": True, "quiet": True, "output_files": (), "output_format": ""},
        }
        of_kind = {*OF_TIMES, "threads"} if kind == "counts" else {"tolerances"}
        of_both = declared(SessionRequest).keys() | declared(OperatorGroups).keys()
        given = asked.given & ((of_both | {"threads"}) - {*of_kind, "profiler"})
        shared["given"] = given | {"report", *(["profiler"] if profiler else [])}
        return AbRequest(
            **shared,
            operators=Operators(names=ops if in_files else ask.operators or ops, **operators),
            a=a.arm,
            b=b.arm,
            order="block",
            no_check=True,
            fail_on=(),
            report=self._folder / name,
        )

    def functions(self, step: Step, figure: Figure) -> Report:
        """Returns what `opperf explain` says of a figure that was counted. Raises `CallgrindError`
        where no profile was kept."""
        path = self._folder / step.file
        run, warnings = read_run(path)
        session = session_of(path, run)
        pair = next(pair for pair in session.pairs if usual_id(pair.a) == figure.id)
        measured_pass = "backward" if "backward" in figure.metric else "forward"
        chosen = choose_dumps((path, path), (run, run), (pair.a, pair.b), measured_pass, warnings)
        difference = compare_dumps(read_dump(chosen.base), read_dump(chosen.new))
        return report_of(difference, chosen.title, SHOWN)


def _unseen(total: int, pace: Pace | None, work: Work) -> Progress:
    return Progress()


def _same_files(session: Session) -> None:
    """Raises `UsageError` where both commits have loaded the same files, and the user named none of
    them."""
    plan = session.plan
    files = chain.from_iterable(plan.loaded.values())
    if plan.same_files and all(found.role is not Role.NAMED for found in files):
        raise UsageError(f"{plan.same_files}, which --commit-env or a wheel has to lead to")


SHOWN = 8
"""Functions in a report, of those that changed most."""


def _profiler(given: str, kind: Kind) -> str:
    """Returns the profiler of a step: that of the bisection, where it measures what the step is to;
    empty for the framework's choice."""
    if counts(given) == (kind == "counts"):
        return given
    return CALLGRIND.profiler if kind == "counts" else ""


def _thresholds(request: ResolvedAb, ask: Ask) -> Thresholds:
    found = request.thresholds
    if ask.threshold is not None:
        same = ask.same_within or SAME_FACTOR * ask.threshold
        found = msgspec.structs.replace(found, threshold=ask.threshold, same_within=same)
    cap = found.block_cap * (CAP_FACTOR if ask.longer else 1)
    return msgspec.structs.replace(found, block_cap=cap)


def _timed(session: Session) -> Step:
    analysis = analyse(session.replicates, session.plan.thresholds)
    verdicts = (*analysis.verdicts, *decided_verdicts(session))
    pairs = {pair.id: pair for pair in session.pairs}
    figures = tuple(
        Figure(
            **_of_pair(pairs[pair_of(found.case)]),
            metric=metric_of(found.case),
            verdict=found.verdict,
            ratio=math.exp(found.effect),
            low=math.exp(found.low),
            high=math.exp(found.high),
            error=found.error,
            freedom=min(found.freedom, COUNT_FREEDOM),
            blocks=found.n_blocks,
        )
        for found in verdicts
        if found.effect is not None
        and found.error is not None
        and found.freedom is not None
        and found.low is not None
        and found.high is not None
    )
    lost = {pair_of(figure): why for figure, why in missing_figures(session).items()}
    failures = tuple(_failure(pairs[pair], why) for pair, why in lost.items())
    return Step(0, figures, analysis.reason, failures=failures)


def _absent(session: Session) -> Iterator[Change]:
    for absence in session.plan.absences:
        if absence.is_missing:
            yield _broken(absence.id, absence.operator, absence.inputs, absence.reasons["B"])


def _without_passes(session: Session) -> Iterator[Change]:
    second = session.arms[1]
    for pair in session.pairs:
        check = session.checks.get(pair.id)
        differences = () if check is None else check.differences
        lost = [str(difference) for difference in differences if difference.lacks == second]
        if lost:
            yield _failure(pair, "; ".join(lost))


def _failure(pair: Pair, reason: str) -> Change:
    # That it is of B goes without saying.
    return _broken(usual_id(pair.a), pair.label, pair.inputs, reason.removeprefix("B: "))


def _broken(case: str, operator: str, inputs: str, reason: str) -> Change:
    return Change(ChangeKind.BROKEN, case, operator, inputs, reason=reason)


def _counted(session: Session, request: ResolvedAb) -> Step:
    group_of = {case: group.id for group in session.plan.groups for case in group.cases}
    pairs = {pair.id: pair for pair in session.pairs}
    (compared,) = judge_counts(request.report, (), request.limits, None).found.values()
    metrics = {name for pair in session.pairs for name in expected_metrics(pair.a)}

    def figures() -> Iterator[Figure]:
        for row in compared.rows:
            if row.ratio is not None and row.metric in metrics:
                yield Figure(
                    **_of_pair(pairs[group_of[row.id]]),
                    metric=row.metric,
                    verdict=row.verdict,
                    ratio=row.ratio,
                    low=row.ratio,
                    high=row.ratio,
                    error=COUNT_SCATTER,
                    freedom=COUNT_FREEDOM,
                )

    found = tuple(figures())
    failures = tuple(
        _failure(pairs[group_of[change.id]], change.reason)
        for change in compared.changes
        if change.kind in MISSING and change.id in group_of
    )
    if not found and not failures:
        raise UsageError("no case was counted in both commits")
    return Step(0, found, failures=failures)


def _of_pair(pair: Pair) -> dict[str, Any]:
    # Not the id in the session, which depends on the folders of both builds.
    return {
        "id": usual_id(pair.a),
        "pattern": pair.a.pattern,
        "operator": pair.label,
        "inputs": pair.inputs,
    }
