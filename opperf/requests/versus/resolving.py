"""A comparison of implementations whose request is resolved: its arms, and its operations' inputs
by role."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from opperf.comparison.ab.arms import ArmSpec, read_threads
from opperf.dtypes import DTYPES
from opperf.errors import UsageError, unknown
from opperf.execution.refitting import SMALL
from opperf.frameworks import package_of
from opperf.frameworks.base import CPU
from opperf.frameworks.mentioned import FrameworkChoice
from opperf.machine.pinning import Pinning
from opperf.model import DEFAULTS, Tolerance
from opperf.operations.names import Named
from opperf.requests.ab.keeping import locate_report
from opperf.requests.ab.resolving import ResolvedSession, Watch, select
from opperf.requests.declaring import Say
from opperf.requests.operators import Operators
from opperf.requests.selecting import check_shape_options
from opperf.requests.versus.arms import Arms, check_arms, read_arms
from opperf.requests.versus.request import SLOWER, VersusRequest
from opperf.results.plots.drawing import check_image
from opperf.sources.operation_names import find_operations
from opperf.sources.operation_rows import Row, dtypes_of_rows, rows_of
from opperf.sources.selecting import Selection
from opperf.sources.sweeping import check_sweeps
from opperf.sources.varying import Axes, check_combinations, dtype_options

QUICK_TIME_S = 0.02
"""Seconds of a case in a process of a first look: hundreds of calls of most operators, whose median
is then known within a few percent."""


@dataclass(frozen=True, kw_only=True)
class ResolvedVersus(ResolvedSession):
    """A comparison of implementations, and the session that measures it."""

    asked: VersusRequest
    rows: tuple[Row, ...]
    absent: Mapping[str, str]
    """Arms that cannot be started, each with the reason."""
    lacking: Mapping[str, str]
    """Operations without rows, likewise."""


def resolve(
    request: VersusRequest, say: Say, watch: Watch, command: str, least: int = 2
) -> ResolvedVersus:
    """Reads the arms and makes the operations' inputs, which a session that is resumed has. Raises
    `UsageError` for contradictory fields, for names of nothing, and for fewer arms than
    `least`."""
    request, report, resumes, given = locate_report(request)
    threads = read_threads(request.threads)
    _check(request, resumes)
    axes: Axes = {name: values for name, values in request.axes.items() if len(values) > 1}
    arms = Arms({}, {})
    rows: tuple[Row, ...] = ()
    lacking: dict[str, str] = {}
    if not resumes:
        named = find_operations(request.names, request.categories)
        arms = read_arms(request.among, request.python, say)
        check_arms(arms.specs, arms.absent, least)
    if not request.dry_run:
        request.check_weighted(None, may_replace=resumes)
    if request.quick and "case_time_s" not in given:
        request = msgspec.structs.replace(request, case_time_s=QUICK_TIME_S)
    selection = _on_one_device(select(request, Operators()))
    check_sweeps(selection)
    if not resumes:
        # Random shapes are drawn from the smallest, the quickest to try.
        small = {} if selection.fuzz is None else {"size": SMALL}
        rows, lacking = _inputs(named, msgspec.structs.replace(selection, **small))
    for operation, why in lacking.items():
        say(f"not measured: {operation}: {why}")
    check_combinations(axes.values())
    limits = request.limits.limits(request.same_within)
    dtypes = request.axes.get("dtype") or (DEFAULTS["dtype"],)
    every = {own for dtype in dtypes for own in dtypes_of_rows(rows, dtype)}
    is_cpu = selection.settings.device.startswith(CPU.partition("(")[0])
    framework = next((arm.framework for arm in arms.specs.values()), "")
    return ResolvedVersus(
        asked=request,
        choice=FrameworkChoice(framework, True, True, None),
        report=report,
        resumes=resumes,
        command=command,
        say=say,
        watch=watch,
        environment=dict(os.environ),
        pinning=Pinning(request.cpus),
        given=given,
        arms={name: _with_options(arm, every, is_cpu) for name, arm in arms.specs.items()},
        selection=selection,
        axes=axes,
        threads=threads,
        thresholds=msgspec.structs.replace(
            limits.thresholds, control_blocks=request.control_blocks, block_cap=request.blocks
        ),
        limits=limits,
        tolerance=Tolerance(request.rtol, request.atol),
        seed=request.settings.seed,
        rows=rows,
        absent=arms.absent,
        lacking=lacking,
    )


def _check(request: VersusRequest, resumes: bool) -> None:
    check_shape_options(request.given)
    if not (resumes or request.names or request.categories):
        raise UsageError("name operations, e.g. opperf versus add matmul, or a --category of them")
    if read_threads(request.threads).coarse:
        raise UsageError(f"--threads {request.threads}: give one number, or all")
    if request.plot is not None and not (resumes or request.inputs.sweeps):
        raise UsageError(f"--plot {request.plot} draws a sweep; add --sweep, or omit it")
    check_image(request.plot, [], request.overwrite or resumes)
    if request.quick and SLOWER in (request.fail_on or ()):
        raise UsageError("--quick has no verdicts for --fail-on slower; omit one of them")
    for dtype in request.axes.get("dtype", ()):
        if dtype not in DTYPES:
            raise unknown("dtype", dtype, DTYPES)


def _on_one_device(selection: Selection) -> Selection:
    """Returns a selection with the CPU for all arms where the user chose no device: the default of
    one framework may be a GPU, and that of another not."""
    settings = msgspec.structs.replace(selection.settings, device=selection.settings.device or CPU)
    return msgspec.structs.replace(selection, settings=settings)


def _inputs(named: Sequence[Named], selection: Selection) -> tuple[tuple[Row, ...], dict[str, str]]:
    """Returns the rows of operations, and why others have none."""
    rows: list[Row] = []
    lacking: dict[str, str] = {}
    for name in named:
        try:
            found = rows_of(name, selection)
        except UsageError as error:
            if len(named) == 1:
                raise
            lacking[name.operation] = str(error).removeprefix(f"{name.operation}: ")
            continue
        rows += found
        if not found:
            lacking[name.operation] = f"it has no inputs of {name.axes} axes"
    if not rows:
        first, why = next(iter(lacking.items()))
        raise UsageError(f"no operation has inputs, e.g. {first}: {why}")
    return tuple(rows), lacking


def _with_options(arm: ArmSpec, dtypes: set[str], is_cpu: bool) -> ArmSpec:
    """Returns an arm with the options by which its tensors have these dtypes, and by which it
    computes as precisely as the other arms."""
    package = package_of(arm.framework)
    needed = {} if is_cpu or package is None else dict(package.precise_options)
    for dtype in sorted(dtypes):
        needed |= dtype_options(arm.framework, dtype)
    return msgspec.structs.replace(arm, options={**needed, **arm.options})
