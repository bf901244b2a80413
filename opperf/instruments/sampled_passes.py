"""Samples a case's forward and backward pass under its profiler."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from opperf.defaults import MIN_RUNS, WARMUP_SHARE
from opperf.errors import NoGradientError
from opperf.frameworks.base import Gradient, ReadableGradient, count_moved_bytes
from opperf.frameworks.timing import PhaseTimes, Profiler
from opperf.instruments.cold import Flush, Ring, count_copies
from opperf.instruments.prepared import PreparedCase
from opperf.instruments.profilers import profiler, waits
from opperf.instruments.profilers.noise import noise_notes
from opperf.instruments.profilers.reference_work import (
    LAUNCH_BOUND,
    ReferenceWork,
    is_too_long,
    launch_ns,
    middle_mean,
    without_recording,
)
from opperf.instruments.profilers.sampling import (
    Samples,
    Sampling,
    Steps,
    criteria,
    limit_s,
    loops_for,
    most_loops,
    run,
    warm_up,
)
from opperf.instruments.visit import NS_PER_S, Visit
from opperf.model import OWN, PASSES, Metric, MetricKind, NoteCode, Waits
from opperf.plurals import pluralize
from opperf.results.units import time_text

ONLY_VIEWS = "runs no kernel: its results are views of its inputs"

UNSEEN = "the profiler {} sees no kernel in calls{}; --profiler python times what they do"

BATCHED = (
    "{} calls are queued between two waits for the device: a time is the interval between two "
    "successive calls, not the latency of one"
)

LATE = (
    "changes {} in a later call only, so that not all calls have begun from the same state: some "
    "may have done less than others"
)

MOST_NAMES = 3
"""Names in that note: the others are mostly of the same object."""

KERNEL_SHARE = 0.5
"""Share of a call's wall time below which its kernels are short, beside the dispatch."""

RECORDING_SHARE = 0.2
"""Share of a call's time that recording its events may take without a note: its cost is known to a
fifth or so, and the time then to 5 %."""


LATEST = 5
"""Calls of the warm-up, the last ones, that a profiler's times are compared with first."""


NS_PER_US = 1000
MIB = 2**20


