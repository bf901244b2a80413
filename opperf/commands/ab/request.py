"""The typed request of `ab`, read once from its options."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from opperf import defaults
from opperf.commands.ab.keeping import can_make_room, locate_report
from opperf.commands.common_options import build_choice, build_common_settings
from opperf.commands.options import take
from opperf.comparison.ab.arms import ArmSpec, Threads, arm_spec, name_arms, option_of, read_arms
from opperf.comparison.ab.deadline import Deadline
from opperf.comparison.ab.order import Order
from opperf.comparison.ab.session import Gate
from opperf.comparison.project_file import Limits, limits_from
from opperf.comparison.statistics.data import Thresholds
from opperf.comparison.weighted import check_format
from opperf.errors import UsageError
from opperf.execution.progress import Pace, Progress, make_progress
from opperf.frameworks.mentioned import FrameworkChoice, read_choice
from opperf.instruments.instructions import CALLGRIND
from opperf.machine.pinning import Pinning
from opperf.model import DECLARED, DIFFERENT, SESSION_AXES, Tolerance
from opperf.requests.changed import add_changed
from opperf.requests.installing import install_arm, read_locked
from opperf.requests.keeping import spelling
from opperf.requests.operators import Changed, Operators
from opperf.requests.selecting import check_rule_options, check_shape_options, split_sources
from opperf.results.messages import tell
from opperf.results.output import STDOUT, Output, check_output, outputs_from
from opperf.shares import share_text
from opperf.sources.base import SourceFile, open_files
from opperf.sources.models import SuiteSource, read_suite
from opperf.sources.selecting import Selection
from opperf.sources.sweeping import check_sweeps
from opperf.sources.varying import Axes, dtype_options, has_dtype_options

PRECISION = 0.005
"""Precision of a process's median: a quarter of the default threshold, so that the noise of
iterations is small compared with the noise between processes, which is about one percent."""

CAP_FACTOR = 4
"""Cap of `--until-settled` without a number, in usual ones: it halves the standard errors."""


class Work(NamedTuple):
    """The work that some visits are."""

    name: str
    """With the word for one of its parts at the end."""
    visits: int = 1
    """Of each part."""


Watch = Callable[[int, Pace | None, Work], Progress]
"""Returns the progress of a number of visits."""


@dataclass(frozen=True)
class Request:
    """The request of `ab`."""

    framework: str
    choice: FrameworkChoice
    report: Path
    resume: bool
    overwrite: bool
    dry_run: bool
    quiet: bool
    outputs: tuple[Output, ...]
    fail_on: tuple[str, ...] | None
    """Findings that were asked for; None for the usual ones."""
    budget_s: float | None
    command: str
    environment: Mapping[str, str]
    pinning: Pinning
    given: frozenset[str]
    arms: Mapping[str, ArmSpec]
    """Empty for a session that is resumed without the options of its arms."""
    selection: Selection
    """The options that the arms have in common, with the first value of each axis."""
    axes: Axes
    """Settings with several values in both arms; of a resumed session all that can have several."""
    threads: Threads
    thresholds: Thresholds
    """Without a coarse look."""
    limits: Limits
    tolerance: Tolerance | None
    """Of differences between results; None if they are not compared."""
    seed: int
    reference_work: bool
    weight: str | None = None
    compares: Literal["first", "all"] = "first"
    order: Order | None = None
    """None for that which suits the arms."""
    only_checks: bool = False
    """Whether the results are compared, and nothing is timed."""
    gate: Gate | None = None
    """Of a session that counts instructions first."""
    files: tuple[SourceFile, ...] = ()
    """Opened; their cases are compared in place of the registry's."""
    arguments: tuple[str, ...] = ()
    """Those of the report and the exit code, which a resumed session is given again."""
    node: str = ""
    """Name of the node of a cluster that this is; empty without one."""
    deadline: Deadline = field(default_factory=Deadline)
    loss: float | None = None
    """Logarithm of the ratio that a step of a bisection looks for, zero while it is unknown, by
    which the rehearsal may decide it; None for no such step."""
    watch: Watch | None = None
    """Shows the progress; None for the command's own way."""

    @property
    def is_default_report(self) -> bool:
        """Whether the user named no file for the session."""
        return "report" not in self.given

    @property
    def case_time_s(self) -> float:
        """Seconds that a process measures a case."""
        return self.selection.settings.max_time_s or 0.0

    def may_replace(self, path: Path) -> bool:
        """Whether the session's file may replace one that exists: if that is asked for, or that is
        an earlier session's under the default name."""
        return self.overwrite or (self.is_default_report and can_make_room(path))

    def say(self, text: str) -> None:
        if not self.quiet:
            tell(text)

    def make_progress(self, total: int, work: Work, pace: Pace | None = None) -> Progress:
        if self.watch is not None:
            return self.watch(total, pace, work)
        return make_progress(sys.stderr, total, self.quiet, pace)


