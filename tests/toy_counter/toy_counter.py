"""Instruments of another package that declare all that one may: a profiler of its own, what it
needs, another program that its workers run in."""

import os
import shutil
import sys

from opperf.errors import UnsupportedError, UsageError
from opperf.instruments.instrument import Instrument, Needs
from opperf.model import Metric, MetricKind

CALLED = Metric(
    "frames",
    "frames",
    MetricKind.COUNT,
    title="Frames",
    description="functions that a forward pass enters",
)

PROGRAM = "TOY_PROGRAM"


class Env:
    """Runs a worker by `env`."""

    def command(self, words):
        if shutil.which("env") is None:
            raise UsageError("--profiler frames needs env; install coreutils")
        return ["env", f"{PROGRAM}=env", *words]

    def variables(self, current):
        return {**current, "TOY_VARIABLE": "frames"}

    def process_ended(self):
        pass

    def close(self):
        pass


class Frames(Instrument):
    """Counts functions that a call enters, where its process has done nothing else."""

    name = "frames"
    metrics = (CALLED,)
    profiler = "frames"
    needs = Needs(fork_for_each_case=True, quiet_machine=False, threads=1)

    def __init__(self):
        self._processes = []
        self._begun = []
        self._ended = []
        self._measured = 0

    def expected(self, case):
        return (CALLED.name,)

    def effort(self, settings):
        return ["frames counted"]

    def check(self, measured, others):
        if any(settings.cache == "cold" for settings in measured):
            raise UsageError("--profiler frames counts none of a flush; omit --cache cold")

    def launcher(self, framework, settings):
        return Env()

    def prepare(self, framework):
        if os.environ.get(PROGRAM) != "env" or os.environ.get("TOY_VARIABLE") != "frames":
            raise UnsupportedError("frames are counted in workers alone")
        self._processes.append(os.getpid())

    def begin(self, case, framework, conditions, needed_bytes):
        self._begun.append(case.id)

    def fork_ended(self, process):
        self._ended.append(process)

    def measure(self, visit):
        # Prepared before the fork and in it, and nothing was measured in it.
        assert len(set(self._processes)) == 2 and self._begun == [visit.case.id]
        assert not self._measured
        # Of the forks before this one, in the process that all are made from.
        *before, _ = self._processes
        assert len(self._ended) == len(before) - 1
        self._measured += 1
        visit.call_first()
        entered = []
        sys.setprofile(lambda frame, event, argument: entered.append(event))
        try:
            visit.prepared.call()
        finally:
            sys.setprofile(None)
        visit.keep(CALLED, [len(entered)] * 2)


class Last(Instrument):
    """Keeps how many metrics a record has before it; beside times, in a process that begins with a
    fork that has run nothing."""

    name = "order"
    metrics = (
        Metric("kept_before", "metrics", MetricKind.COUNT, title="Kept", description="before it"),
    )
    needs = Needs(pristine_fork=True, last=True)

    def prepare(self, framework):
        if os.environ.get("TOY_FAULT") == "prepare":
            raise ZeroDivisionError("no luck")

    def measure(self, visit):
        visit.keep(self.metrics[0], [len(visit.summaries)])


FRAMES, LAST = Frames(), Last()


class SameProfiler(Instrument):
    metrics = (Metric("other", "x", MetricKind.COUNT, title="Other"),)
    profiler = "instructions"


class Beside(Frames):
    """Measures beside times, in the same program."""

    profiler = ""

    def __init__(self, name):
        super().__init__()
        self.name = name
        self.metrics = (Metric(name, "x", MetricKind.COUNT, title=name),)


SAME_PROFILER, SECOND, THIRD = SameProfiler(), Beside("second"), Beside("third")
