"""The arms, thresholds and selection of a session, from the options of `ab`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from opperf import defaults
from opperf.commands.ab.keeping import can_make_room
from opperf.commands.run.request import (
    build_choice,
    build_common_settings,
    check_rule_options,
    check_shape_options,
    split_sources,
)
from opperf.comparison.ab.arms import ArmSpec, two_arms
from opperf.comparison.project_file import limits_from
from opperf.comparison.statistics.data import Thresholds, Verdict
from opperf.comparison.weighted import check_format
from opperf.errors import UsageError
from opperf.machine.pinning import Pinning
from opperf.model import DECLARED, DIFFERENT, SESSION_AXES, Tolerance
from opperf.results.output import STDOUT, Output, check_output, outputs_from
from opperf.shares import share_text
from opperf.sources.base import open_files, open_source
from opperf.sources.selecting import Selection
from opperf.sources.sweeping import check_sweeps
from opperf.sources.varying import Axes, dtype_options, has_dtype_options

PRECISION = 0.005
"""Precision of a process's median: a quarter of the default threshold, so that the noise of
iterations is small compared with the noise between processes, which is about one percent."""

CAP_FACTOR = 4
"""Cap of `--until-settled` without a number, as a multiple of the usual one: it halves the standard
errors."""


@dataclass(frozen=True)
class Options:
    """The options of a session other than its arms, thresholds and selection."""

    framework: str
    report: Path
    resume: bool
    overwrite: bool
    dry_run: bool
    quiet: bool
    outputs: tuple[Output, ...]
    fail_on: tuple[str, ...]
    """Findings that the command fails on: verdicts, and `DIFFERENT`."""
    budget_s: float | None
    command: str
    environment: Mapping[str, str]
    """The inherited environment variables of the arms."""
    pinning: Pinning
    """Chooses the cores of the arms' workers."""
    weight: str | None = None
    """What totals are weighted by; None for no totals."""
    files: tuple[Path, ...] = ()
    """Files whose cases are compared, in place of the registry's."""
    axes: Axes = field(default_factory=dict)
    """Settings that have several values in both arms."""
    arguments: tuple[str, ...] = ()
    """Those of the report and the exit code, which a resumed session has to be given again."""
    is_default_report: bool = False
    """Whether the user named no file for the session."""

    def may_replace(self, path: Path) -> bool:
        """Whether a file of the session may take the place of one that exists: if that is asked
        for, or that one is an earlier session's under the default name, and can make room."""
        return self.overwrite or (self.is_default_report and can_make_room(path))


def options_from(given: Mapping[str, Any], changed: Mapping[str, Any]) -> Options:
    """The options; `changed` are those that the user set. Raises `UsageError` for those that
    contradict each other."""
    if given["resume"] and given["overwrite"]:
        raise UsageError("--resume continues a session and --overwrite replaces it; give only one")
    if not given["resume"]:
        # Before anything is said or started; a session that is resumed has its own.
        thresholds_from(given)
    if given["report"] == STDOUT:
        raise UsageError(
            "--report needs a file, to which each process appends its results; name one"
        )
    for option in ("rtol", "atol"):
        if given["no_check"] and option in changed:
            raise UsageError(f"--{option} is for results, and --no-check omits them; give only one")
    if given["no_check"] and DIFFERENT in given["fail_on"]:
        raise UsageError(f"--fail-on {DIFFERENT} needs the results, which --no-check omits")
    outputs = outputs_from(given)
    for output in outputs:
        check_format(given["weight"], output.format, "ab")
        if not given["dry_run"]:
            # Before the session takes its time; one that is resumed makes its report again.
            check_output(output.path, given["overwrite"] or given["resume"], [given["report"]])
    files = files_from(given, changed)
    check_shape_options(changed)
    check_sweeps(selection_from(given))
    axes = {} if given["resume"] else axes_from(given)
    return Options(
        framework=given["framework"],
        report=given["report"],
        resume=given["resume"],
        overwrite=given["overwrite"],
        dry_run=given["dry_run"],
        quiet=given["quiet"],
        outputs=outputs,
        fail_on=given["fail_on"] or (Verdict.REGRESSED.value,),
        budget_s=given["budget"],
        command=shlex.join(["opperf", *sys.argv[1:]]),
        environment=dict(os.environ),
        pinning=Pinning(given["cpus"]),
        files=files,
        weight=given["weight"],
        axes=axes,
        arguments=tuple(_arguments(given, changed)),
        is_default_report="report" not in changed,
    )


