"""How time is read: by the framework's own profiler, or by a Python timer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from opperf.errors import UsageError, suggest
from opperf.frameworks import Framework
from opperf.frameworks.base import Timed
from opperf.model import MetricKind
from opperf.profilers.python import PythonTimer


class Profiler(Protocol):
    """Times the phases of a call."""

    resolution_ns: float
    """Steps in which it tells time."""

    def trace(
        self, phases: Sequence[Callable[[], object]], count: int, loops: int = 1
    ) -> list[Timed]:
        """Run the phases in order, `count` times `loops` times over; each phase's samples, the
        mean of `loops` calls each."""
        ...


class BackEnd(NamedTuple):
    """A way to read time."""

    kind: MetricKind
    """Of the times it reads."""
    make: Callable[[Framework, str], Profiler]
    """Makes one for a framework and a device."""


PROFILERS = {
    "native": BackEnd(MetricKind.KERNEL, lambda framework, device: framework.tracer(device)),
    "python": BackEnd(
        MetricKind.WALL,
        lambda framework, device: PythonTimer(partial(framework.synchronize, device)),
    ),
}
"""Back ends by the name a user gives them."""


def kind_read(name: str) -> MetricKind:
    """The kind of the times of a back end; the wall clock's of one that is not known here."""
    return PROFILERS[name].kind if name in PROFILERS else MetricKind.WALL


def profiler(name: str, framework: Framework, device: str) -> Profiler:
    """The back end of that name. Raises `UsageError` for one the framework does not offer."""
    if name not in PROFILERS or name not in framework.profilers:
        raise UsageError(
            f"unknown profiler {name!r}{suggest(name, framework.profilers)}; "
            f"{framework.name} offers: {', '.join(framework.profilers)}"
        )
    return PROFILERS[name].make(framework, device)