class SampledPasses:
    """Samples the passes of a visit."""

    def __init__(self, visit: Visit) -> None:
        self._visit, self._prepared, self._fresh = visit, visit.prepared, visit.inputs
        self._case, self._framework = visit.case, visit.framework
        self._flush: Callable[[], object] | None = None
        self._ring: Ring | None = None

    def measure(self, forward: Metric, backward: Metric, total: Metric) -> None:
        """Samples the passes of the case, and keeps the times of these metrics."""
        run(self.steps(forward, backward, total))

    def steps(self, forward: Metric, backward: Metric, total: Metric) -> Steps[None]:
        """Yields what is sampled, pass after pass, and keeps the times of the samples it is
        sent."""
        visit, settings = self._visit, self._case.settings
        visit.inspect()
        timer = profiler(settings.profiler, self._framework, settings.device)
        visit.time_kind = timer.kind
        first_s = visit.first_s
        if visit.compiles:
            first_s = visit.compiled_s.get("forward") or self._call_again([self._prepared.call])
        if settings.cache == "cold":
            self._cool()
        if self._first_counts(timer):
            for metric in (forward, total):
                self._keep(metric, [visit.first_s * NS_PER_S], loops=1)
            visit.waits[forward.name] = Waits(wall_s=visit.first_s)
        else:
            yield from self._forward(timer, first_s, forward, total)
        if backward.name in self._case.passes:
            yield from self._backward(timer, backward, total)

    def _first_counts(self, timer: Profiler) -> bool:
        visit, few = self._visit, self._visit.conditions.few
        return (
            few is not None
            and few.first_s is not None
            and visit.first_s >= few.first_s
            and timer.kind is MetricKind.WALL
            and not (visit.compiles or self._flush or self._ring)
            # Of the others, an observer reads what a timed call returned.
            and visit.observer is None
            and self._case.settings.iterations in (None, 1)
        )

    def _cool(self) -> None:
        device = self._case.settings.device
        self._flush = self._framework.queues.cache_flush(device)
        if self._flush is not None:
            name = self._framework.name
            how = f"{name} flushes the caches of {device} before each pass of each call"
        elif device.startswith("cpu"):
            self._flush = flush = Flush()
            how = f"{flush.bytes / MIB:.0f} MiB are written before each pass of each call"
        else:
            count = count_copies(self._case)
            others = [self._prepared.copy() for _ in range(count - 1)]
            self._ring = Ring([self._prepared, *others])
            how = f"calls use {count} copies of the inputs in turn"
        self._visit.note("", NoteCode.COLD_CACHE, f"cold: {how}")

    def _gradient(self) -> Gradient:
        if self._ring is not None:
            return self._ring.gradient(PreparedCase.make_gradient)
        return self._prepared.gradient or self._prepared.make_gradient()

    def _forward(
        self, timer: Profiler, first_s: float, forward: Metric, total: Metric
    ) -> Steps[None]:
        if self._ring is None:
            call = self._framework.modes.repeated(self._prepared.call)
        else:
            call = self._ring.call
        observer = self._visit.observer
        observe = None if observer is None else observer.forward
        done = yield from self._time(forward.name, timer, [call], first_s, observe)
        why = ONLY_VIEWS if self._visit.returns_views else self._unseen(done.phases[0])
        self._keep_pass((forward, total), timer, done, why)

    def _backward(self, timer: Profiler, backward: Metric, total: Metric) -> Steps[None]:
        self._visit.restore()
        try:
            with self._visit.busy():
                gradient = self._gradient()
        except NoGradientError as error:
            self._visit.note(backward.name, NoteCode.NO_GRADIENT, str(error))
            return
        phases: list[Callable[[], object]] = [gradient.record, gradient.backward]
        first_s = self._visit.latest_s
        if self._visit.compiles:
            first_s = self._visit.compiled_s.get("backward") or self._call_again(phases)
        observe = self._observe(gradient)
        done = yield from self._time(backward.name, timer, phases, first_s, observe)
        recorded, timed = done.phases
        self._keep_pass((backward,), timer, done, self._unseen(timed))
        if recorded.times and timed.times:
            both = zip(recorded.times, timed.times, strict=True)
            self._keep(total, [a + b for a, b in both], done.loops)

    def _keep_pass(
        self, metrics: Sequence[Metric], timer: Profiler, done: Samples, without: str
    ) -> None:
        """Keeps the times of a pass for each metric, of which the first is its own, with the notes
        on them. `without` says why there are none."""
        timed, own = done.phases[-1], metrics[0]
        for metric in metrics:
            if timed.times:
                self._keep(metric, timed.times, done.loops)
            else:
                self._visit.note(metric.name, NoteCode.NO_KERNEL, without)
        self._note_waits(own, timer)
        self._note_profile(own, timed)
        if timed.batch > 1:
            self._visit.note(own.name, NoteCode.BATCHED, BATCHED.format(timed.batch))
        self._note_launch(own, timer, timed)

    def _observe(self, gradient: Gradient) -> Callable[[Any], None] | None:
        if not isinstance(gradient, ReadableGradient):
            return None
        visit = self._visit

        def observe(returned: Any) -> None:
            found = gradient.read(returned)
            made = [array for array in found if array is not None]
            heads, gradients = map(visit.framework.arrays.extents, (list(gradient.heads), made))
            visit.moved_backward_bytes = count_moved_bytes(heads, gradients, in_place=False)
            if visit.moved_backward_bytes:
                visit.known_by["moved_backward_bytes"] = "minimal"
            if visit.observer is not None:
                visit.observer.backward(found)

        return observe

    def measure_phases(self, metric: Metric, phases: list[Callable[[], object]]) -> None:
        """Samples the last of some phases by the wall clock, and keeps its times. The first
        execution is not timed: it may compile."""
        settings, visit = self._case.settings, self._visit
        timer = profiler("python", self._framework, settings.device)
        first_s = 0.0
        for _ in range(2 if visit.compiles else 1):
            first_s = self._call_again(phases)
        done = run(self._time(metric.name, timer, phases, first_s))
        self._keep(metric, done.phases[-1].times, done.loops)
        visit.notes += noise_notes(metric.name, done.phases[-1].times, settings.precision)

    def _call_again(self, phases: Sequence[Callable[[], object]]) -> float:
        """Runs phases whose first run compiled them. Returns their seconds."""
        self._visit.restore()
        with self._visit.busy():
            for phase in phases:
                phase()
            self._visit.synchronize()
        return self._visit.latest_s

    def _note_late_writes(self, metric: str) -> None:
        """Notes what the last call of a pass has changed, and no call before it."""
        names = self._fresh.unrestored() if metric in PASSES else []
        if names:
            self._visit.note(metric, NoteCode.WRITTEN, LATE.format(", ".join(names[:MOST_NAMES])))

    def _time(
        self,
        metric: str,
        timer: Profiler,
        phases: list[Callable[[], object]],
        first_s: float,
        observe: Callable[[Any], None] | None = None,
    ) -> Steps[Samples]:
        """Yields what is sampled, and returns samples of the phases, of which the last is that of
        the metric. `first_s` are the seconds of their first execution; `observe` takes what the
        last timed one returned."""
        settings, few = self._case.settings, self._visit.conditions.few
        gauges = self._visit.conditions.reference_work and (few is None or few.is_gauged)
        work = ReferenceWork() if gauges else None
        before = [step for step in (work, self._flush) if step is not None]
        called, (phases, timed) = phases, self._with_steps(phases, before)
        share = 1 / len(self._case.passes)
        limit = limit_s(settings)
        longest_s = math.inf if limit is None else share * limit
        with self._visit.busy():
            call_s, warm_ns = warm_up(
                phases,
                lambda: self._framework.synchronize(settings.device),
                first_s,
                WARMUP_SHARE * longest_s,
                settings.warmup,
            )
            if metric in PASSES and self._fresh.look_again(lambda: [phase() for phase in called]):
                phases, timed = self._with_steps(called, before)
            loops = self._loops(timer, phases, call_s)
            if work is not None or self._visit.conditions.rehearsed:
                # A process of a session is one of many: its time counts more than its resolution.
                loops = min(loops, most_loops(longest_s, call_s))
            if work is not None:
                work.forget()
            begin = waits.read()
            wanted = criteria(settings, share, MIN_RUNS if few is None else 1)
            last = len(phases) - 1
            done = yield Sampling(metric, timer, phases, last, wanted, call_s, loops)
            end = waits.read()
        if done.last and observe is not None:
            observe(*done.last)
        done = done._replace(last=())
        self._note_late_writes(metric)
        if settings.warmup is not None:
            self._visit.warmup[metric] = warm_ns
        walls = [phase.walls for phase in done.phases]
        self._visit.waits[metric] = waits.waits_between(begin, end, walls, loops)
        done = done._replace(phases=[done.phases[place] for place in timed])
        if timer.kind is MetricKind.KERNEL:
            plain_ns = warm_ns[-LATEST:] or [first_s * NS_PER_S]
            if is_too_long(done.phases[-1], plain_ns, timer.resolution_ns):
                done = self._compared(metric, timer, done, phases, timed, call_s)
        calls = done.phases[-1].calls
        # A call may be shorter than the overhead that is subtracted, and then has no logarithm.
        if work is not None and calls and (own := middle_mean(calls)) > 0:
            self._visit.reference[metric] = {OWN: own, **work.means()}
        return done

    def _loops(self, timer: Profiler, phases: Sequence[Callable[[], object]], call_s: float) -> int:
        settings = self._case.settings
        if settings.iterations is not None:
            return settings.iterations
        # A fixed number of runs is one of calls, each of which is a sample.
        return loops_for(timer, phases, len(phases) - 1, call_s) if settings.runs is None else 1

    def _with_steps(
        self, phases: Sequence[Callable[[], object]], before: Sequence[Callable[[], object]]
    ) -> tuple[list[Callable[[], object]], list[int]]:
        """Returns phases with the steps before each, after one that restores what calls write to;
        and their places among these. The backward pass is that of the call before it, and its
        inputs are those of the call."""
        fresh = [] if self._fresh.restore is None else [self._fresh.restore]
        places = [len(fresh) + (len(before) + 1) * (place + 1) - 1 for place in range(len(phases))]
        return [*fresh, *(step for phase in phases for step in (*before, phase))], places

    def _compared(
        self,
        metric: str,
        timer: Profiler,
        done: Samples,
        phases: Sequence[Callable[[], object]],
        timed: Sequence[int],
        call_s: float,
    ) -> Samples:
        """Returns the samples, or if they are longer than the same calls without recording, those
        of the wall clock, with a note. `timed` are the indices of the sampled phases."""
        device = self._case.settings.device
        with self._visit.busy():
            walls = without_recording(profiler("python", self._framework, device), phases, call_s)
        own = [walls[place] for place in timed]
        if not is_too_long(done.phases[-1], own[-1].walls, timer.resolution_ns):
            return done
        medians = (statistics.median(phase.times) for phase in (done.phases[-1], own[-1]))
        before, after = map(time_text, medians)
        self._visit.note(
            metric,
            NoteCode.WALL,
            f"the profiler's time, {before}, is more than calls without it take, {after} by the "
            "wall clock, which is shown",
        )
        return Samples(own, loops=1)

    def _keep(self, metric: Metric, samples: list[float], loops: int) -> None:
        self._visit.keep(metric, samples, loops)
        if metric.name in PASSES:
            self._visit.notes += noise_notes(metric.name, samples, self._case.settings.precision)

    def _unseen(self, timed: PhaseTimes) -> str:
        length = f" of {time_text(statistics.median(timed.walls))}" if timed.walls else ""
        return UNSEEN.format(self._case.settings.profiler, length)

    def _note_waits(self, metric: Metric, timer: Profiler) -> None:
        """Adds a note if threads waited for cores; kernels of another device do not."""
        on_host = self._case.settings.device.startswith("cpu") or timer.kind is MetricKind.WALL
        note = waits.busy_note(metric.name, self._visit.waits[metric.name]) if on_host else None
        if note is not None and metric.name in self._visit.summaries:
            self._visit.notes.append(note)

    def _note_profile(self, metric: Metric, timed: PhaseTimes) -> None:
        if not timed.times:
            return
        kernel, wall = statistics.median(timed.times), statistics.median(timed.walls)
        if kernel < KERNEL_SHARE * wall:
            self._visit.note(
                metric.name,
                NoteCode.DISPATCH,
                f"kernels take {kernel / NS_PER_US:.1f} us of the {wall / NS_PER_US:.1f} us that a "
                "call takes: at this size the time is mostly dispatch",
            )
        events, share = timed.recording
        if share > RECORDING_SHARE:
            self._visit.note(
                metric.name,
                NoteCode.RECORDING,
                f"recording {pluralize(round(events), 'event')} inside a call took {share:.0%} of "
                "the time, which was subtracted",
            )

    def _note_launch(self, metric: Metric, timer: Profiler, timed: PhaseTimes) -> None:
        settings = self._case.settings
        queued = timed.batch > 1
        least = launch_ns(self._framework, settings.device, settings.profiler, timer, queued=queued)
        if not timed.times or not least:
            return
        if (ratio := statistics.median(timed.times) / least) < LAUNCH_BOUND:
            self._visit.note(
                metric.name,
                NoteCode.LAUNCH_BOUND,
                f"takes {ratio:.1f} times as long as an empty kernel on {settings.device} "
                f"({least / NS_PER_US:.1f} us): the time is that of a launch, and is not ranked",
            )
