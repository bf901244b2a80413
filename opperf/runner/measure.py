"""The one way from a case to a record."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from opperf.errors import NoGradientError, OpperfError, UnsupportedError, one_line
from opperf.frameworks import Framework
from opperf.model import Argument, Case, Record, Status, Summary, TensorSpec
from opperf.profilers import Profiler, profiler
from opperf.profilers.summary import summarise
from opperf.runner.guard import guard
from opperf.runner.memory import Peaks, peaks
from opperf.runner.prepared import NOTHING_BOUND, Bound, Prepared
from opperf.runner.pristine import is_self_contained, pristine

BASELINE_DTYPE = "float32"
"""What every operator's rule is made for; a refusal in another dtype is checked against it."""


Memory = Callable[[Prepared], Peaks]
"""How a case's peaks of memory are found."""


def fresh(bound: Bound) -> Memory:
    """Peaks from a process that has run nothing, where the case can be measured there; else
    from this one."""

    def found(prepared: Prepared) -> Peaks:
        case, framework = prepared.case, prepared.framework
        if not is_self_contained(case, bound):
            return _here(prepared, "its function or its arrays are its caller's")
        if not framework.forks(case.settings.device):
            return _here(prepared, f"{case.settings.device} cannot be used in a fork")
        found = pristine(framework.name).peaks(case)
        return found or _here(prepared, "the fork made for it gave no answer")

    return found


def _here(prepared: Prepared, why: str) -> Peaks:
    """Peaks from this process, which has run this case and others before."""
    note = f"measured where operators had run before, as {why}; workspace kept from then is missing"
    return msgspec.structs.replace(peaks(prepared), note=note)


def measure(
    case: Case, framework: Framework, bound: Bound = NOTHING_BOUND, memory: Memory = peaks
) -> Record:
    """Measure one case. Whatever the operator does wrong ends up in the record.

    `bound` holds what the case's `given` tensors and target stand for, if a caller has the
    objects themselves. `memory` finds the peaks: in this process, or as `fresh` does.
    """
    begun = time.perf_counter()
    try:
        guard(case, framework)
        with framework.scope(case):
            record = _Measurement(Prepared(case, framework, bound), memory).record()
    except UnsupportedError as error:
        record = _without_numbers(case, Status.SKIPPED, str(error))
    except OpperfError as error:
        record = _without_numbers(case, Status.FAILED, str(error))
    except Exception as error:
        reason = framework.refusal(error)
        if reason is None:
            reason = one_line(f"{type(error).__name__}: {error}")
        record = _refused(case, framework, bound, reason)
    return msgspec.structs.replace(record, wall_s=time.perf_counter() - begun)


def _without_numbers(case: Case, status: Status, reason: str) -> Record:
    return Record(case=case, id=case.id, status=status, reason=one_line(reason))


def _refused(case: Case, framework: Framework, bound: Bound, reason: str) -> Record:
    """The record of a call the framework refused: skipped if this build or device has no such
    kernel, or if the dtype is at fault, which is so when the same call in float32 runs; else
    failed."""
    if framework.unavailable(reason):
        return _without_numbers(case, Status.SKIPPED, reason)
    dtype = case.settings.dtype
    if dtype != BASELINE_DTYPE and _runs(_in_dtype(case, BASELINE_DTYPE), framework, bound):
        return _without_numbers(case, Status.SKIPPED, f"does not take {dtype}: {reason}")
    return _without_numbers(case, Status.FAILED, reason)


def _runs(case: Case, framework: Framework, bound: Bound) -> bool:
    """Whether the framework accepts the case at all."""
    try:
        with framework.scope(case):
            Prepared(case, framework, bound).call()
            framework.synchronize(case.settings.device)
    except Exception:
        return False
    return True


def _in_dtype(case: Case, dtype: str) -> Case:
    """The case with every tensor and argument of its own dtype turned into another."""
    old = case.settings.dtype

    def turned(value: Argument) -> Argument:
        if isinstance(value, tuple):
            return tuple(turned(element) for element in value)  # type: ignore[misc]
        if isinstance(value, TensorSpec):
            return msgspec.structs.replace(value, dtype=dtype) if value.dtype == old else value
        return value

    arguments = {name: turned(value) for name, value in case.arguments.items()}
    if arguments.get("dtype") == old:
        arguments["dtype"] = dtype
    settings = msgspec.structs.replace(case.settings, dtype=dtype)
    return msgspec.structs.replace(case, arguments=arguments, settings=settings)


