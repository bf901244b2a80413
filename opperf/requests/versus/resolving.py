"""A comparison of implementations whose request is resolved: its arms, and its operations' inputs
by role."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
from opperf.requests.ab.request import AbRequest
from opperf.requests.ab.resolving import ResolvedAb, Watch, select
from opperf.requests.declaring import Say
from opperf.requests.operators import Operators
from opperf.requests.selecting import check_shape_options
from opperf.requests.versus.arms import Arms, check_arms, read_arms
from opperf.requests.versus.request import VersusRequest
from opperf.results.output import STDOUT
from opperf.results.plots.drawing import check_image
from opperf.sources.operation_names import find_operations
from opperf.sources.operation_rows import Row, dtypes_of_rows, rows_of
from opperf.sources.selecting import Selection
from opperf.sources.sweeping import check_sweeps
from opperf.sources.varying import Axes, check_combinations, dtype_options


@dataclass(frozen=True)
class ResolvedVersus:
    """A comparison of implementations, and the session that measures it."""

    asked: VersusRequest
    session: ResolvedAb
    rows: tuple[Row, ...]
    absent: Mapping[str, str]
    """Arms that cannot be started, each with the reason."""
    lacking: Mapping[str, str]
    """Operations without rows, likewise."""


class _Inputs(NamedTuple):
    rows: tuple[Row, ...]
    lacking: dict[str, str]


def resolve(
    request: VersusRequest, say: Say, watch: Watch, command: str, least: int = 2
) -> ResolvedVersus:
    """Reads the arms and makes the operations' inputs. Raises `UsageError` for contradictory
    fields, for names of nothing, and for fewer arms than `least`."""
    asked = request.session()
    check_shape_options(request.given)
    if not request.names and not request.categories:
        raise UsageError("name operations, e.g. opperf versus add matmul, or a --category of them")
    if request.report == STDOUT:
        raise UsageError("--report needs a file, to which each process appends its results")
    if read_threads(request.threads).coarse:
        raise UsageError(f"--threads {request.threads}: give one number, or all")
    if request.plot is not None and not request.inputs.sweeps:
        raise UsageError(f"--plot {request.plot} draws a sweep; add --sweep, or omit it")
    check_image(request.plot, [], request.overwrite)
    named = find_operations(request.names, request.categories)
    arms = read_arms(request.among, request.python, say)
    check_arms(arms.specs, arms.absent, least)
    if not request.dry_run:
        request.check_weighted(None)
    selection = _on_one_device(select(asked, Operators()))
    check_sweeps(selection)
    # Random shapes are drawn from the smallest, the quickest to try.
    small = {} if selection.fuzz is None else {"size": SMALL}
    made = _inputs(named, msgspec.structs.replace(selection, **small))
    for operation, why in made.lacking.items():
        say(f"not measured: {operation}: {why}")
    return ResolvedVersus(
        request,
        _session(request, asked, arms, selection, made.rows, (say, watch, command)),
        made.rows,
        arms.absent,
        made.lacking,
    )


def _on_one_device(selection: Selection) -> Selection:
    """Returns a selection with the CPU for all arms where the user chose no device: the default of
    one framework may be a GPU, and that of another not."""
    settings = msgspec.structs.replace(selection.settings, device=selection.settings.device or CPU)
    return msgspec.structs.replace(selection, settings=settings)


def _inputs(named: Sequence[Named], selection: Selection) -> _Inputs:
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
    return _Inputs(tuple(rows), lacking)


def _session(
    request: VersusRequest,
    asked: AbRequest,
    arms: Arms,
    selection: Selection,
    rows: Sequence[Row],
    shown: tuple[Say, Watch, str],
) -> ResolvedAb:
    say, watch, command = shown
    for dtype in request.axes.get("dtype", ()):
        if dtype not in DTYPES:
            raise unknown("dtype", dtype, DTYPES)
    axes: Axes = {name: values for name, values in request.axes.items() if len(values) > 1}
    check_combinations(axes.values())
    limits = request.limits.limits(request.same_within)
    dtypes = request.axes.get("dtype") or (DEFAULTS["dtype"],)
    every = {own for dtype in dtypes for own in dtypes_of_rows(rows, dtype)}
    first = next(iter(arms.specs.values()))
    is_cpu = selection.settings.device.startswith(CPU.partition("(")[0])
    return ResolvedAb(
        asked,
        FrameworkChoice(first.framework, True, True, None),
        request.report,
        resumes=False,
        command=command,
        say=say,
        watch=watch,
        environment=dict(os.environ),
        pinning=Pinning(request.cpus),
        given=request.given,
        arms={name: _with_options(arm, every, is_cpu) for name, arm in arms.specs.items()},
        selection=selection,
        axes=axes,
        threads=read_threads(request.threads),
        thresholds=msgspec.structs.replace(
            limits.thresholds, control_blocks=request.control_blocks, block_cap=request.blocks
        ),
        limits=limits,
        tolerance=Tolerance(request.rtol, request.atol),
        seed=request.settings.seed,
        gate=None,
        files=(),
    )


def _with_options(arm: ArmSpec, dtypes: set[str], is_cpu: bool) -> ArmSpec:
    """Returns an arm with the options by which its tensors have these dtypes, and by which it
    computes as precisely as the other arms."""
    package = package_of(arm.framework)
    needed = {} if is_cpu or package is None else dict(package.precise_options)
    for dtype in sorted(dtypes):
        needed |= dtype_options(arm.framework, dtype)
    return msgspec.structs.replace(arm, options={**needed, **arm.options})
