"""A session whose request is resolved: files are opened, environments installed, arms read."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from opperf import defaults
from opperf.comparison.ab.arms import (
    ArmSpec,
    Threads,
    arm_spec,
    name_arms,
    option_of,
    read_arms,
    read_threads,
)
from opperf.comparison.ab.deadline import Deadline
from opperf.comparison.ab.session_plan import Gate
from opperf.comparison.project_file import Limits
from opperf.errors import UsageError
from opperf.execution.progress import Pace, Progress, make_progress
from opperf.frameworks.mentioned import FrameworkChoice
from opperf.frameworks.mentioned import choose_framework as choose_among
from opperf.instruments.instructions import CALLGRIND
from opperf.machine.pinning import Pinning
from opperf.model import DECLARED, DIFFERENT, Settings, Tolerance
from opperf.requests.ab.keeping import can_make_room, locate_report
from opperf.requests.ab.request import SINGLE, AbRequest, ArmsRequest, SessionRequest
from opperf.requests.declaring import Say, declared
from opperf.requests.operators import Operators
from opperf.requests.places import install_arm, read_locked
from opperf.requests.selecting import (
    add_changed,
    check_rule_options,
    check_shape_options,
    select_inputs,
    split_sources,
)
from opperf.shares import share_text
from opperf.sources.base import SourceFile, open_files
from opperf.sources.models import SuiteSource, read_suite
from opperf.sources.resolving import OWN_DEFAULT
from opperf.sources.selecting import Selection
from opperf.sources.sweeping import check_sweeps
from opperf.sources.varying import Axes, check_combinations, dtype_options, has_dtype_options
from opperf.statistics.data import Thresholds

PRECISION = 0.005
"""Precision of a process's median: a quarter of the default threshold, so that the noise of
iterations is small compared with the noise between processes, which is about one percent."""

CAP_FACTOR = 4
"""Cap of `--until-settled` without a number, in usual ones: it halves the standard errors."""

FIELDS = declared(AbRequest)


class Work(NamedTuple):
    """The work that some visits are."""

    name: str
    """With the word for one of its parts at the end."""
    visits: int = 1
    """Of each part."""


Watch = Callable[[int, Pace | None, Work], Progress]
"""Returns the progress of a number of visits."""


def progress_of(quiet: bool) -> Watch:
    """Returns what shows the progress on standard error."""
    return lambda total, pace, work: make_progress(sys.stderr, total, quiet, pace)


@dataclass(frozen=True, kw_only=True)
class ResolvedSession:
    """A session with its environments and arms."""

    asked: ArmsRequest
    choice: FrameworkChoice
    report: Path
    resumes: bool
    command: str
    say: Say
    watch: Watch
    environment: Mapping[str, str]
    pinning: Pinning
    given: frozenset[str]
    """Fields that were set, the report also where `resume` names it."""
    arms: Mapping[str, ArmSpec]
    """Empty for a session that is resumed without the options of its arms."""
    selection: Selection
    """The options that the arms have in common, with the first value of each axis."""
    axes: Axes
    """Settings with several values in both arms."""
    threads: Threads
    thresholds: Thresholds
    """Without a coarse look."""
    limits: Limits
    tolerance: Tolerance | None
    """Of differences between results; None if they are not compared."""
    seed: int
    node: str = ""
    """Name of the node of a cluster that this is; empty without one."""
    deadline: Deadline = field(default_factory=Deadline)

    @property
    def framework(self) -> str:
        return self.choice.name

    @property
    def is_default_report(self) -> bool:
        """Whether the user named no file for the session."""
        return "report" not in self.given

    @property
    def may_replace(self) -> bool:
        """Whether the session's file may replace one that exists: if that is asked for, or that is
        an earlier session's under the default name."""
        return self.asked.overwrite or (self.is_default_report and can_make_room(self.report))


@dataclass(frozen=True, kw_only=True)
class ResolvedAb(ResolvedSession):
    """A session of arms with their own settings."""

    asked: AbRequest
    gate: Gate | None
    """Of a session that counts instructions first."""
    files: tuple[SourceFile, ...]
    """Opened; their cases are compared in place of the registry's."""
    loss: float | None = None
    """Logarithm of the ratio that a step of a bisection looks for, zero while it is unknown, by
    which the rehearsal may decide it; None for no such step."""


