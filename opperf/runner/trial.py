"""One call of a case, to see what the framework makes of its inputs."""

from __future__ import annotations

import time

import msgspec

from opperf.errors import OpperfError, one_line
from opperf.frameworks import Framework
from opperf.model import UNKNOWN, Argument, Case, Struct
from opperf.runner.guard import guard, tensor_bytes
from opperf.runner.prepared import Prepared
from opperf.sources.registry import with_array_type


class Trial(Struct, frozen=True):
    """What came of a call."""

    refusal: str = ""
    """Why the framework did not take it; empty if it did."""
    has_nan: bool = False
    """Whether an output has a NaN."""
    output_bytes: int = 0
    """Bytes of all outputs."""
    seconds: float = 0.0
    """How long the call took, the framework's own preparations of a first call included."""
    arguments: dict[str, Argument] = {}
    """What was passed: the case's arguments, with the shapes that were to be inferred."""
    ended: bool = False
    """Whether the process did not outlive the call, or had to be ended as it took too long."""


UNGUARDED = 2**20
"""Bytes of inputs up to which no memory is asked about: it takes longer than such a call."""


def _completed(case: Case, framework: Framework) -> Case:
    """The case as this framework's target takes it: with arrays of its kind, and every shape."""
    array_type = framework.array_type(case.target)
    arguments = {name: with_array_type(value, array_type) for name, value in case.arguments.items()}
    made = msgspec.structs.replace(case, arguments=arguments)
    if any(spec.shape == UNKNOWN for _, spec in made.tensors()):
        return framework.with_inferred_shapes(made)
    return made


def try_call(case: Case, framework: Framework) -> Trial:
    """Make the case's tensors and call it once, forward. Whatever it raises is a refusal."""
    try:
        case = _completed(case, framework)
        if sum(tensor_bytes(spec) for _, spec in case.tensors()) > UNGUARDED:
            guard(case, framework)
        with framework.scope(case):
            prepared = Prepared(case, framework)
            begun = time.perf_counter()
            outputs = prepared.call()
            framework.synchronize(case.settings.device)
            seconds = time.perf_counter() - begun
            return Trial(
                arguments=case.arguments,
                has_nan=framework.has_nan(outputs),
                output_bytes=sum(one.bytes for one in framework.extents(outputs)),
                seconds=seconds,
            )
    except OpperfError as error:
        return Trial(refusal=str(error))
    except Exception as error:
        reason = framework.refusal(error) or f"{type(error).__name__}: {error}"
        return Trial(refusal=one_line(reason))
