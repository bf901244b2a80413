"""The finding on what counts instructions, which no load of a machine disturbs."""

from __future__ import annotations

from opperf.errors import UsageError
from opperf.profilers.callgrind import heap
from opperf.runner.health.finding import Finding
from opperf.runner.valgrind import Valgrind

EXPLAINED = (
    "--profiler instructions counts under Valgrind, which no noise of this machine changes; with a "
    "C compiler, opperf's own allocator keeps what was allocated before out of the counts."
)


def instructions_finding() -> Finding:
    """Returns the finding on Valgrind and the C compiler."""
    try:
        state = Valgrind().version
    except UsageError as error:
        return Finding("instructions", str(error), "unknown", EXPLAINED)
    try:
        heap.library()
    except heap.HeapError as error:
        state += f", without opperf's allocator: {error}"
    return Finding("instructions", state, "ok", EXPLAINED)