HAS_NAN = "has NaN: the inputs do not suit the operator, or it leaves an output unwritten"

WARMUP_SHARE = 0.2
"""Share of a pass's time limit that its warm-up may take: an operator slow enough to feel the
limit needs few calls to warm up."""

LEAST_RUNS = 3
"""Calls that are timed whatever the limit: fewer have no median worth the name."""


class _Measurement:
    """The phases one prepared case is measured in, and what they gave."""

    def __init__(self, prepared: Prepared, memory: Memory) -> None:
        self._prepared, self._memory = prepared, memory
        self._case, self._framework = prepared.case, prepared.framework
        self._summaries: dict[str, Summary] = {}
        self._samples: dict[str, list[float]] = {}
        self._notes: dict[str, str] = {}
        self._busy_s = 0.0
        self._latest_s = 0.0
        """Seconds that the latest of these calls took."""

    @contextmanager
    def _busy(self) -> Iterator[None]:
        """Count what happens inside as time spent in the operator's calls."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self._latest_s = time.perf_counter() - begun
            self._busy_s += self._latest_s

    def record(self) -> Record:
        """Measure every pass that was asked for."""
        settings = self._case.settings
        timer = profiler(settings.profiler, self._framework, settings.device)
        # The first call compiles, caches and refuses; none of that is the operator's time.
        with self._busy():
            outputs = self._prepared.call()
            self._framework.synchronize(settings.device)
        if self._framework.has_nan(outputs):
            self._notes["output"] = HAS_NAN
        del outputs
        first_s = self._latest_s
        if settings.memory:
            self._take_memory()
        self._forward(timer, first_s)
        if "backward" in self._case.passes:
            self._backward(timer)
        return Record(
            case=self._case,
            id=self._case.id,
            status=Status.OK,
            summaries=self._summaries,
            samples=self._samples,
            notes=self._notes,
            busy_s=self._busy_s,
        )

    def _take_memory(self) -> None:
        found = self._memory(self._prepared)
        both = found.forward if found.both is None else found.both
        self._summaries["memory"] = summarise([float(both)], "B")
        self._summaries["memory_forward"] = summarise([float(found.forward)], "B")
        self._busy_s += found.busy_s
        if found.note:
            self._notes["memory"] = found.note

    def _forward(self, timer: Profiler, first_s: float) -> None:
        (forward,) = self._time(timer, [self._prepared.call], first_s)
        self._keep("forward", forward)
        self._keep("total", forward)

    def _backward(self, timer: Profiler) -> None:
        try:
            with self._busy():
                gradient = self._framework.gradient(
                    self._case, self._prepared.call, self._prepared.differentiated
                )
        except NoGradientError as error:
            self._notes["backward"] = str(error)
            return
        phases: list[Callable[[], object]] = [gradient.record, gradient.backward]
        forward, backward = self._time(timer, phases, self._latest_s)
        self._keep("backward", backward)
        if forward and backward:
            self._keep("total", [a + b for a, b in zip(forward, backward, strict=True)])

    def _time(
        self, timer: Profiler, phases: list[Callable[[], object]], first_s: float
    ) -> list[list[float]]:
        """Samples of the phases, the first time through which took `first_s` seconds."""
        with self._busy():
            spent_s, calls = self._warm_up(phases, first_s)
            return timer.trace(phases, self._runs(spent_s / calls if calls else first_s))

    def _warm_up(self, phases: list[Callable[[], object]], first_s: float) -> tuple[float, int]:
        """Call the phases without timing them; the seconds it took, and how often it was."""
        settings = self._case.settings
        share = math.inf if settings.max_time_s is None else WARMUP_SHARE * settings.max_time_s
        begun, done, spent = time.perf_counter(), 0, 0.0
        # What took its share the first time is warm by that.
        while done < settings.warmup and max(first_s, spent) < share:
            for phase in phases:
                phase()
            self._framework.synchronize(settings.device)
            done += 1
            spent = time.perf_counter() - begun
        return spent, done

    def _runs(self, call_s: float) -> int:
        """How many calls to time, if one takes so long."""
        settings = self._case.settings
        if settings.max_time_s is None:
            return settings.runs
        return min(settings.runs, max(LEAST_RUNS, int(settings.max_time_s / call_s)))

    def _keep(self, metric: str, samples: list[float]) -> None:
        if samples:
            self._samples[metric] = samples
            self._summaries[metric] = summarise(samples, "ns")
        else:
            self._notes[metric] = "runs no kernel of its own, as for a view of its input"
