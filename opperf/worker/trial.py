"""One call of a case, to see whether the framework accepts its inputs."""

from __future__ import annotations

import time

import msgspec

from opperf.errors import OpperfError, one_line
from opperf.frameworks import Framework
from opperf.instruments.guard import guard, tensor_bytes
from opperf.model import UNKNOWN, Argument, Case, Struct
from opperf.sources.shapes import bounded
from opperf.sources.varying import with_array_type, with_settings


class Trial(Struct, frozen=True):
    """The result of one call."""

    refusal: str = ""
    """Why the framework refused the call; empty if it accepted it."""
    has_nan: bool = False
    """Whether an output has a NaN."""
    output_bytes: int = 0
    """Bytes of all outputs."""
    seconds: float = 0.0
    """Duration of the call, with the framework's initialisation on a first call."""
    arguments: dict[str, Argument] = {}
    """The case's arguments, with inferred shapes filled in."""
    ended: bool = False
    """Whether the process ended during the call, or was killed at the timeout."""


UNGUARDED = 2**20
"""Bytes of inputs up to which free memory is not checked: the check takes longer than such a
call."""


def _complete(case: Case, framework: Framework) -> Case:
    """Returns the case with the target's array type, with all shapes inferred, and with indices in
    range of what they index."""
    array_type = framework.array_type(case.target)
    arguments = {name: with_array_type(value, array_type) for name, value in case.arguments.items()}
    made = msgspec.structs.replace(case, arguments=arguments)
    if any(spec.shape == UNKNOWN for _, spec in made.tensors()):
        made = framework.with_inferred_shapes(made)
    return bounded(framework, made)


def try_call(case: Case, framework: Framework) -> Trial:
    """Makes the case's tensors and calls its target once, forward only, in the framework's default
    mode: another one may take seconds to compile. Any exception is a refusal."""
    # The manager reads a `Trial` and makes no tensors: it need not load NumPy.
    from opperf.instruments.prepared import PreparedCase, case_scope

    try:
        case = with_settings(_complete(case, framework), {"mode": framework.modes[0]})
        refused = framework.foreseen_refusal(case)
        if refused:
            return Trial(refusal=refused)
        if sum(tensor_bytes(spec) for _, spec in case.tensors()) > UNGUARDED:
            guard(case, framework)
        with case_scope(case, framework):
            prepared = PreparedCase(case, framework)
            started = time.perf_counter()
            outputs = prepared.call()
            framework.synchronize(case.settings.device)
            seconds = time.perf_counter() - started
            return Trial(
                arguments=case.arguments,
                has_nan=framework.has_nan(outputs),
                output_bytes=sum(extent.bytes for extent in framework.extents(outputs)),
                seconds=seconds,
            )
    except OpperfError as error:
        return Trial(refusal=str(error))
    except Exception as error:
        reason = framework.refusal(error) or f"{type(error).__name__}: {error}"
        return Trial(refusal=one_line(reason))
