"""The peaks of memory of a case."""

from __future__ import annotations

import gc
import time

from opperf.errors import NoGradientError
from opperf.frameworks import Framework, MemoryReading
from opperf.model import Case, Note, Struct
from opperf.runner.prepared import Prepared
from opperf.sources.bound import NOTHING_BOUND

SETTLE_S = 0.003
"""Seconds that threads of a framework may take to give back what was dropped: a thousand times what
a thread that has a core needs. Too short a time after a case costs a fork for the next one."""


class Peaks(Struct, frozen=True):
    """Bytes allocated above the level before the call, at their highest."""

    forward: int
    both: int | None
    """Of the forward and the backward pass, gradients included; None where there is no
    gradient or none was asked for."""
    notes: tuple[Note, ...] = ()
    busy_s: float = 0.0
    """Seconds in which the operator's own calls ran."""
    clean: bool = True
    """Whether the framework kept nothing: the next case finds the process as this one did."""


def _settle(framework: Framework, device: str) -> None:
    """Wait until what was dropped is given back."""
    time.sleep(SETTLE_S)
    framework.synchronize(device)


class _Readings:
    """The calls whose memory is read, made; what was read is there once the framework has
    stopped reading."""

    def __init__(self, prepared: Prepared) -> None:
        framework, device = prepared.framework, prepared.case.settings.device
        begun = time.perf_counter()
        with framework.memory(device) as self._forward:
            outputs = prepared.call()
            framework.synchronize(device)
        del outputs
        # What is given back only now would count as the level that the next reading begins at.
        _settle(framework, device)
        self._both: MemoryReading | None = None
        if "backward" in prepared.case.passes:
            try:
                with framework.memory(device) as reading:
                    framework.gradient(prepared.case, prepared.call, prepared.differentiated)
                self._both = reading
            except NoGradientError:
                # The record says so where the backward pass is timed.
                self._both = None
        self._busy_s = time.perf_counter() - begun

    def peaks(self, clean: bool) -> Peaks:
        both = None if self._both is None else self._both.peak_bytes
        return Peaks(self._forward.peak_bytes, both, busy_s=self._busy_s, clean=clean)


def peaks(prepared: Prepared) -> Peaks:
    """The peaks of one forward call and, if asked for, of one with its backward pass.

    Exact in a process where the framework has kept nothing. Elsewhere workspace that it keeps
    for later calls, because an earlier one needed as much, is missing.
    """
    return _Readings(prepared).peaks(clean=False)


def peaks_of(case: Case, framework: Framework) -> Peaks:
    """The peaks of a case whose tensors are made for it alone, and whether the framework has
    given back everything afterwards."""
    device = case.settings.device
    with framework.memory(device) as whole, framework.scope(case):
        prepared = Prepared(case, framework, NOTHING_BOUND)
        readings = _Readings(prepared)
        del prepared
        # An exception that was caught may hold arrays, in a cycle with its traceback.
        gc.collect()
        _settle(framework, device)
    return readings.peaks(clean=whole.kept_bytes == 0)
