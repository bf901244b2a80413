"""The code of a verification, from the results of the runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from opperf.instruments.verification.arrays import (
    Array,
    Comparison,
    Errors,
    are_identical,
    compare,
    relative_errors,
)
from opperf.model import Method, Verification, VerificationCode

Results = Mapping[str, Array]
"""Arrays by what they are: `output[0]`, `loss`, `gradient of layer.weight`."""

WEAKER: Final[Sequence[Method]] = ("", "exact", "allclose", "rmse", "slope", "cosine")
"""Methods by how much they let pass."""


def differing_runs(eager: Results, again: Results) -> Verification | None:
    """Returns the verification of two runs of eager mode that differ; None if they do not."""
    for name in dict.fromkeys([*eager, *again]):
        if name not in eager or name not in again:
            text = "one of two runs of eager mode with the same seeds has no such result"
        elif are_identical(eager[name], again[name]):
            continue
        else:
            text = f"two runs of eager mode with the same seeds {_how(eager[name], again[name])}"
        return Verification(
            code=VerificationCode.NONDETERMINISTIC_EAGER_RUN,
            method="exact",
            compared=len(eager),
            failed=name,
            reason=text,
        )
    return None


def _how(one: Array, other: Array) -> str:
    if one[:2] != other[:2]:
        return f"return {one.dtype} {one.shape} and {other.dtype} {other.shape}"
    if one.is_exact:
        return "differ"
    largest = relative_errors(one.values, other.values).max
    return f"differ by {largest:.2g} of an element"


def judge(
    eager: Results, found: Results, double: Results, tolerance_of: Callable[[str], float]
) -> Verification:
    """Returns the verification of a mode's results. `double` are those of eager mode in float64, as
    far as there are any; `tolerance_of` returns the tolerance of a dtype."""
    made: dict[str, Comparison] = {}
    for name in dict.fromkeys([*eager, *found]):
        if name not in found:
            made[name] = Comparison("exact", "there is none, and eager mode has it")
        elif name not in eager:
            made[name] = Comparison("exact", "eager mode has none")
        else:
            tolerance = tolerance_of(eager[name].dtype)
            made[name] = compare(eager[name], found[name], double.get(name), tolerance)
    return verification_of(made)


def verification_of(made: Mapping[str, Comparison], note: str = "") -> Verification:
    """Returns the verification of results that compare like this; `note` is said of right ones."""
    wrong = next((name for name, one in made.items() if not one.is_equal), "")
    mean, largest = figures_of([compared.errors for compared in made.values()])
    found = Verification(
        code=VerificationCode.PASS,
        method=max((compared.method for compared in made.values()), key=WEAKER.index, default=""),
        compared=len(made),
        mean_relative_error=mean,
        max_relative_error=largest,
        reason=note,
    )
    if not wrong:
        return found
    first = made[wrong]
    return msgspec.structs.replace(
        found,
        code=VerificationCode.FAIL,
        method=first.method,
        failed=wrong,
        error=_finite(first.error),
        allowed=_finite(first.allowed),
        reason=first.reason,
    )


def judge_eager(eager: Results, double: Results) -> Verification:
    """Returns the verification of eager mode itself: its errors are those from float64."""
    errors = [
        relative_errors(double[name].values, one.values)
        for name, one in eager.items()
        if not one.is_exact and name in double and double[name].shape == one.shape
    ]
    mean, largest = figures_of(errors)
    return Verification(
        code=VerificationCode.PASS,
        method="exact",
        compared=len(eager),
        mean_relative_error=mean,
        max_relative_error=largest,
    )


FAR = 10.0
"""Times the tolerance from which an array in float64 is another one: of rounding, an array has less
on the whole than the tolerance of an element."""


def is_far(eager: Results, double: Results, tolerance_of: Callable[[str], float]) -> bool:
    """Whether results in float64 differ by more than rounding: of other random numbers, say."""
    return any(
        relative_errors(double[name].values, found.values).mean > FAR * tolerance_of(found.dtype)
        for name, found in eager.items()
        if not found.is_exact and name in double and double[name].shape == found.shape
    )


def figures_of(errors: Sequence[Errors]) -> tuple[float | None, float | None]:
    """Returns the mean over all elements, and the largest; None where it is not finite."""
    count = sum(own.elements for own in errors)
    if not count:
        return None, None
    mean = math.fsum(own.mean * own.elements for own in errors) / count
    return _finite(mean), _finite(max(own.max for own in errors))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
