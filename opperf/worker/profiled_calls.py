"""The process that a program profiles: `opperf.worker.profiled_calls FRAMEWORK SETTINGS FILE` makes
the calls of the batch in a file, and appends a line to another before and after each case, so that
the manager knows which case ended it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from opperf.errors import NoGradientError
from opperf.frameworks import Framework
from opperf.frameworks.capabilities import Ranges
from opperf.instruments.cold import Flush
from opperf.instruments.peaks import LOCAL_METER
from opperf.instruments.prepared import PreparedCase, case_scope, reason_of
from opperf.instruments.visit import Conditions, Visit
from opperf.instruments.wrapped.program import RANGE, Calls, range_name
from opperf.model import Case, Pass, Settings
from opperf.processes.children import parent_is_gone
from opperf.terminating import end_with_parent
from opperf.worker.protocol import Batch, Begun, Line, Made
from opperf.worker.serve import end_without, load_framework

PROFILED_S = 0.1
"""Seconds of the calls of a pass, if their number is not set: perf takes some 400 samples in them,
and what a command to it costs, some ten microseconds, is no part of a count."""

TIMED = 3
"""Calls of which the fastest decides it: any one may wait for a core."""

MOST_CALLS = 100_000
"""Limit on that number, for calls that take no time."""

MOST_SPANS = 100
"""Limit where each call is profiled apart, as its inputs are restored before it: then a command to
the program comes before and after each."""


class Spans:
    """Marks the parts of the process that are profiled."""

    def __init__(self, ranges: Ranges | None, control: tuple[str, str] | None) -> None:
        self._ranges = ranges
        self._commands = self._answers = -1
        if control is not None:
            # The program has both of them open by now.
            self._commands = os.open(control[0], os.O_WRONLY)
            self._answers = os.open(control[1], os.O_RDONLY)

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Returns a context that is profiled, in a range of this name."""
        with ExitStack() as stack:
            if self._ranges is not None:
                stack.enter_context(self._ranges(RANGE))
                stack.enter_context(self._ranges(name))
            # Innermost: ranges are not counted.
            self._tell(b"enable\n")
            try:
                yield
            finally:
                self._tell(b"disable\n")

    def _tell(self, command: bytes) -> None:
        if self._commands >= 0:
            os.write(self._commands, command)
            while b"\n" not in os.read(self._answers, len("ack\n\0")):
                pass


Step = Callable[[], object]


class ProfiledCase:
    """Makes the calls of one case."""

    def __init__(self, framework: Framework, batch: Batch, spans: Spans) -> None:
        self._framework, self._batch, self._spans = framework, batch, spans

    def make(self, id: str, case: Case) -> Made:
        """Makes the calls. What refuses them is in the result."""
        passes: dict[Pass, Calls] = {}
        refusals: dict[Pass, str] = {}
        asked = [name for name in case.passes if name in self._batch.passes]
        try:
            with case_scope(case, self._framework):
                visit = Visit(PreparedCase(case, self._framework), Conditions(LOCAL_METER))
                visit.call_first()
                for name in asked:
                    try:
                        before, call = self._steps(visit, name)
                    except NoGradientError:
                        # Its record says so.
                        continue
                    passes[name] = self._repeat(visit, id, name, before, call)
                # Other cases may be of the same objects.
                visit.restore()
        except Exception as error:
            reason = reason_of(error, self._framework)
            refusals |= {name: reason for name in asked if name not in passes}
        return Made(id, passes, refusals)

    def _steps(self, visit: Visit, name: Pass) -> tuple[list[Step], Step]:
        """Returns the steps before each call of a pass, and the call. Raises `NoGradientError`."""
        settings = visit.case.settings
        before = [visit.inputs.restore] if visit.inputs.restore is not None else []
        call: Step = self._framework.modes.repeated(visit.prepared.call)
        if name == "backward":
            visit.restore()
            gradient = visit.prepared.make_gradient()
            before, call = [*before, gradient.record], gradient.backward
        if settings.cache == "cold":
            flush = self._framework.queues.cache_flush(settings.device)
            if flush is None and settings.device.startswith("cpu"):
                flush = Flush()
            before += [flush] if flush is not None else []
        return before, call

    def _repeat(self, visit: Visit, id: str, name: Pass, before: list[Step], call: Step) -> Calls:
        def prepare() -> None:
            for step in before:
                step()
            visit.synchronize()

        for _ in range(self._batch.warmup):
            prepare()
            call()
        visit.synchronize()
        # Where counting is begun by a command, one span has all calls, so that the command's own
        # cost is divided among them; ranges tell one call from the next.
        are_together = self._batch.control is not None and not before
        runs = self._batch.runs
        if runs is None:
            fastest_s = min(self._time(prepare, call, visit) for _ in range(TIMED))
            runs = _count(fastest_s, MOST_CALLS if are_together else MOST_SPANS)
        together = runs if are_together else 1
        for number in range(runs // together):
            prepare()
            with self._spans.span(range_name(id, name, number)):
                for _ in range(together):
                    call()
                visit.synchronize()
        return Calls(runs, runs // together)

    @staticmethod
    def _time(prepare: Step, call: Step, visit: Visit) -> float:
        prepare()
        begun = time.perf_counter()
        call()
        visit.synchronize()
        return time.perf_counter() - begun


def _count(call_s: float, most: int) -> int:
    return max(1, min(most, round(PROFILED_S / max(call_s, PROFILED_S / most))))


def run(framework: Framework, batch: Batch, lines: BinaryIO) -> None:
    """Makes the calls of a batch, with lines to a file, until the manager has ended."""

    def write(line: Line) -> None:
        lines.write(msgspec.json.encode(line) + b"\n")

    spans = Spans(framework.profilers.ranges(), batch.control)
    for number in range(batch.empty_spans):
        with spans.span(f"{RANGE} {number}"):
            pass
    one = ProfiledCase(framework, batch, spans)
    for line in batch.cases:
        if parent_is_gone():
            return
        write(Begun(line.id))
        write(one.make(line.id, line.case))
        # A fault may have left a device that can be used no longer.
        end_without(framework, line.case.settings.device)


def main() -> None:
    """Makes the calls of the batch in the file that the last argument names."""
    end_with_parent()
    # The manager handles Ctrl-C, and ends its children.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    name, settings, path = sys.argv[1:]
    batch = msgspec.json.decode(Path(path).read_bytes(), type=Batch)
    framework = load_framework(name, msgspec.json.decode(settings, type=Settings))
    if batch.needs_ranges and framework.profilers.ranges() is None:
        sys.exit(
            f"{name} has no NVTX ranges, by which ncu finds the calls; install the package nvtx in "
            "its environment: pip install nvtx"
        )
    with Path(batch.lines).open("ab", buffering=0) as lines:
        run(framework, batch, lines)


if __name__ == "__main__":
    main()
