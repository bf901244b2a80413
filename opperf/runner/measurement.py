"""The measurement of a prepared case: first call, memory, forward and backward pass."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from opperf.defaults import WARMUP_SHARE
from opperf.errors import NoGradientError, UnsupportedError
from opperf.frameworks.base import Gradient
from opperf.frameworks.timing import PhaseTimes, Profiler
from opperf.metrics import (
    BACKWARD,
    FIRST_CALL,
    FORWARD,
    MEMORY,
    MEMORY_FORWARD,
    MEMORY_RESERVED,
    PASSES,
    TOTAL,
    metrics_by_name,
)
from opperf.model import (
    OWN,
    Metric,
    MetricKind,
    Note,
    NoteCode,
    Pass,
    Record,
    Status,
    Summary,
    Waits,
)
from opperf.profilers import profiler, waits
from opperf.profilers.launches import LAUNCH_BOUND, launch_ns
from opperf.profilers.noise import noise_notes
from opperf.profilers.reference_work import ReferenceWork, middle_mean
from opperf.profilers.sampling import Samples, loops_for, sample, warm_up
from opperf.profilers.stopping import criteria, limit_s
from opperf.profilers.summary import summarise
from opperf.profilers.wall_clock import LATEST, is_too_long, without_recording
from opperf.results.text import pluralize
from opperf.results.units import time_text
from opperf.rules.engine import rules_module
from opperf.rules.not_finite import may_lack_numbers
from opperf.runner.cold import Flush, Ring, count_copies
from opperf.runner.memory import Peaks
from opperf.runner.memory_meters import MemoryMeter
from opperf.runner.moved import moved_bytes, writes_in_place
from opperf.runner.prepared import PreparedCase, compiles
from opperf.runner.restoring import FreshInputs

HAS_NAN = "has NaN: the inputs do not suit the operator, or it leaves an output unwritten"

IS_CONSTANT = (
    "the compiler computed the results, which depend on no input, and a call only returns them; "
    "pass as an argument what they are computed from"
)

NO_KERNEL = "runs no kernel of its own, as for a view of its input"

BATCHED = (
    "{} calls are queued between two waits for the device: a time is the interval between two "
    "successive calls, not the latency of one"
)

KERNEL_SHARE = 0.5
"""Share of a call's wall time below which its kernels are short: more than half of the time is then
the framework's dispatch."""

RECORDING_SHARE = 0.2
"""Share of a call's time that recording its events may take without a note: its cost is known to a
fifth or so, and the time then to 5 %."""

NS_PER_US = 1000
NS_PER_S = 1e9
MIB = 2**20


