"""Measures a case: the one way from a case to a record; or tries one call of it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from opperf.errors import OpperfError, UnknownOperatorError, UnsupportedError, one_line
from opperf.frameworks import Framework
from opperf.instruments.compilation import note_removed_work
from opperf.instruments.instrument import Instrument
from opperf.instruments.peaks import LOCAL_METER, guard
from opperf.instruments.prepared import NOTHING_BOUND, Bound, PreparedCase, case_scope, reason_of
from opperf.instruments.times import BACKWARD, FORWARD, TIMES, TOTAL
from opperf.instruments.visit import Conditions, Visit
from opperf.instruments.work import keep_work
from opperf.machine.gpus import (
    GpuReading,
    find_gpu,
    rest_until_cool,
    state_of,
    throttling_note,
    watch,
)
from opperf.metrics import BUILT_IN, instruments_of
from opperf.model import (
    EAGER,
    Case,
    NoteCode,
    ObjectTarget,
    Record,
    Status,
    Verification,
    VerificationCode,
)
from opperf.sources.choices import LISTED, refusal
from opperf.sources.varying import with_dtype, with_settings
from opperf.worker.binding import bound_of

if TYPE_CHECKING:
    from opperf.instruments.profilers.sampling import Steps

DEFAULT_CONDITIONS = Conditions(LOCAL_METER)


BASELINE_DTYPE = "float32"
"""Dtype that every operator's rule is made for; a refusal in another one is checked against it."""


def measure(
    case: Case,
    framework: Framework,
    bound: Bound = NOTHING_BOUND,
    conditions: Conditions = DEFAULT_CONDITIONS,
) -> Record:
    """Returns the record of a case; an error of the operator is its status. `bound` holds the
    caller's objects for the case's `given` tensors and its target."""
    begun = time.perf_counter()
    try:
        check_available(case, framework)
        record = _Measuring(case, framework, conditions, begun).record(bound)
    except (UnsupportedError, UnknownOperatorError) as error:
        # An operator of another version of the framework is lacking here.
        record = _without_numbers(case, Status.SKIPPED, str(error))
    except OpperfError as error:
        record = _without_numbers(case, Status.FAILED, str(error))
    except Exception as error:
        record = _refused(case, framework, bound, reason_of(error, framework))
    if case.settings.verify and record.status is not Status.OK:
        found = _unverified(record, framework, bound)
        record = msgspec.structs.replace(record, verification=found)
    return msgspec.structs.replace(record, wall_s=time.perf_counter() - begun)


def _visit(prepared: PreparedCase, conditions: Conditions) -> Visit:
    visit = Visit(prepared, conditions)
    if conditions.results is not None:
        # It computes with NumPy, which the manager does without.
        from opperf.worker.call_outputs import TimedCalls

        visit.observer = TimedCalls(visit, conditions.results)
    return visit


