"""Base class of instruments, each of which measures one aspect of a prepared case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from opperf.model import Case, Metric, Pass, Settings, Struct

if TYPE_CHECKING:
    from opperf.instruments.visit import Conditions, Visit

GROUP = "opperf.instruments"
"""Entry points of other packages, each an `Instrument`."""

BESIDE_TIMES, ALWAYS = "", "*"
"""Of an instrument that no profiler of its own asks for: it measures beside times, of any profiler,
or whatever else measures a case."""

SUFFIXES: dict[Pass, str] = {"forward": "", "backward": "_backward"}
"""Ends of the names of a pass's metrics."""


def backward_of(metric: Metric) -> Metric:
    """Returns the metric of the backward pass, for one of the forward pass."""
    return msgspec.structs.replace(
        metric,
        name=f"{metric.name}{SUFFIXES['backward']}",
        title=f"{metric.title} backward",
        forward=metric.name,
        description=metric.description.replace("forward", "backward"),
    )


class Needs(Struct, frozen=True):
    """Requirements of an instrument: of the process that measures, and of the machine beside it."""

    pristine_fork: bool = False
    """A fork that has run nothing, begun before the process itself runs anything."""
    fork_for_each_case: bool = False
    """Each case in a fork of its own: what earlier cases left in caches would be measured."""
    quiet_machine: bool = True
    """No other case at the same time. Without it, cases are measured side by side."""
    steady_clocks: bool = False
    """A device whose clocks heat and power do not lower: else it measures again after a rest."""
    last: bool = False
    """To be after all others, whose results are kept if it ends the process."""
    threads: int | None = None
    """Compute threads of its process, unless a number is set; None for the framework's choice."""


class Launcher:
    """Runs a worker's program in another one, such as Valgrind; by itself behind some words, with
    `own` environment variables beside the others."""

    def __init__(self, words: Sequence[str] = (), own: Mapping[str, str] | None = None) -> None:
        self._words, self._own = words, own or {}

    def command(self, words: Sequence[str]) -> list[str]:
        """Returns the words that run a command. Raises `UsageError` if a program is missing."""
        return [*self._words, *words]

    def variables(self, current: Mapping[str, str]) -> dict[str, str]:
        """Returns a process's environment variables, made of those that it would have."""
        return {**current, **self._own}

    def process_ended(self) -> None:
        """Removes what an ended process has left."""

    def close(self) -> None:
        """Removes what is left of all processes."""


class Instrument:
    """Measures one aspect of a prepared case. A subclass has `metrics`, and measures."""

    name = ""
    metrics: tuple[Metric, ...] = ()
    """Those that it writes, in the order of tables."""
    profiler = BESIDE_TIMES
    """The value of `--profiler` under which it measures, alone, in place of times."""
    needs = Needs()

    @property
    def is_alone(self) -> bool:
        """Whether a profiler of its own asks for it."""
        return self.profiler not in (BESIDE_TIMES, ALWAYS)

    @property
    def has_launcher(self) -> bool:
        """Whether it runs workers in another program, which no other profiler's cases share."""
        return type(self).launcher is not Instrument.launcher

    def measures(self, settings: Settings) -> bool:
        """Whether it measures cases of these settings, whose profiler is one of its own. One with a
        launcher reads those of the process alone."""
        return True

    def expected(self, case: Case) -> tuple[str, ...]:
        """Returns the metrics that a record of the case has, or has a note on."""
        return ()

    def effort(self, settings: Settings) -> list[str]:
        """Returns how much each case is measured, in words, of which empty ones do not count."""
        return []

    def check(self, measured: Sequence[Settings], others: Sequence[Settings]) -> None:
        """Raises `UsageError` if this machine lacks what it needs for cases of the settings that it
        measures, or if others set what is for it alone."""

    def launcher(self, framework: str, settings: Settings) -> Launcher | None:
        """Returns what runs the worker of these settings in another program; None for nothing."""
        return None

    def prepare(self, framework: Any) -> None:
        """Gets a process and its forks ready. Raises `UnsupportedError` if it cannot."""

    def begin(self, case: Case, framework: Any, conditions: Conditions, needed_bytes: int) -> None:
        """Begins what another process does while the case's tensors are made and first used in this
        one. `needed_bytes` is an estimate of the case's memory."""

    def fork_ended(self, process: int) -> None:
        """Removes what the end of a fork has left, by its id."""

    def measure(self, visit: Visit) -> None:
        """Measures the case, and keeps its samples and notes with `visit`. Raises
        `UnsupportedError` if this build or machine cannot measure it."""
        raise NotImplementedError(f"{type(self).__name__}.measure")
