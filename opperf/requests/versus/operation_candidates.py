"""Judges kernels of a user's files against a canonical operation: `opperf versus OPERATION
--candidate`."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec

from opperf.candidates.calls import Row as Written
from opperf.candidates.calls import read_script, signature, write_baseline, write_problem
from opperf.candidates.judge import REFERENCE, Judge, verdict_of
from opperf.candidates.model import Candidate, Problem, TrialResult, Verdict, VerdictStatus
from opperf.candidates.report import report_of
from opperf.errors import UsageError
from opperf.frameworks.base import CPU
from opperf.frameworks.mentioned import mentioned_among
from opperf.frameworks.scripts import variable
from opperf.model import PASSES, Argument, Case, Summary, TensorSpec
from opperf.operations import OPERATIONS
from opperf.plurals import pluralize
from opperf.reading import WRITTEN_BY_HAND, read_bytes
from opperf.requests.ab.beginning import starter
from opperf.requests.ab.planning import Planned, along_axes
from opperf.requests.ab.resolving import progress_of
from opperf.requests.declaring import Say, declared, unsaid
from opperf.requests.versus.arms import read_arms
from opperf.requests.versus.candidates import JudgedCandidates, candidate_of, judge_of, judged
from opperf.requests.versus.planning import cases_of_arm, describe, random_rows
from opperf.requests.versus.request import VersusRequest
from opperf.requests.versus.resolving import ResolvedVersus, resolve
from opperf.sources.operation_rows import Row
from opperf.sources.selecting import Selection

RUNNABLE = ("torch", "numpy", "jax")
"""Frameworks whose candidates can be judged."""


OTHER = (
    *("making_inputs", "trials", "compares", "order", "quick", "report", "resume", "plot"),
    "fail_on",
)
"""Fields of sessions and of other references, which do not apply."""


class Plan(NamedTuple):
    """Rows of an operation with the call of each arm, the first of which is the reference."""

    operation: str
    framework: str
    roles: tuple[str, ...]
    """Those that a candidate gets, in their order."""
    rows: list[dict[str, tuple[Written, str]]]
    """Of each row, by arm, with the operator."""
    lacking: list[str]

    @property
    def first(self) -> str:
        """The arm that is the reference."""
        return next(iter(self.rows[0]))

    @property
    def signature(self) -> str:
        return signature(self.roles)


def judge_operation(request: VersusRequest, say: Say, command: str) -> JudgedCandidates | Planned:
    """Judges each candidate against an operation, beside the arms of its framework; of a dry run,
    returns lines. Raises `UsageError` and `WorkerError`."""
    say = unsaid if request.quiet else say
    for name in OTHER:
        if name in request.given:
            shown = declared(VersusRequest)[name].shown
            raise UsageError(f"{shown} does not apply to candidates for an operation; omit it")
    candidates = [candidate_of(text) for text in request.candidates]
    framework, own = _own_arms(request, say)
    resolved = resolve(own, unsaid, progress_of(True), command, least=1)
    plan = _planned(framework, resolved)
    for candidate in candidates:
        _check_arguments(candidate, plan)
    for line in plan.lacking:
        say(line)
    if request.dry_run:
        return Planned(_lines(plan, candidates))
    verdicts = []
    with TemporaryDirectory() as folder, closing(judge_of(request, framework)) as judge:
        posed = _written(Path(folder), request, plan)
        for candidate in candidates:
            rows = pluralize(len(plan.rows), "row")
            say(f"judging {candidate.name}, called with ({plan.signature}), in {rows}")
            verdicts.append(_verdict(judge, plan.first, posed, candidate))
    return judged(verdicts, report_of(verdicts))


def _own_arms(request: VersusRequest, say: Say) -> tuple[str, VersusRequest]:
    """Returns the candidates' framework, and the request with its arms alone. Raises `UsageError`
    if it has none."""
    arms = read_arms(request.among, request.python, say)
    mention = mentioned_among(request.candidates)
    runnable = [arm.framework for arm in arms.specs.values() if arm.framework in RUNNABLE]
    framework = next(iter(runnable), "") if mention is None else mention.framework
    own: list[str] = []
    for name, arm in arms.specs.items():
        why = ""
        if arm.python:
            why = "candidates are judged in this Python, without --python"
        elif arm.framework != framework:
            why = f"candidates get arrays of {framework or 'none'}"
        elif framework not in RUNNABLE:
            why = f"candidates can be of {', '.join(RUNNABLE)}"
        if not why:
            own.append(name)
        elif request.among:
            say(f"absent: {name}: {why}")
    if not own:
        raise UsageError(
            f"--among has no arm of {framework or 'a framework'} whose operator candidates could "
            f"replace; name one, e.g. --among {framework or RUNNABLE[0]}"
        )
    return framework, msgspec.structs.replace(request, among=tuple(own))


def _planned(framework: str, resolved: ResolvedVersus) -> Plan:
    """Returns the rows that the first arm has. Raises `UsageError` if it has none, for several
    operations, and for another device."""
    operations = {row.operation for row in resolved.rows}
    if len(operations) > 1:
        raise UsageError(f"--candidate replaces one operation; name one of {', '.join(operations)}")
    if resolved.selection.settings.device.partition("(")[0] != CPU.partition("(")[0]:
        raise UsageError("candidates are judged on the CPU; omit --device")
    (operation,) = operations
    first = next(iter(resolved.arms))
    rows: Sequence[Row] = resolved.rows
    found: dict[tuple[Any, ...], dict[str, tuple[Written, str]]] = {}
    lacking: dict[str, None] = {}
    with resolved.pinning, starter(resolved.arms, framework, resolved)(first) as worker:
        combinations = list(along_axes(resolved.selection, resolved.axes))
        if resolved.selection.fuzz is not None:
            rows = random_rows(
                {first: worker}, {first: resolved.arms[first]}, rows, combinations[0]
            )
        for common in combinations:
            for name, arm in resolved.arms.items():
                own = cases_of_arm(worker, arm, rows, common)
                cases = {
                    place: msgspec.structs.replace(case, passes=PASSES[:1])
                    for place, case in own.cases.items()
                }
                scripts = dict(zip(cases, worker.scripts(tuple(cases.values())), strict=True))
                for place, row in enumerate(rows):
                    trial = _trial(row, common, resolved.axes)
                    why = own.reasons.get(place) or _refusal(scripts[place], row, cases[place])
                    if why:
                        lacking[f"absent: {name}: {operation} ({_text(trial)}): {why}"] = None
                        continue
                    names = _names(cases[place])
                    script = read_script(scripts[place], names)
                    made = Written(trial, row.roles, names, script), cases[place].label
                    found.setdefault(tuple(trial.values()), {})[name] = made
    kept = [arms for arms in found.values() if first in arms]
    if not kept:
        raise UsageError(f"nothing to replace: {next(iter(lacking)).removeprefix('absent: ')}")
    used = {role for arms in kept for row, _ in arms.values() for role in row.roles}
    return Plan(
        operation,
        framework,
        tuple(role for role in OPERATIONS[operation].inputs if role in used),
        kept,
        list(lacking),
    )


def _trial(row: Row, common: Selection, axes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the inputs of a row by role as text, and the values of axes."""

    def shown(role: str) -> str:
        own = msgspec.structs.replace(row, roles={role: row.roles[role]})
        return describe(own, common.settings.dtype).removeprefix(f"{role}: ")

    return {
        **{variable(role): shown(role) for role in row.roles},
        **{name: getattr(common.settings, name, common.phase) for name in axes},
    }


