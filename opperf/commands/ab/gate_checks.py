"""Whether `ab --gate` can count: this machine, the options and the cases."""

from __future__ import annotations

import platform
from collections.abc import Sequence

from opperf.commands.ab.request import Request
from opperf.comparison.ab.gate import why_not_counted
from opperf.comparison.ab.pairs import Pair
from opperf.errors import UsageError
from opperf.instruments.callgrind.counter import CODE
from opperf.instruments.callgrind.valgrind import installed
from opperf.metrics import counts
from opperf.plurals import pluralize

WITHOUT = "omit --gate to time all cases"


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


def check_gate(request: Request) -> None:
    """Raises `UsageError` for a gate that the session's options contradict."""
    if request.gate is None:
        return
    common = request.selection.settings.profiler
    for profiler in (common, *(arm.settings.get("profiler") for arm in request.arms.values())):
        if profiler and counts(profiler):
            raise UsageError(
                f"--gate counts instructions and then times: omit --profiler {profiler}, or omit "
                "--gate to count alone"
            )
    if request.node:
        raise UsageError(
            "--gate counts and times on this machine: omit --executor ray, or omit --gate"
        )
    if not request.dry_run:
        check_counting()


def announce(request: Request, pairs: Sequence[Pair]) -> list[str]:
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
