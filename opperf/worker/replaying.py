"""The sequences of replays, read in the process that measures them."""

from __future__ import annotations

from opperf.frameworks import Framework
from opperf.instruments.prepared import NOTHING_BOUND, Bound
from opperf.model import Case, TraceTarget
from opperf.sources.traces.replays import read_sequence


def bound_of(case: Case, framework: Framework, bound: Bound = NOTHING_BOUND) -> Bound:
    """Returns the objects that a case needs: of a replay its sequence, ready to be called; the
    caller's of any other. To be called in the case's scope. Raises `UnsupportedError`."""
    if not isinstance(case.target, TraceTarget):
        return bound
    return Bound(function=framework.replay(case, read_sequence(framework, case.target)))
