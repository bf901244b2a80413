"""Linux's perf: counts of `perf stat` for each pass of a case, and samples of `perf record`.

Counting begins and ends with the profiled calls, by commands in a pipe (perf's `--control`), so
that the framework's import and the tensors' making are not counted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from opperf.errors import UsageError
from opperf.instruments.instrument import SUFFIXES
from opperf.instruments.wrapped.program import (
    CallsMade,
    Findings,
    ProcessFiles,
    WrappingProgram,
    is_given,
    read_text,
    wrapped_metric,
)
from opperf.machine.kernel import PROCFS
from opperf.model import Note, NoteCode, Pass, Wrapper

LARGEST_PARANOID = 2
"""Largest value of `kernel.perf_event_paranoid` with which a user may count the events of an own
process: Linux's default. Debian's 3 and 4 forbid it."""

SEPARATOR = ";"
"""Between perf's columns: a comma may be part of an event's name."""


DESCRIPTIONS = {
    "cycles": ("cycles", "cycles of the cores"),
    "instructions": ("instructions", "instructions that retired"),
    "cache-misses": ("misses", "accesses that missed the last-level cache"),
    "branch-misses": ("misses", "branches that were mispredicted"),
    "task-clock": ("ns", "time on cores, of all threads,"),
    "page-faults": ("faults", "faults of pages of memory"),
}

FACTORS = {"task-clock": 1e6}
"""Of a metric's unit in perf's."""

EVENTS = {
    name: wrapped_metric(
        f"perf_{name.replace('-', '_')}",
        unit,
        description,
        # Callgrind counts instructions, too.
        title="" if name == "instructions" else name.replace("-", " ").capitalize(),
        usual=name != "page-faults",
    )
    for name, (unit, description) in DESCRIPTIONS.items()
}
"""Events that are asked for. Of those of the processor, a core counts four at once on every machine
that perf knows, so that none is estimated."""

NAME = re.compile(r"(?:cpu\w*/)?(?P<event>[^/:]+)/?(?::[ukhGHSDWep]+)?")
"""An event as perf prints it: with its cores, and `:u` where a user's code is counted."""

OWN = "perf."
"""Before the names, in lower case, of events that are not in the table."""

SPANS = 20
"""Spans without a call, of which the mean is subtracted."""

OF_ITS_TABLE = re.compile(
    r"-[oxrIAjD].*|--(?:output|append|log-fd|field-separator|json-output|repeat|interval-print|"
    r"no-aggr|per-\w+|delay|control)(?:=.*)?"
)
"""Options of `perf stat` that change what is counted when, or how the counts are written."""


def check_paranoid(option: str) -> None:
    """Raises `UsageError` if the kernel does not let this user count events."""
    path = PROCFS / "sys/kernel/perf_event_paranoid"
    text = read_text(path).strip()
    value = int(text) if text.lstrip("-").isdigit() else LARGEST_PARANOID
    if value > LARGEST_PARANOID and os.geteuid() != 0:
        raise UsageError(
            f"{option}: the kernel lets no user count events, as kernel.perf_event_paranoid is "
            f"{value}; allow it: sudo sysctl kernel.perf_event_paranoid={LARGEST_PARANOID}"
        )


class Perf(WrappingProgram):
    """A command of perf's that begins and ends counting by commands in a pipe."""

    is_controlled = True

    def check(self, wrapper: Wrapper, devices: Iterable[str]) -> None:
        check_paranoid(f"--batch-cmd {wrapper.name!r}")

    def command(self, wrapper: Wrapper, files: ProcessFiles) -> list[str]:
        program, subcommand, *own = wrapper.words
        assert files.control is not None
        pipes = ",".join(map(str, files.control))
        begin = ["--delay=-1", f"--control=fifo:{pipes}"]
        return [program, subcommand, *begin, *self.options(files, own), *own]

    def options(self, files: ProcessFiles, own: list[str]) -> list[str]:
        """Returns the options of the command, beside the user's."""
        return [f"--output={files.report}.data"] if not is_given(own, "-o", "--output") else []


class PerfRecord(Perf):
    """`perf record`: samples of where the calls are, for `perf report`."""

    name = "perf record"


class PerfStat(Perf):
    """`perf stat`: counts of events of a process, which has one pass of one case."""

    name = "perf stat"
    metrics = tuple(metric for both in EVENTS.values() for metric in both)
    counts_process = True

    def check(self, wrapper: Wrapper, devices: Iterable[str]) -> None:
        for word in wrapper.words[2:]:
            if OF_ITS_TABLE.fullmatch(word):
                raise UsageError(
                    f"--batch-cmd {wrapper.name!r}: omit {word}, as opperf says when perf counts, "
                    "and reads its table"
                )
        super().check(wrapper, devices)

    def options(self, files: ProcessFiles, own: list[str]) -> list[str]:
        asked = [] if is_given(own, "-e", "--event", "-d", "-a") else ["-e", ",".join(EVENTS)]
        return [f"--output={files.table}", f"--field-separator={SEPARATOR}", *asked]

    def read(
        self, files: ProcessFiles, made: CallsMade, empty: Mapping[str, float]
    ) -> dict[str, Findings]:
        counted = list(counts(read_text(files.table)))
        lacking = dict.fromkeys(event.reason for event in counted if event.value is None)
        notes = [_lacking(why, counted) for why in lacking]
        found = {}
        for case, passes in made.items():
            own = found[case] = Findings(notes=notes)
            for name, calls in passes.items():
                for event in counted:
                    if event.value is None:
                        continue
                    metric, factor, unit = metric_of(event, name)
                    value = event.value - calls.spans * empty.get(event.name, 0.0)
                    own.samples[metric] = [max(0.0, factor * value / calls.calls)]
                    own.units[metric] = unit
        return found

    def read_empty(self, files: ProcessFiles, spans: int) -> dict[str, float]:
        return {
            event.name: event.value / spans
            for event in counts(read_text(files.table))
            if event.value is not None
        }


class Counted(NamedTuple):
    """A line of `perf stat`."""

    name: str
    value: float | None
    unit: str
    reason: str = ""
    """Why there is no value: `not supported`, `not counted`."""


def counts(text: str) -> Iterator[Counted]:
    """Yields the lines of `perf stat` with columns: value, unit, event, and others."""
    for line in text.splitlines():
        value, *columns = line.split(SEPARATOR)
        if line.startswith("#") or len(columns) < 2:
            continue
        unit, name = columns[:2]
        match = NAME.fullmatch(name)
        event = name if match is None else match["event"]
        try:
            yield Counted(event, float(value), unit)
        except ValueError:
            yield Counted(event, None, unit, value.strip("<>"))


EXPLANATIONS = {"not supported": ", as on most virtual machines"}
"""Explanations of perf's words for events that it has no count of."""


def _lacking(why: str, counted: Iterable[Counted]) -> Note:
    names = ", ".join(event.name for event in counted if event.reason == why)
    text = f"perf stat: {names}: {why} here{EXPLANATIONS.get(why, '')}"
    return Note("", NoteCode.NOT_PROFILED, text)


def metric_of(event: Counted, name: Pass) -> tuple[str, float, str]:
    """Returns the name of an event's metric for a pass, the factor of its unit, and that unit. An
    event that is not in the table keeps perf's name."""
    known = EVENTS.get(event.name)
    if known is None:
        return f"{OWN}{event.name.lower()}{SUFFIXES[name]}", 1.0, event.unit or "events"
    metric = known[list(SUFFIXES).index(name)]
    return metric.name, FACTORS.get(event.name, 1.0), metric.unit