class _Measuring:
    def __init__(
        self, case: Case, framework: Framework, conditions: Conditions, begun: float
    ) -> None:
        self._case, self._framework, self._conditions = case, framework, conditions
        self._begun = begun
        self._chosen = instruments_of(case.settings)
        self._lost: dict[Instrument, str] = {}
        """Instruments that have failed at their own cost, with the reason."""

    def record(self, bound: Bound) -> Record:
        """Returns the record of the case. Raises what its calls and its instruments raise."""
        case, framework, conditions = self._case, self._framework, self._conditions
        self._each(lambda instrument: instrument.prepare(framework))
        needed = 0 if conditions.rehearsed else guard(case, framework)
        self._each(lambda instrument: instrument.begin(case, framework, conditions, needed))
        with case_scope(case, framework):
            prepared = PreparedCase(case, framework, bound_of(case, framework, bound))
            visit = _visit(prepared, conditions)
            readings = self._measure(visit)
            if conditions.finds_removed_work:
                note_removed_work(visit)
            if visit.observer is not None:
                # Last, as it gives the inputs other contents.
                visit.observer.finish()
            state = state_of(readings)
            note = None if state is None else throttling_note(case.settings.device, state)
            visit.notes += [] if note is None else [note]
            # Other cases, and the verification, may be of the same objects.
            visit.restore()

            def end(instrument: Instrument) -> None:
                wall_s = time.perf_counter() - self._begun
                conditions.keep(msgspec.structs.replace(visit.record(), gpu=state, wall_s=wall_s))
                instrument.measure(visit)

            self._each(end, last=True)
        for instrument, reason in self._lost.items():
            for metric in instrument.metrics:
                if metric.name not in visit.summaries:
                    visit.note(metric.name, NoteCode.NOT_PRODUCED, reason)
        return msgspec.structs.replace(visit.record(), gpu=state)

    def _each(self, step: Callable[[Instrument], object], last: bool | None = None) -> None:
        """Takes a step with each instrument that goes on, or of these with those that are, or are
        not, to be last. An error of an added one beside times costs the case its own metrics
        alone."""
        for instrument in self._chosen:
            if instrument in self._lost or last not in (None, instrument.needs.last):
                continue
            try:
                step(instrument)
            except Exception as error:
                if instrument.is_alone or instrument in BUILT_IN:
                    raise
                known = isinstance(error, UnsupportedError)
                text = str(error) if known else f"{type(error).__name__}: {error}"
                self._lost[instrument] = one_line(text)

    def _measure(self, visit: Visit) -> Sequence[GpuReading]:
        """Measures with all instruments but the last ones, once more with those that depend on a
        device's clocks if these were lowered. Returns the readings of the device."""

        def take(instrument: Instrument) -> None:
            # The call of each is as the first one.
            visit.restore()
            instrument.measure(visit)

        def take_again(instrument: Instrument) -> None:
            if instrument.needs.steady_clocks:
                again = Visit(visit.prepared, visit.conditions)
                instrument.measure(again)
                visit.replace(instrument.metrics, again)

        gpu = find_gpu(self._framework.queues.uuid(self._case.settings.device))
        with watch(gpu) as readings:
            self._each(take, last=False)
        if gpu is not None and rest_until_cool(gpu, readings):
            with watch(gpu) as readings:
                self._each(take_again, last=False)
        return readings


def measure_in_turn(
    cases: Sequence[Case], framework: Framework, every: Sequence[Conditions], draw: random.Random
) -> list[Record]:
    """Returns the records of cases whose calls alternate, each under its conditions; an error is
    the status of all. Where no call writes to its inputs, they are the same objects for all cases
    with equal ones: two copies lie differently in memory, which moves the time of some by
    percents."""
    begun = time.perf_counter()
    try:
        shares = all(conditions.results is None for conditions in every)
        visits = _alternate(cases, framework, every, draw, shares)
        if shares and any(visit.inputs.restore is not None for visit in visits):
            visits = _alternate(cases, framework, every, draw, shares=False)
        records = [visit.record() for visit in visits]
    except Exception as error:
        lacks = isinstance(error, (UnsupportedError, UnknownOperatorError))
        status, reason = Status.SKIPPED if lacks else Status.FAILED, reason_of(error, framework)
        records = [_without_numbers(case, status, reason) for case in cases]
    wall_s = (time.perf_counter() - begun) / len(cases)
    return [msgspec.structs.replace(record, wall_s=wall_s) for record in records]


def _alternate(
    cases: Sequence[Case],
    framework: Framework,
    every: Sequence[Conditions],
    draw: random.Random,
    shares: bool,
) -> list[Visit]:
    made: dict[int, Visit] = {}
    order = list(range(len(cases)))
    # Which inputs are made first decides how they lie in memory.
    draw.shuffle(order)
    for place in order:
        case, conditions = cases[place], every[place]
        check_available(case, framework)
        TIMES.prepare(framework)
        others = (visit.prepared for visit in made.values() if shares)
        like = next((other for other in others if _has_equal_inputs(other.case, case)), None)
        with case_scope(case, framework):
            prepared = PreparedCase(case, framework, bound_of(case, framework), like)
            made[place] = _visit(prepared, conditions)
    visits = [made[place] for place in range(len(cases))]
    _sample_in_turn(visits, framework, draw, shares)
    for visit in visits:
        with case_scope(visit.case, framework):
            if visit.conditions.finds_removed_work:
                note_removed_work(visit)
            keep_work(visit)
    for visit in visits:
        with case_scope(visit.case, framework):
            if visit.observer is not None:
                visit.observer.finish()
            visit.restore()
    return visits