def resolve(request: AbRequest, say: Say, watch: Watch, command: str) -> ResolvedAb | None:
    """Opens files, installs environments and reads the arms. `command` is kept in the session;
    `watch` shows progress. None, also said, where `changed_since` leaves nothing to measure. Raises
    `UsageError` for contradictory fields, the errors of files of cases, and `InstallationError`."""
    request, report, resumes, given = locate_report(request)
    choice = choose_framework(request)
    operators = _with_changed(request, choice.name, say)
    if operators is None:
        return None
    limits = request.limits.limits(request.same_within)
    # Without a number, 0.
    until = CAP_FACTOR * request.blocks if request.until_settled == 0 else request.until_settled
    thresholds = msgspec.structs.replace(
        limits.thresholds, control_blocks=request.control_blocks, block_cap=until or request.blocks
    )
    _check(request, report, resumes, thresholds)
    names, files = _split(operators, choice.name, given)
    selection = select(request, msgspec.structs.replace(operators, names=names), request.check)
    check_sweeps(selection)
    arms: Mapping[str, ArmSpec] = {}
    # A session that is resumed has its own.
    if not resumes or {"a", "b", "arm"} & given:
        arms = _arms_of(request, operators, choice.name, files, say)
    elsewhere = any(arm.python for arm in arms.values())
    return ResolvedAb(
        asked=request,
        choice=replace(choice, elsewhere=elsewhere),
        report=report,
        resumes=resumes,
        command=command,
        say=say,
        watch=watch,
        environment=dict(os.environ),
        pinning=Pinning(request.cpus),
        given=given,
        arms=arms,
        selection=selection,
        axes=_axes_of(request, arms),
        threads=read_threads(request.threads),
        thresholds=thresholds,
        limits=limits,
        tolerance=None if request.no_check else Tolerance(request.rtol, request.atol),
        seed=request.settings.seed,
        gate=Gate(request.gate_sample) if request.gate else None,
        files=files,
    )


def choose_framework(request: AbRequest) -> FrameworkChoice:
    """Returns the named framework, or else that which names, files and requirements mention, or
    else the preferred one."""
    arms = [arm_spec(own, option) for option, own in _named_arms(request).values()]
    named = request.operators
    words = (*named.names, *named.ops, *(name for arm in arms for name in arm.operators))
    requirements = [text for arm in arms for text in arm.requirements]
    return choose_among(request.framework, words, request.settings, requirements=requirements)


def _named_arms(request: AbRequest) -> dict[str, tuple[str, list[str]]]:
    return name_arms(request.a, request.b, request.arm)


def _with_changed(request: AbRequest, framework: str, say: Say) -> Operators | None:
    pythons: dict[str, None] = {}
    if request.changed.changed_since is not None:
        locked = read_locked(request.locked)
        arms = (arm_spec(settings, option) for option, settings in _named_arms(request).values())
        pythons = dict.fromkeys(install_arm(arm, locked, say).python for arm in arms)
    return add_changed(
        request.changed,
        request.operators,
        framework,
        pythons,
        say,
        has_inputs=bool(request.settings.input_function),
        config=request.limits.config,
        are_builds=True,
    )


def _check(request: AbRequest, report: Path, resumes: bool, thresholds: Thresholds) -> None:
    check_shape_options(request.given)
    if not resumes:
        # Before anything is said or started; a session that is resumed has its own.
        _check_thresholds(thresholds, request.blocks)
    if request.no_check and DIFFERENT in (request.fail_on or ()):
        raise UsageError(f"--fail-on {DIFFERENT} needs the results, which --no-check omits")
    if not request.dry_run:
        # Before the session takes its time; one that is resumed makes its report again.
        request.check_weighted(request.weight, [report], may_replace=resumes)
    if request.check:
        _check_only_checks(request)
    if "gate_sample" in request.given and not request.gate:
        raise UsageError("--gate-sample is for --gate; add it, or omit the sample")


OF_TIMES = (
    *("same_within", "control_blocks", "blocks", "until_settled", "case_time_s", "no_pace"),
    *("budget_s", "order"),
)
"""Fields that are for times only: neither results nor counts scatter."""

OF_FIGURES = (*OF_TIMES, "gate", "gate_sample", "weight", "threshold", "tolerances", "no_check")
"""Fields that a comparison of results alone has no use for."""


def _check_only_checks(request: AbRequest) -> None:
    for name in OF_FIGURES:
        if name in request.given:
            option = FIELDS[name].shown
            raise UsageError(f"--check compares results, and {option} is not for them; omit one")
    if "threads" in request.given and read_threads(request.threads).coarse:
        raise UsageError(
            f"--threads {request.threads}: results have no coarse look; give one number"
        )