def read_request(given: Mapping[str, Any], changed: Mapping[str, Any]) -> Request:
    """Returns the request of the command's options, of which the user set those of `changed`.
    Raises `UsageError` for those that contradict each other."""
    given, changed = locate_report(given, changed)
    if given["resume"] and given["overwrite"]:
        raise UsageError("--resume continues a session and --overwrite replaces it; give only one")
    limits = limits_from(given)
    settled, blocks = given["until_settled"], given["blocks"]
    thresholds = msgspec.structs.replace(
        limits.thresholds,
        control_blocks=given["control_blocks"],
        block_cap=CAP_FACTOR * blocks if settled == 0 else settled or blocks,
    )
    if not given["resume"]:
        # Before anything is said or started; a session that is resumed has its own.
        _check_thresholds(thresholds, blocks)
    if given["report"] == STDOUT:
        raise UsageError(
            "--report needs a file, to which each process appends its results; name one"
        )
    for option in ("rtol", "atol"):
        if given["no_check"] and option in changed:
            raise UsageError(f"--{option} is for results, and --no-check omits them; give only one")
    if given["no_check"] and DIFFERENT in (given["fail_on"] or ()):
        raise UsageError(f"--fail-on {DIFFERENT} needs the results, which --no-check omits")
    outputs = outputs_from(given)
    for output in outputs:
        check_format(given["weight"], output.format, "ab")
        if not given["dry_run"]:
            # Before the session takes its time; one that is resumed makes its report again.
            check_output(output.path, given["overwrite"] or given["resume"], [given["report"]])
    if given["check"]:
        _check_only_checks(given, changed)
    if "gate_sample" in changed and not given["gate"]:
        raise UsageError("--gate-sample is for --gate; add it, or omit the sample")
    files = _files_from(given, changed)
    check_shape_options(changed)
    selection = _selection_from(given)
    check_sweeps(selection)
    # A session that is resumed has its own.
    of_session = given["resume"] and not {"a", "b", "arm"} & changed.keys()
    arms = {} if of_session else _arms_from(given, files)
    if len(arms) > 2:
        _check_takes_several(given)
    arms = _with_environments(arms, given)
    choice = read_choice(given, changed)
    elsewhere = choice.elsewhere or any(arm.python for arm in arms.values())
    return Request(
        **{name: given[name] for name in COPIED},
        choice=replace(choice, elsewhere=elsewhere),
        outputs=outputs,
        fail_on=given["fail_on"],
        budget_s=given["budget"],
        command=shlex.join(["opperf", *sys.argv[1:]]),
        environment=dict(os.environ),
        pinning=Pinning(given["cpus"]),
        given=frozenset(changed),
        arms=arms,
        selection=selection,
        axes=_axes_from(given, arms),
        thresholds=thresholds,
        limits=limits,
        tolerance=None if given["no_check"] else Tolerance(given["rtol"], given["atol"]),
        reference_work=not given["no_pace"],
        only_checks=given["check"],
        gate=Gate(given["gate_sample"]) if given["gate"] else None,
        files=files,
        arguments=tuple(repeated_arguments(given, changed)),
    )


OF_TIMES = (
    *("same_within", "control_blocks", "blocks", "until_settled", "max_time_s", "no_pace"),
    *("budget", "order"),
)
"""Parameters that are for times only: neither results nor counts scatter."""

OF_FIGURES = (*OF_TIMES, "gate", "gate_sample", "weight", "threshold", "tolerances", "no_check")
"""Parameters that a comparison of results alone has no use for."""


def _check_only_checks(given: Mapping[str, Any], changed: Mapping[str, Any]) -> None:
    for name in OF_FIGURES:
        if name in changed:
            option = "--case-time" if name == "max_time_s" else spelling(name)
            raise UsageError(f"--check compares results, and {option} is not for them; omit one")
    if "threads" in changed and given["threads"].coarse:
        raise UsageError(
            f"--threads {given['threads']}: results have no coarse look; give one number"
        )


COPIED = (
    *("framework", "report", "resume", "overwrite", "dry_run", "quiet", "threads", "seed"),
    *("weight", "compares", "order"),
)
"""Fields of the request that are an option of the same name."""

REPEATED = {
    "output_files": "-o",
    "output_formats": "-f",
    "fail_on": "--fail-on",
    "weight": "--weight",
}
"""Options of the report and the exit code, which no session file has."""


def repeated_arguments(given: Mapping[str, Any], changed: Mapping[str, Any]) -> Iterator[str]:
    """Yields the arguments that a session is given again when it is resumed."""
    for name, option in REPEATED.items():
        if name in changed:
            values = given[name] if isinstance(given[name], tuple) else (given[name],)
            for value in values:
                yield from (option, str(value))


