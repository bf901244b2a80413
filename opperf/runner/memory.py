"""The peaks of memory of a prepared case."""

from __future__ import annotations

from opperf.errors import NoGradientError
from opperf.model import Struct
from opperf.runner.prepared import Prepared


class Peaks(Struct, frozen=True):
    """Bytes allocated above the level before the call, at their highest."""

    forward: int
    both: int | None
    """Of the forward and the backward pass, gradients included; None where there is no
    gradient or none was asked for."""
    note: str = ""
    """What a reader of the peaks should know, if there is anything."""


def peaks(prepared: Prepared) -> Peaks:
    """The peaks of one forward call and, if asked for, of one with its backward pass.

    Exact in a process where the framework has not run anything. Elsewhere workspace that the
    framework keeps for later calls, because an earlier one needed as much, is missing.
    """
    framework, device = prepared.framework, prepared.case.settings.device
    with framework.memory(device) as reading:
        outputs = prepared.call()
        framework.synchronize(device)
    del outputs
    forward = reading.peak_bytes
    if "backward" not in prepared.case.passes:
        return Peaks(forward=forward, both=None)
    try:
        with framework.memory(device) as reading:
            framework.gradient(prepared.case, prepared.call, prepared.differentiated)
    except NoGradientError:
        return Peaks(forward=forward, both=None)
    return Peaks(forward=forward, both=reading.peak_bytes)