def _has_equal_inputs(one: Case, other: Case) -> bool:
    """Whether cases may share inputs: not with gradients, beside which a framework writes."""
    return (
        one.arguments == other.arguments
        and one.settings == other.settings
        and "backward" not in (*one.passes, *other.passes)
        and not isinstance(other.target, ObjectTarget)
    )


def _sample_in_turn(
    visits: Sequence[Visit], framework: Framework, draw: random.Random, shares: bool
) -> None:
    """Samples visits in turn, pass by pass; one that lacks a pass leaves the others to it."""
    from opperf.instruments.sampled_passes import SampledPasses

    steps = [SampledPasses(visit).steps(FORWARD, BACKWARD, TOTAL) for visit in visits]
    turns: list[Callable[[], AbstractContextManager[object]]]
    turns = [partial(framework.scope, visit.case) for visit in visits]
    ways = [
        (visit.case.settings, framework.arrays.array_type(visit.case.target)) for visit in visits
    ]
    with ExitStack() as stack:
        if all(way == ways[0] for way in ways):
            # Entering a scope may take longer than a turn.
            stack.enter_context(turns[0]())
            turns = [nullcontext] * len(visits)
        _take_turns(visits, steps, turns, draw, shares)


def _take_turns(
    visits: Sequence[Visit],
    steps: Sequence[Steps[None]],
    turns: Sequence[Callable[[], AbstractContextManager[object]]],
    draw: random.Random,
    shares: bool,
) -> None:
    from opperf.instruments.profilers.sampling import Samples, Sampling, sample_in_turn

    pending: dict[int, Sampling] = {}

    def advance(place: int, done: Samples | None) -> None:
        with turns[place]():
            try:
                pending[place] = next(steps[place]) if done is None else steps[place].send(done)
            except StopIteration:
                pending.pop(place, None)

    for place in range(len(visits)):
        advance(place, None)
    if shares and any(visit.inputs.restore is not None for visit in visits):
        # All are made again, with inputs of their own.
        for step in steps:
            step.close()
        return
    while pending:
        metric = next(iter(pending.values())).metric
        places = sorted(place for place, own in pending.items() if own.metric == metric)
        done = sample_in_turn(
            [pending[place] for place in places], [turns[place] for place in places], draw
        )
        for place, samples in zip(places, done, strict=True):
            advance(place, samples)


def _unverified(record: Record, framework: Framework, bound: Bound) -> Verification:
    """Returns the verification of a case that was not measured: whether eager mode fails too."""
    if record.status is not Status.FAILED:
        return Verification.not_run(record.reason)
    settings = {"mode": EAGER, "verify": False}
    runs = record.case.settings.mode != EAGER and _runs(
        with_settings(record.case, settings), framework, bound
    )
    code = VerificationCode.EXCEPTION_RAISED if runs else VerificationCode.EAGER_FAILED
    return Verification(code=code, reason=record.reason)


def check_available(case: Case, framework: Framework) -> None:
    """Raises `UnsupportedError` if the device, dtype, profiler or mode is lacking here."""
    for name in ("device", *LISTED):
        refused = refusal(framework, name, getattr(case.settings, name))
        if refused is not None:
            raise UnsupportedError(str(refused))


def _without_numbers(case: Case, status: Status, reason: str) -> Record:
    return Record(case=case, id=case.id, status=status, reason=one_line(reason))


def _refused(case: Case, framework: Framework, bound: Bound, reason: str) -> Record:
    """Returns the record of a refused call: skipped if this build or device lacks the kernel, or if
    the same call runs in float32, so that the dtype is the cause; else failed."""
    if framework.build.unavailable.search(reason):
        return _without_numbers(case, Status.SKIPPED, reason)
    dtype = case.settings.dtype
    if dtype != BASELINE_DTYPE and _runs(with_dtype(case, BASELINE_DTYPE), framework, bound):
        return _without_numbers(case, Status.SKIPPED, f"does not take {dtype}: {reason}")
    return _without_numbers(case, Status.FAILED, reason)


def _runs(case: Case, framework: Framework, bound: Bound) -> bool:
    try:
        with case_scope(case, framework):
            PreparedCase(case, framework, bound_of(case, framework, bound)).call()
            framework.synchronize(case.settings.device)
    except Exception:
        return False
    return True
