"""Verification: whether a mode computes what eager mode does."""

from __future__ import annotations

import enum
from typing import Literal

from opperf.model.base import Struct


class VerificationCode(str, enum.Enum):
    """How a verification ended, in the words of PyTorch/XLA's benchmarks."""

    PASS = "PASS"
    FAIL = "FAIL"
    """The results differ from those of eager mode by more than rounding does."""
    EAGER_FAILED = "EAGER_FAILED"
    EXCEPTION_RAISED = "EXCEPTION_RAISED"
    """Eager mode runs, and the mode under test raises an exception."""
    NONDETERMINISTIC_EAGER_RUN = "NONDETERMINISTIC_EAGER_RUN"
    """Two runs of eager mode with the same seeds differ, so that nothing can be compared."""
    VERIFIER_SKIPPED = "VERIFIER_SKIPPED"
    """The case cannot be verified."""
    VERIFIER_DIDNT_RUN = "VERIFIER_DIDNT_RUN"
    """The case was not measured, or the verification itself failed."""


WRONG = (VerificationCode.FAIL,)
"""Codes of results that are wrong: their times are ranked nowhere."""

Method = Literal["", "exact", "allclose", "rmse", "cosine"]
"""How results were found equal, or different: by the equality of each element, a tolerance of each,
errors from a run in float64, or the cosine of all elements."""


class Verification(Struct, frozen=True, kw_only=True):
    """The verification of a case's results."""

    code: VerificationCode
    method: Method = ""
    """Of the arrays that are equal, the weakest that was needed."""
    compared: int = 0
    """Number of arrays."""
    mean_relative_error: float | None = None
    max_relative_error: float | None = None
    """Errors of the elements of all floating-point results from those of eager mode (of eager mode
    itself from those in float64), each as a share of the element, or of the root mean square of its
    array where that is larger. None without any, or if one is not finite."""
    failed: str = ""
    """The result that differs, the first of several: `output[0]`, `gradient of layer.weight`."""
    error: float | None = None
    allowed: float | None = None
    """Its error and the largest that is allowed, by the method; of the cosine the smallest."""
    reason: str = ""

    @classmethod
    def not_run(cls, reason: str) -> Verification:
        """Returns that of a case which was not verified, although that was asked for."""
        return cls(code=VerificationCode.VERIFIER_DIDNT_RUN, reason=reason)

    @property
    def is_wrong(self) -> bool:
        return self.code in WRONG

    @property
    def line(self) -> str:
        """The code, and why it is not `PASS`, as one line."""
        where = f"{self.failed}: " if self.failed else ""
        return f"{self.code.value}: {where}{self.reason}" if self.reason else self.code.value