def _text(trial: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in trial.items())


def _places(values: Mapping[str, Argument]) -> Iterator[tuple[str, TensorSpec]]:
    """Yields the tensors of inputs with their places, `tensors.0` of one in a list."""
    for name, value in values.items():
        if isinstance(value, TensorSpec):
            yield name, value
        elif isinstance(value, tuple):
            yield from _places({f"{name}.{index}": each for index, each in enumerate(value)})


def _names(case: Case) -> dict[str, str]:
    """Returns the variables of a call's script, by the places of inputs that they are."""
    return {spec.fill.of: variable(place) for place, spec in _places(case.arguments)}


def _refusal(script: str, row: Row, case: Case) -> str:
    """Returns why a call cannot be written; empty if it can."""
    if script.startswith("#"):
        return script.strip("# \n")
    further = _names(case).keys() - {place for place, _ in _places(row.roles)}
    return f"it takes {', '.join(sorted(further))} beside the operation's inputs" * bool(further)


def _check_arguments(candidate: Candidate, plan: Plan) -> None:
    """Raises `UsageError` for a function of a file that cannot be called with a row's inputs."""
    try:
        tree = ast.parse(read_bytes(candidate.file, WRITTEN_BY_HAND))
    except (SyntaxError, ValueError):
        # The verdict says what is wrong with it.
        return
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == candidate.function:
            own, count = node.args, len(plan.roles)
            most = len(own.posonlyargs) + len(own.args)
            least = most - len(own.defaults)
            needed = [each for each in own.kw_defaults if each is None]
            if count < least or needed or (count > most and own.vararg is None):
                raise UsageError(
                    f"--candidate {candidate.name} takes ({ast.unparse(own)}); it is called with "
                    f"({plan.signature})"
                )