class Measurement:
    """The measurement of one prepared case, and its results so far."""

    def __init__(self, prepared: PreparedCase, memory: MemoryMeter, reference_work: bool) -> None:
        self._prepared, self._memory, self._reference_work = prepared, memory, reference_work
        self._case, self._framework = prepared.case, prepared.framework
        self._flush: Callable[[], object] | None = None
        self._ring: Ring | None = None
        self._fresh = FreshInputs(prepared)
        self._summaries: dict[str, Summary] = {}
        self._samples: dict[str, list[float]] = {}
        self._warmup: dict[str, list[float]] = {}
        self._notes: list[Note] = []
        self._reference: dict[str, dict[str, float]] = {}
        self._waits: dict[str, Waits] = {}
        self._busy_s = 0.0
        self._latest_s = 0.0
        """Seconds of the latest of these calls."""
        self._compiles = compiles(self._case, self._framework)

    @contextmanager
    def _busy(self) -> Iterator[None]:
        """Counts the time inside as that of the operator's calls."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self._latest_s = time.perf_counter() - begun
            self._busy_s += self._latest_s

    def record(self) -> Record:
        """Measures every pass of the case, and returns the record."""
        settings = self._case.settings
        timer = profiler(settings.profiler, self._framework, settings.device)
        # Read before the first call, in which a framework may move tensors, and after they are
        # written, as they may have no memory before.
        self._framework.synchronize(settings.device)
        inputs = self._framework.extents(list(self._prepared.arguments.values()))
        # The first call may compile, fill caches or be refused, which is not the operator's time.
        with self._busy():
            outputs = self._prepared.call()
            self._framework.synchronize(settings.device)
        unrestored = self._fresh.look()
        if unrestored is not None:
            self._notes.append(unrestored)
        if self._compiles:
            first_call = [self._latest_s * NS_PER_S]
            self._summaries[FIRST_CALL.name] = summarise(first_call, FIRST_CALL.unit)
        if self._framework.has_nan(outputs) and not self._may_have_nan():
            self._note("", NoteCode.NAN, HAS_NAN)
        moved = moved_bytes(
            inputs, self._framework.extents(outputs), in_place=writes_in_place(self._case)
        )
        del outputs
        first_s = self._latest_s
        peaks = self._take_memory() if settings.memory else None
        if self._compiles:
            again = [self._prepared.call]
            first_s = self._call_again(again) if peaks is None else peaks.forward_s
        if settings.cache == "cold":
            self._cool()
        self._forward(timer, first_s)
        if BACKWARD.name in self._case.passes:
            self._backward(timer, peaks)
        if self._compiles:
            for name, count in self._framework.compilation(self._prepared.call).items():
                unit = metrics_by_name()[name].unit
                self._summaries[name] = summarise([float(count)], unit)
            if self._framework.is_constant(self._case.target, self._prepared.call):
                self._note("", NoteCode.CONSTANT, IS_CONSTANT)
        return Record(
            case=self._case,
            id=self._case.id,
            status=Status.OK,
            summaries=self._summaries,
            samples=self._samples,
            warmup=self._warmup,
            notes=tuple(self._notes),
            reference=self._reference,
            waits=self._waits,
            busy_s=self._busy_s,
            moved_bytes=moved,
            time_kind=timer.kind,
        )

    def _may_have_nan(self) -> bool:
        """Returns whether NaN is no fault of the case's inputs."""
        listed = rules_module(self._framework.rules).NOT_FINITE
        return may_lack_numbers(self._case, self._framework, listed)

    def _take_memory(self) -> Peaks | None:
        """Returns the peaks; None if they cannot be measured."""
        begun = time.perf_counter()
        self._freshen()
        try:
            found = self._memory.peaks(self._prepared)
        except UnsupportedError as error:
            self._notes.append(Note(MEMORY.name, NoteCode.NO_MEMORY, str(error)))
            return None
        both = found.forward if found.both is None else found.both
        peaks = {MEMORY: both, MEMORY_FORWARD: found.forward, MEMORY_RESERVED: found.reserved}
        for metric, peak in peaks.items():
            if peak is not None:
                self._summaries[metric.name] = summarise([float(peak)], metric.unit)
        # Work of another process took time of this one only while this one waited for it.
        self._busy_s += min(found.busy_s, time.perf_counter() - begun)
        self._notes += found.notes
        return found

    def _cool(self) -> None:
        """Prepares calls with cold caches."""
        device = self._case.settings.device
        self._flush = self._framework.cache_flush(device)
        if self._flush is not None:
            self._note(
                "",
                NoteCode.COLD_CACHE,
                f"cold: {self._framework.name} flushes the caches of {device} before each pass of "
                "each call",
            )
            return
        if device.startswith("cpu"):
            self._flush = flush = Flush()
            size = f"{flush.bytes / MIB:.0f} MiB"
            self._note(
                "",
                NoteCode.COLD_CACHE,
                f"cold: {size} are written before each pass of each call",
            )
            return
        count = count_copies(self._case)
        others = [self._prepared.copy() for _ in range(count - 1)]
        self._ring = Ring([self._prepared, *others])
        self._note("", NoteCode.COLD_CACHE, f"cold: calls use {count} copies of the inputs in turn")

    def _gradient(self) -> Gradient:
        if self._ring is not None:
            return self._ring.gradient(PreparedCase.make_gradient)
        return self._prepared.gradient or self._prepared.make_gradient()

    def _forward(self, timer: Profiler, first_s: float) -> None:
        if self._ring is None:
            call = self._framework.repeated(self._prepared.call)
        else:
            call = self._ring.call
        done = self._time("forward", timer, [call], first_s)
        (forward,) = done.phases
        self._keep(FORWARD, forward.times, done.loops)
        self._keep(TOTAL, forward.times, done.loops)
        self._note_waits(FORWARD, timer)
        self._note_profile(FORWARD, forward)
        if forward.batch > 1:
            self._note(FORWARD.name, NoteCode.BATCHED, BATCHED.format(forward.batch))
        self._note_launch(FORWARD, timer, forward)

    def _backward(self, timer: Profiler, peaks: Peaks | None) -> None:
        self._freshen()
        try:
            with self._busy():
                gradient = self._gradient()
        except NoGradientError as error:
            self._note(BACKWARD.name, NoteCode.NO_GRADIENT, str(error))
            return
        phases: list[Callable[[], object]] = [gradient.record, gradient.backward]
        first_s = self._latest_s
        if self._compiles:
            first_s = self._call_again(phases) if peaks is None else peaks.gradient_s
        done = self._time("backward", timer, phases, first_s)
        forward, backward = done.phases
        self._keep(BACKWARD, backward.times, done.loops)
        self._note_waits(BACKWARD, timer)
        self._note_profile(BACKWARD, backward)
        self._note_launch(BACKWARD, timer, backward)
        if forward.times and backward.times:
            both = zip(forward.times, backward.times, strict=True)
            self._keep(TOTAL, [a + b for a, b in both], done.loops)

    def _freshen(self) -> None:
        """Restores the inputs that a call has written to."""
        if self._fresh.restore is not None:
            self._fresh.restore()

    def _call_again(self, phases: Sequence[Callable[[], object]]) -> float:
        """Runs phases whose first run compiled them. Returns their seconds."""
        self._freshen()
        with self._busy():
            for phase in phases:
                phase()
            self._framework.synchronize(self._case.settings.device)
        return self._latest_s

    def _time(
        self, metric: Pass, timer: Profiler, phases: list[Callable[[], object]], first_s: float
    ) -> Samples:
        """Returns samples of the phases, of which the last is that of the metric. `first_s` are the
        seconds of their first execution."""
        settings = self._case.settings
        work = ReferenceWork() if self._reference_work else None
        before = [one for one in (work, self._flush) if one is not None]
        # The backward pass is that of the call before it, and its inputs are those of the call.
        fresh = [one for one in (self._fresh.restore,) if one is not None]
        timed = [len(fresh) + (len(before) + 1) * (place + 1) - 1 for place in range(len(phases))]
        phases = [*fresh, *(one for phase in phases for one in (*before, phase))]
        share = 1 / len(self._case.passes)
        limit = limit_s(settings)
        longest_s = math.inf if limit is None else share * limit
        with self._busy():
            warm = warm_up(
                phases,
                lambda: self._framework.synchronize(settings.device),
                first_s,
                WARMUP_SHARE * longest_s,
                settings.warmup,
            )
            last = len(phases) - 1
            # A fixed number of runs is one of calls, each of which is a sample.
            call_s = warm.fastest_s
            loops = loops_for(timer, phases, last, call_s) if settings.runs is None else 1
            if work is not None:
                work.forget()
            begin = waits.read()
            done = sample(timer, phases, last, criteria(settings, share), call_s, loops)
            end = waits.read()
        if settings.warmup is not None:
            self._warmup[metric] = warm.times
        walls = [phase.walls for phase in done.phases]
        self._waits[metric] = waits.waits_between(begin, end, walls, loops)
        done = done._replace(phases=[done.phases[place] for place in timed])
        if timer.kind is MetricKind.KERNEL:
            plain_ns = warm.times[-LATEST:] or [first_s * NS_PER_S]
            if is_too_long(done.phases[-1], plain_ns, timer.resolution_ns):
                done = self._compared(metric, timer, done, phases, timed, call_s)
        calls = done.phases[-1].calls
        own = middle_mean(calls) if work is not None and calls else 0.0
        # A call may be shorter than the overhead that is subtracted, and then has no logarithm.
        if work is not None and own > 0:
            self._reference[metric] = {OWN: own, **work.means()}
        return done

    def _compared(
        self,
        metric: Pass,
        timer: Profiler,
        done: Samples,
        phases: Sequence[Callable[[], object]],
        timed: Sequence[int],
        call_s: float,
    ) -> Samples:
        """Returns the samples, or if they are longer than the same calls without recording, those
        of the wall clock; a note says so. `timed` are the places of the sampled phases."""
        device = self._case.settings.device
        with self._busy():
            walls = without_recording(profiler("python", self._framework, device), phases, call_s)
        own = [walls[place] for place in timed]
        if not is_too_long(done.phases[-1], own[-1].walls, timer.resolution_ns):
            return done
        before, after = (
            time_text(statistics.median(one.times)) for one in (done.phases[-1], own[-1])
        )
        self._note(
            metric,
            NoteCode.WALL,
            f"the profiler's time, {before}, is more than calls without it take, {after} by the "
            "wall clock, which is shown",
        )
        return Samples(own, loops=1)

    def _note(self, metric: str, code: NoteCode, message: str) -> None:
        self._notes.append(Note(metric, code, message))

    def _keep(self, metric: Metric, samples: list[float], loops: int) -> None:
        name = metric.name
        if not samples:
            self._note(name, NoteCode.NO_KERNEL, NO_KERNEL)
            return
        self._samples[name] = samples
        self._summaries[name] = summarise(samples, metric.unit, loops)
        if name in PASSES:
            self._notes += noise_notes(name, samples, self._case.settings.precision)

    def _note_waits(self, metric: Metric, timer: Profiler) -> None:
        """Adds a note to a pass whose threads waited for cores in a typical sample. Kernels of
        another device do not wait for them."""
        on_host = self._case.settings.device.startswith("cpu") or timer.kind is MetricKind.WALL
        note = waits.busy_note(metric.name, self._waits[metric.name]) if on_host else None
        if note is not None and metric.name in self._summaries:
            self._notes.append(note)

    def _note_profile(self, metric: Metric, timed: PhaseTimes) -> None:
        """Adds a note to a pass that is mostly dispatch, as its kernels are short, and to one that
        was much slower under the profiler."""
        if not timed.times:
            return
        kernel, wall = statistics.median(timed.times), statistics.median(timed.walls)
        if kernel < KERNEL_SHARE * wall:
            self._note(
                metric.name,
                NoteCode.DISPATCH,
                f"kernels take {kernel / NS_PER_US:.1f} us of the {wall / NS_PER_US:.1f} us that a "
                "call takes: at this size the time is mostly dispatch",
            )
        events, share = timed.recording
        if share > RECORDING_SHARE:
            self._note(
                metric.name,
                NoteCode.RECORDING,
                f"recording {pluralize(round(events), 'event')} inside a call took {share:.0%} of "
                "the time, which was subtracted",
            )

    def _note_launch(self, metric: Metric, timer: Profiler, timed: PhaseTimes) -> None:
        """Adds a note to a pass that takes hardly longer than an empty kernel."""
        settings = self._case.settings
        least = launch_ns(
            self._framework,
            settings.device,
            settings.profiler,
            timer,
            queued=timed.batch > 1,
        )
        if not timed.times or not least:
            return
        ratio = statistics.median(timed.times) / least
        if ratio < LAUNCH_BOUND:
            self._note(
                metric.name,
                NoteCode.LAUNCH_BOUND,
                f"takes {ratio:.1f} times as long as an empty kernel on {settings.device} "
                f"({least / NS_PER_US:.1f} us): the time is that of a launch, and is not ranked",
            )
