"""Measures a case: the one way from a case to a record."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from opperf.errors import OpperfError, UnknownOperatorError, UnsupportedError, one_line
from opperf.frameworks import Framework
from opperf.machine.gpus import find_gpu, state_of, throttling_note, watch
from opperf.model import (
    Case,
    GpuState,
    Record,
    Status,
)
from opperf.runner import counting
from opperf.runner.guard import guard
from opperf.runner.measurement import Measurement
from opperf.runner.memory_meters import LOCAL_METER, MemoryMeter
from opperf.runner.prepared import PreparedCase, case_scope
from opperf.runner.producers import with_produced
from opperf.sources.bound import NOTHING_BOUND, Bound
from opperf.sources.choices import LISTED, refusal
from opperf.sources.varying import with_dtype

BASELINE_DTYPE = "float32"
"""Dtype that every operator's rule is made for; a refusal in another one is checked against it."""


EARLY_BYTES = 64 * 2**20
"""Maximum bytes of a case whose memory another process measures while its tensors are made and
first used here. The tensors and outputs of a larger one would be in memory twice, which the guard
does not count, and its calls take longer than the time that is saved."""


def measure(
    case: Case,
    framework: Framework,
    bound: Bound = NOTHING_BOUND,
    memory: MemoryMeter = LOCAL_METER,
    reference_work: bool = False,
    profiles: Path | None = None,
) -> Record:
    """Returns the record of a case; an error of the operator is its status.

    `bound` holds the caller's objects for the case's `given` tensors and its target. `memory`
    measures the peaks: in this process, or in another as `PristineMeter` does. With
    `reference_work`, that is timed between the calls. `profiles` is the folder that keeps what
    callgrind wrote.
    """
    begun = time.perf_counter()
    try:
        check_available(case, framework)
        counted = case.settings.counts_instructions
        if counted:
            counting.prepare(framework)
        needed = guard(case, framework)
        if case.settings.memory and not counted and needed <= EARLY_BYTES:
            memory.begin(case, framework)
        with case_scope(case, framework):
            prepared = PreparedCase(case, framework, bound)
            with watch(find_gpu(framework.uuid(case.settings.device))) as readings:
                record = (
                    counting.Counting(prepared, profiles).record()
                    if counted
                    else Measurement(prepared, memory, reference_work).record()
                )
            record = with_produced(prepared, _with_state(record, state_of(readings)))
    except (UnsupportedError, UnknownOperatorError) as error:
        # An operator of another version of the framework is lacking here.
        record = _without_numbers(case, Status.SKIPPED, str(error))
    except OpperfError as error:
        record = _without_numbers(case, Status.FAILED, str(error))
    except Exception as error:
        reason = framework.refusal(error)
        if reason is None:
            reason = one_line(f"{type(error).__name__}: {error}")
        record = _refused(case, framework, bound, reason)
    return msgspec.structs.replace(record, wall_s=time.perf_counter() - begun)


def _with_state(record: Record, state: GpuState | None) -> Record:
    """Returns the record with the state of the GPU, and a note if that lowered its clocks."""
    if state is None:
        return record
    note = throttling_note(record.case.settings.device, state)
    notes = record.notes if note is None else (*record.notes, note)
    return msgspec.structs.replace(record, gpu=state, notes=notes)


def check_available(case: Case, framework: Framework) -> None:
    """Raises `UnsupportedError` if this framework, build or machine lacks the device, dtype,
    profiler or mode."""
    for name in ("device", *LISTED):
        refused = refusal(framework, name, getattr(case.settings, name))
        if refused is not None:
            raise UnsupportedError(str(refused))


def _without_numbers(case: Case, status: Status, reason: str) -> Record:
    return Record(case=case, id=case.id, status=status, reason=one_line(reason))


def _refused(case: Case, framework: Framework, bound: Bound, reason: str) -> Record:
    """Returns the record of a call that the framework refused: skipped if this build or device
    lacks the kernel, or if the same call runs in float32, so that the dtype is the cause; else
    failed."""
    if framework.unavailable(reason):
        return _without_numbers(case, Status.SKIPPED, reason)
    dtype = case.settings.dtype
    if dtype != BASELINE_DTYPE and _runs(with_dtype(case, BASELINE_DTYPE), framework, bound):
        return _without_numbers(case, Status.SKIPPED, f"does not take {dtype}: {reason}")
    return _without_numbers(case, Status.FAILED, reason)


def _runs(case: Case, framework: Framework, bound: Bound) -> bool:
    """Returns whether the framework accepts the case."""
    try:
        with case_scope(case, framework):
            PreparedCase(case, framework, bound).call()
            framework.synchronize(case.settings.device)
    except Exception:
        return False
    return True