def _lines(plan: Plan, candidates: Sequence[Candidate]) -> tuple[str, ...]:
    return (
        *(f"{each.name} is called with ({plan.signature})" for each in candidates),
        *(
            f"{plan.operation} ({_text(row[plan.first][0].trial)}): "
            + ", ".join(f"{arm} {label}" for arm, (_, label) in row.items())
            for row in plan.rows
        ),
    )


class _Posed(NamedTuple):
    """Rows whose calls are the same in each arm."""

    problem: Problem
    baselines: dict[str, str]
    """Files by arm."""


def _written(folder: Path, request: VersusRequest, plan: Plan) -> list[_Posed]:
    """Writes a problem for each call."""
    groups: dict[tuple[Any, ...], list[dict[str, Written]]] = defaultdict(list)
    for arms in plan.rows:
        row = {arm: written for arm, (written, _) in arms.items()}
        groups[tuple((arm, each.script.key) for arm, each in row.items())].append(row)
    made = []
    for number, rows in enumerate(groups.values()):
        first, *others = rows[0]
        own = folder / str(number)
        base = Problem(
            plan.operation, plan.framework, "", (), request.rtol, request.atol, request.gradients
        )
        problem = write_problem(own, base, plan.roles, [row[first] for row in rows])
        baselines = {
            arm: write_baseline(own, arm, plan.roles, [row[arm] for row in rows]) for arm in others
        }
        made.append(_Posed(problem, baselines))
    return made


def _verdict(judge: Judge, first: str, posed: Sequence[_Posed], candidate: Candidate) -> Verdict:
    """Returns the verdict on a candidate in all rows; `first` is the arm that is the reference."""
    found: list[Verdict] = []
    for each in posed:
        found.append(judge.verdict(each.problem, candidate, each.baselines))
        if found[-1].status in (VerdictStatus.CRASHED, VerdictStatus.TIMEOUT):
            break
    trials = [trial for each in posed for trial in each.problem.trials]
    return verdict_of(
        msgspec.structs.replace(posed[0].problem, trials=tuple(trials)),
        candidate.name,
        [_named(result, first) for each in found for result in each.trials],
        [name for each in found for name in each.called],
        [text for each in found for text in each.tested],
        [text for each in found for text in each.unprotected],
        [name for each in found for name in each.replaced],
    )


def _named(result: TrialResult, first: str) -> TrialResult:
    """Returns a result with the reference under the name of its arm."""

    def named(values: Mapping[str, Summary]) -> dict[str, Summary]:
        return {first if name == REFERENCE else name: each for name, each in values.items()}

    return msgspec.structs.replace(
        result, baselines=named(result.baselines), ratios=named(result.ratios)
    )
