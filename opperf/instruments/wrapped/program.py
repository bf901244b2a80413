"""Base class of the programs that a process is profiled under, and what each is given and finds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opperf.instruments.instrument import backward_of
from opperf.model import Metric, MetricKind, Note, Pass, Struct, Wrapper

RANGE = "opperf"
"""Name of the NVTX range around every profiled call, by which a profiler filters."""

NAME = re.compile(r"\b(?P<id>[0-9a-f]+) (?P<name>forward|backward) (?P<number>\d+)\b")
"""Name of the range inside: the case's id, the pass, and the number of the call."""


def range_name(case: str, name: Pass, number: int) -> str:
    """Returns the name of a call's range, of a case by its id."""
    return f"{case} {name} {number}"


class Calls(Struct, frozen=True):
    """Profiled calls of a pass."""

    calls: int
    """Number of calls."""
    spans: int
    """Number of times that profiling was begun and ended for them."""


@dataclass(frozen=True)
class ProcessFiles:
    """Files of one process, for the program that it runs under."""

    report: Path
    """Path of what the program writes for its own tools, without the ending."""
    log: Path
    """Output of the program and the process; kept only if a program does that."""
    table: Path
    """Figures that the program writes, to be read."""
    control: tuple[Path, Path] | None = None
    """Pipes for commands to the program and for its answers."""


CallsMade = Mapping[str, Mapping[Pass, Calls]]
"""Calls that a process made, by the id of the case and by pass."""


@dataclass
class Findings:
    """Results of a program for one case."""

    samples: dict[str, list[float]] = field(default_factory=dict)
    """By metric, a value for each call, or one that is their mean."""
    units: dict[str, str] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)


class WrappingProgram:
    """A program that profiles the process which it runs."""

    name = ""
    metrics: tuple[Metric, ...] = ()
    """Those that it writes by default, in the order of tables."""
    needs_ranges = False
    """Whether it finds calls by their NVTX ranges."""
    is_controlled = False
    """Whether counting is begun and ended by commands in a pipe, around the profiled calls."""
    counts_process = False
    """Whether its figures are those of the whole process, which then has one pass of one case."""
    slowdown = 1.0
    """Factor of the time limit of a case: how many times longer than alone it may take."""

    def check(self, wrapper: Wrapper, devices: Iterable[str]) -> None:
        """Raises `UsageError` if this machine or the cases' devices do not let it profile."""

    def command(self, wrapper: Wrapper, files: ProcessFiles) -> list[str]:
        """Returns the words before a command that run it under the program."""
        raise NotImplementedError(f"{type(self).__name__}.command")

    def read(
        self, files: ProcessFiles, made: CallsMade, empty: Mapping[str, float]
    ) -> dict[str, Findings]:
        """Returns the findings by the id of the case. `empty` is what `read_empty` returned."""
        return {}

    def read_empty(self, files: ProcessFiles, spans: int) -> dict[str, float]:
        """Returns by metric what a process counts in a span without a call, of `spans`."""
        return {}

    def kept(self, files: ProcessFiles) -> list[Path]:
        """Returns the files or folders that it wrote for its own tools, sorted."""
        return written(files.report)


def written(report: Path) -> list[Path]:
    """Returns the files or folders of this path, with any ending, sorted."""
    found = [*report.parent.glob(f"{report.name}.*"), report]
    return sorted(path for path in found if path.exists())


def wrapped_metric(
    name: str,
    unit: str,
    description: str,
    kind: MetricKind = MetricKind.DERIVED,
    title: str = "",
    lower_is_better: bool = True,
    relative_tolerance: float = 0.0,
    usual: bool = False,
) -> tuple[Metric, Metric]:
    """Returns the metrics of a quantity in both passes, by default with the name as title."""
    forward = Metric(
        name,
        unit,
        kind,
        title=title or name.replace("_", " "),
        description=f"{description} in the forward pass",
        lower_is_better=lower_is_better,
        usual=usual,
        on_request=True,
        relative_tolerance=relative_tolerance,
    )
    return forward, backward_of(forward)


def is_given(words: Sequence[str], *options: str) -> bool:
    """Whether the user's arguments have one of these options, alone or with its value attached."""
    return any(
        word == option or word.startswith(f"{option}=") for word in words for option in options
    )


def read_text(path: Path) -> str:
    """Returns the text of a file that a program may have written; empty if it has not."""
    return path.read_text(errors="replace") if path.is_file() else ""