def _check_thresholds(thresholds: Thresholds, blocks: int) -> None:
    if thresholds.block_cap < blocks:
        raise UsageError(
            f"--until-settled {thresholds.block_cap} is below --blocks {blocks}; raise the one or "
            "lower the other"
        )
    if thresholds.same_within < thresholds.threshold:
        raise UsageError(
            f"--same-within {share_text(thresholds.same_within)} is below --threshold "
            f"{share_text(thresholds.threshold)}, so that a change could be both; raise the one or "
            "lower the other"
        )


def _split(
    operators: Operators, framework: str, given: frozenset[str]
) -> tuple[tuple[str, ...], tuple[SourceFile, ...]]:
    suites = {name: word for name in operators.names if (word := read_suite(name)) is not None}
    names, paths = split_sources(operators.names)
    files = (
        *open_files(paths),
        *(SourceFile(Path(name), SuiteSource(framework, word)) for name, word in suites.items()),
    )
    if files:
        first = files[0].path
        for other in (*(name for name in names if name not in suites), *operators.ops):
            raise UsageError(
                f"{first} and {other}: name either operators, or files of cases and suites"
            )
        check_rule_options(first, given)
    return names, files


def _arms_of(
    request: AbRequest, operators: Operators, framework: str, files: Sequence[SourceFile], say: Say
) -> dict[str, ArmSpec]:
    named = bool(operators.names or operators.ops)
    arms = read_arms(_named_arms(request), named, request.settings.imports)
    counting = {
        "--gate": request.gate,
        "--profiler instructions": chosen_profiler(request) == CALLGRIND.profiler,
    }
    for option, is_set in counting.items():
        if is_set and len(arms) > 2:
            raise UsageError(
                f"{option} counts the instructions of two arms; omit it, or name two arms"
            )
    locked = read_locked(request.locked)
    if locked is not None and not any(arm.requirements for arm in arms.values()):
        raise UsageError("--locked is for environments; name them with --a env:NAME==VERSION")
    in_files = files if files and has_dtype_options(framework) else ()
    dtypes = request.axes.get("dtype") or {
        case.settings.dtype for file in in_files for case in file.source.cases()
    }
    return {
        name: install_arm(_with_dtype_options(arm, framework, dtypes), locked, say)
        for name, arm in arms.items()
    }


def _with_dtype_options(arm: ArmSpec, framework: str, dtypes: Iterable[str]) -> ArmSpec:
    own = arm.settings.get("dtype")
    needed: dict[str, str] = {}
    for dtype in dtypes if own is None else (own,):
        needed |= dtype_options(framework, dtype)
    return msgspec.structs.replace(arm, options={**needed, **arm.options})


def _axes_of(request: AbRequest, arms: Mapping[str, ArmSpec]) -> Axes:
    found: Axes = {name: values for name, values in request.axes.items() if len(values) > 1}
    check_combinations(found.values())
    for name, arm in arms.items():
        for axis in found.keys() & arm.settings.keys():
            raise UsageError(
                f"{DECLARED[axis].option} {','.join(map(str, found[axis]))} has several values "
                f"for {'both' if len(arms) == 2 else 'all'} arms, and {option_of(name)} sets "
                f"{axis}; give one value, or leave it to the arms"
            )
    return found


def chosen_profiler(request: SessionRequest) -> str:
    """Returns the profiler of both arms; empty for the framework's choice."""
    return request.settings.profiler if "profiler" in request.given else ""


def select(request: ArmsRequest, operators: Operators, only_results: bool = False) -> Selection:
    """Returns the selection that the arms have in common. A device, profiler or mode that the user
    did not choose is empty, and chosen by the framework."""
    first = {name: values[0] for name, values in request.axes.items() if values}
    single = {name: getattr(request.settings, name) for name in SINGLE if name in request.given}
    # Results have no kernels.
    profiler = {"profiler": "python"} if only_results and not chosen_profiler(request) else {}
    settings = {**dict.fromkeys(OWN_DEFAULT, ""), **single, **first, **profiler}
    return msgspec.structs.replace(
        select_inputs(operators, request.inputs),
        backward=not request.no_backward,
        ids=request.ids,
        dtype_given="dtype" in first,
        phase=first.get("phase"),
        settings=Settings(
            **settings,
            precision=PRECISION,
            max_time_s=request.case_time_s,
            timeout_s=defaults.TIMEOUT_S,
            memory=False,
        ),
    )