REPEATED = {
    "output_files": "-o",
    "output_formats": "-f",
    "fail_on": "--fail-on",
    "weight": "--weight",
}
"""Options of the report and the exit code, which no session file has."""


def _arguments(given: Mapping[str, Any], changed: Mapping[str, Any]) -> Iterator[str]:
    for name, option in REPEATED.items():
        if name in changed:
            values = given[name] if isinstance(given[name], tuple) else (given[name],)
            for value in values:
                yield from (option, str(value))


def files_from(given: Mapping[str, Any], changed: Mapping[str, Any]) -> tuple[Path, ...]:
    """The files among the names. Raises `UsageError` for operators beside them, and for options
    that do not apply to their cases."""
    names, files = split_sources(given["names"])
    # Before anything is started.
    open_files(files)
    if files:
        if names or given["ops"]:
            other = (*names, *given["ops"])[0]
            raise UsageError(f"{files[0]} and {other}: name either files of cases or operators")
        check_rule_options(files[0], changed)
    return files


def arms_from(given: Mapping[str, Any]) -> tuple[ArmSpec, ArmSpec]:
    """The two arms, with the options that their dtypes need in a process. Raises `UsageError` for
    arms that cannot be compared."""
    named = bool(given["names"] or given["ops"])
    a, b = two_arms(given["a"], given["b"], named, given["imports"])
    return _with_dtype_options(a, given), _with_dtype_options(b, given)


def _with_dtype_options(arm: ArmSpec, given: Mapping[str, Any]) -> ArmSpec:
    """Returns an arm whose processes can have all of its dtypes, as one measures all cases."""
    own = arm.settings.get("dtype")
    needed: dict[str, str] = {}
    for dtype in (own,) if own is not None else given["dtype"] or _dtypes_in_files(given):
        needed |= dtype_options(given["framework"], dtype)
    return msgspec.structs.replace(arm, options={**needed, **arm.options})


def _dtypes_in_files(given: Mapping[str, Any]) -> set[str]:
    """Returns the dtypes of the cases in the named files, which are read only if some need options
    of the framework."""
    _, files = split_sources(given["names"])
    if not files or not has_dtype_options(given["framework"]):
        return set()
    cases = (case for path in files for case in open_source(path).cases())
    return {case.settings.dtype for case in cases}


def thresholds_from(given: Mapping[str, Any], coarse_blocks: int = 0) -> Thresholds:
    """The thresholds. Raises `UsageError` for those that contradict each other."""
    cap = block_cap(given)
    if cap < given["blocks"]:
        raise UsageError(
            f"--until-settled {cap} is below --blocks {given['blocks']}; raise the one or lower "
            "the other"
        )
    found = msgspec.structs.replace(
        limits_from(given).thresholds,
        control_blocks=given["control_blocks"],
        block_cap=cap,
        coarse_blocks=coarse_blocks,
    )
    if found.same_within < found.threshold:
        raise UsageError(
            f"--same-within {share_text(found.same_within)} is below --threshold "
            f"{share_text(found.threshold)}, so that a change could be both; raise the one or "
            "lower the other"
        )
    return found


def tolerance_from(given: Mapping[str, Any]) -> Tolerance | None:
    """What results may differ by; None if they are not to be compared."""
    return None if given["no_check"] else Tolerance(given["rtol"], given["atol"])


def block_cap(given: Mapping[str, Any]) -> int:
    """Most blocks of A and B."""
    settled: int | None = given["until_settled"]
    blocks: int = given["blocks"]
    return CAP_FACTOR * blocks if settled == 0 else settled or blocks


def axes_from(given: Mapping[str, Any]) -> Axes:
    """The settings that have several values, each of which makes a case of its own. Raises
    `UsageError` for one that an arm sets."""
    found: Axes = {
        name: values
        for name in SESSION_AXES
        if len(values := tuple(dict.fromkeys(given[name]))) > 1
    }
    for option, arm in zip(("--a", "--b"), arms_from(given), strict=True):
        for name in found:
            if name in arm.settings:
                raise UsageError(
                    f"{DECLARED[name].option} {','.join(map(str, found[name]))} has several values "
                    f"for both arms, and {option} sets {name}; give one value, or leave it to the "
                    "arms"
                )
    return found


def selection_from(given: Mapping[str, Any]) -> Selection:
    """The selection that the arms have in common, with the first value of each axis."""
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
            max_time_s=given["max_time_s"],
            timeout_s=defaults.TIMEOUT_S,
            memory=False,
        ),
    )