def with_changed(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the options with the operators of `--changed-since` among the names. None, also said,
    where nothing is left to measure. Raises as `add_changed` and `install_arm` do."""
    if given["changed_since"] is not None and given["resume"] is not None:
        raise UsageError("--changed-since selects what begins; what is resumed has its own cases")
    pythons: dict[str, None] = {}
    say = (lambda text: None) if given["quiet"] else tell
    if given["changed_since"] is not None:
        locked = read_locked(given["locked"])
        named = name_arms(given["a"], given["b"], given["arm"])
        arms = (arm_spec(settings, option) for option, settings in named.values())
        pythons = dict.fromkeys(install_arm(arm, locked, tell).python for arm in arms)
    selected = add_changed(
        take(Changed, given),
        take(Operators, given),
        given["framework"],
        pythons,
        say,
        has_inputs=bool(given["input_function"]),
        config=given["config"],
        are_builds=True,
    )
    return None if selected is None else {**given, "names": selected.names}


def _files_from(given: Mapping[str, Any], changed: Mapping[str, Any]) -> tuple[SourceFile, ...]:
    """Returns the files among the names, opened. Raises `UsageError` for operators beside them, and
    for options that do not apply to their cases."""
    suites = {name: word for name in given["names"] if (word := read_suite(name)) is not None}
    names, paths = split_sources(name for name in given["names"] if name not in suites)
    files = (
        *open_files(paths),
        *(
            SourceFile(Path(name), SuiteSource(given["framework"], word))
            for name, word in suites.items()
        ),
    )
    if files:
        first = files[0].path
        if names or given["ops"]:
            other = (*names, *given["ops"])[0]
            raise UsageError(
                f"{first} and {other}: name either operators, or files of cases and suites"
            )
        check_rule_options(first, changed)
    return files


def _arms_from(given: Mapping[str, Any], files: Sequence[SourceFile]) -> dict[str, ArmSpec]:
    named = bool(given["names"] or given["ops"])
    arms = read_arms(name_arms(given["a"], given["b"], given["arm"]), named, given["imports"])
    in_files = files if files and has_dtype_options(given["framework"]) else ()
    dtypes = given["dtype"] or {
        case.settings.dtype for file in in_files for case in file.source.cases()
    }
    return {
        label: _with_dtype_options(arm, given["framework"], dtypes) for label, arm in arms.items()
    }


def _check_takes_several(given: Mapping[str, Any]) -> None:
    """Raises `UsageError` for options of a session of two arms."""
    named = {
        "--gate": given["gate"],
        "--profiler instructions": given["profiler"] == CALLGRIND.profiler,
    }
    for option, is_set in named.items():
        if is_set:
            raise UsageError(
                f"{option} counts the instructions of two arms; omit it, or name two arms"
            )


def _with_environments(arms: Mapping[str, ArmSpec], given: Mapping[str, Any]) -> dict[str, ArmSpec]:
    """Returns the arms with their environments installed. Raises `InstallationError`, and
    `UsageError` for a lock file that does not have them."""
    locked = read_locked(given["locked"])
    if locked is not None and not any(arm.requirements for arm in arms.values()):
        raise UsageError("--locked is for environments; name them with --a env:NAME==VERSION")
    say = (lambda text: None) if given["quiet"] else tell
    return {name: install_arm(arm, locked, say) for name, arm in arms.items()}


def _with_dtype_options(arm: ArmSpec, framework: str, dtypes: Iterable[str]) -> ArmSpec:
    """Returns an arm whose processes can have all of its dtypes."""
    own = arm.settings.get("dtype")
    needed: dict[str, str] = {}
    for dtype in dtypes if own is None else (own,):
        needed |= dtype_options(framework, dtype)
    return msgspec.structs.replace(arm, options={**needed, **arm.options})


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


def _axes_from(given: Mapping[str, Any], arms: Mapping[str, ArmSpec]) -> Axes:
    """Returns the settings with several values. Raises `UsageError` for one that an arm sets."""
    if given["resume"]:
        return {name: tuple(given[name]) for name in SESSION_AXES}
    found: Axes = {
        name: values
        for name in SESSION_AXES
        if len(values := tuple(dict.fromkeys(given[name]))) > 1
    }
    for name, arm in arms.items():
        for axis in found.keys() & arm.settings.keys():
            raise UsageError(
                f"{DECLARED[axis].option} {','.join(map(str, found[axis]))} has several values "
                f"for {'both' if len(arms) == 2 else 'all'} arms, and {option_of(name)} sets "
                f"{axis}; give one value, or leave it to the arms"
            )
    return found


def _selection_from(given: Mapping[str, Any]) -> Selection:
    names, _ = split_sources(given["names"])
    first = {name: given[name][0] for name in SESSION_AXES if given[name]}
    single = {**given, **dict.fromkeys(SESSION_AXES), **first}
    others = {name: value for name, value in first.items() if not DECLARED[name].common}
    return msgspec.structs.replace(
        build_choice({**given, "names": names}),
        phase=first.get("phase"),
        settings=msgspec.structs.replace(
            build_common_settings(single),
            **others,
            precision=PRECISION,
            # Results have no kernels.
            **({"profiler": "python"} if given["check"] and not given["profiler"] else {}),
            max_time_s=given["max_time_s"],
            timeout_s=defaults.TIMEOUT_S,
            memory=False,
            verify=given["verify"],
        ),
    )
