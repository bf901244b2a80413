"""The kind of a session, of times, counts or results, and whether it can count."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Literal

from opperf.comparison.ab.arms import settings_of
from opperf.comparison.ab.gate import why_not_counted
from opperf.comparison.ab.pairs import Pair
from opperf.errors import UsageError
from opperf.instruments.callgrind.counter import CODE
from opperf.instruments.callgrind.valgrind import installed
from opperf.metrics import alone_instruments, check_instruments, counts
from opperf.plurals import pluralize
from opperf.requests.ab.resolving import FIELDS, OF_TIMES, ResolvedAb, ResolvedSession

WITHOUT = "omit --gate to time all cases"


def kind_of(request: ResolvedAb) -> Literal["times", "counts", "checks"]:
    """Returns what a new session compares. Raises `UsageError` for arms and options that contradict
    each other, and where this machine cannot count what is to be."""
    common = request.selection.settings
    settings = [settings_of(arm, common) for arm in request.arms.values()]
    if request.gate is not None:
        _check_gate(request, [common.profiler, *(own.profiler for own in settings)])
    profilers = dict.fromkeys(own.profiler for own in settings)
    alone = next((profiler for profiler in profilers if profiler in alone_instruments()), "")
    if alone and len(profilers) > 1:
        raise UsageError(f"one arm counts {alone} and the other measures times: set both")
    if alone and not counts(alone):
        raise UsageError(
            f"ab compares times, or what is the same on every run, and --profiler {alone} measures "
            "neither: compare the files of two runs"
        )
    if alone and request.asked.check:
        raise UsageError(
            f"--check compares results alone, and --profiler {alone} compares them beside the "
            "counts; give only one"
        )
    if alone and request.node:
        raise UsageError(
            f"--profiler {alone} counts on this machine, where nothing disturbs a count: omit "
            "--executor ray"
        )
    check_options(request, counted=bool(alone))
    if alone and not request.asked.dry_run:
        # Before anything is planned.
        check_instruments(settings)
    return "counts" if alone else "checks" if request.asked.check else "times"


def check_options(request: ResolvedSession, counted: bool) -> None:
    """Raises `UsageError` for options of times for counts, and of counts for times."""
    if not counted:
        if "tolerances" in request.given:
            raise UsageError(
                "--tolerance is for counts: set --threshold for times, or count with --profiler "
                "instructions"
            )
        return
    for name in OF_TIMES:
        if name in request.given:
            raise UsageError(
                f"{FIELDS[name].shown} is for times: a count does not scatter, and is made once; "
                "omit it"
            )
    if "threads" in request.given and request.threads.coarse:
        raise UsageError(
            f"--threads {request.threads}: counts have no coarse look; give one number"
        )


def check_counting() -> None:
    """Raises `UsageError` if instructions cannot be counted on this machine."""
    if platform.machine() not in CODE:
        raise UsageError(
            f"--gate counts instructions on {' and '.join(CODE)}, not on {platform.machine()}; "
            f"{WITHOUT}"
        )
    try:
        installed()
    except UsageError as error:
        raise UsageError(f"--gate counts first, and {error}; or {WITHOUT}") from error


def _check_gate(request: ResolvedAb, profilers: Sequence[str]) -> None:
    for profiler in profilers:
        if profiler and counts(profiler):
            raise UsageError(
                f"--gate counts instructions and then times: omit --profiler {profiler}, or omit "
                "--gate to count alone"
            )
    if request.node:
        raise UsageError(
            "--gate counts and times on this machine: omit --executor ray, or omit --gate"
        )
    if not request.asked.dry_run:
        check_counting()


def announce(request: ResolvedAb, pairs: Sequence[Pair]) -> list[str]:
    """Returns the line on what is counted first. Raises `UsageError` if that is no case."""
    if request.gate is None:
        return []
    reasons = [why_not_counted(pair.a, pair.b) for pair in pairs]
    if all(reasons):
        raise UsageError(
            f"--gate: no case can be counted exactly, e.g. {pairs[0].label}: {reasons[0]}; "
            f"{WITHOUT}"
        )
    number = f"{reasons.count('')} of {pluralize(len(pairs), 'case')}"
    return [f"Instructions first, of {number}; what they leave is timed"]
