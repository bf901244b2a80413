"""Verifications of records that nothing has measured."""

import msgspec

from opperf.model import Verification, VerificationCode

PASSED = Verification(
    code=VerificationCode.PASS,
    method="allclose",
    compared=2,
    mean_relative_error=1e-6,
    max_relative_error=2e-6,
)
FAILED = Verification(
    code=VerificationCode.FAIL,
    method="rmse",
    compared=2,
    mean_relative_error=5e-3,
    max_relative_error=1e-2,
    failed="output",
    error=0.01,
    allowed=1e-5,
    reason="its error is 0.01",
)


def verified(record, found):
    """Returns the record with a verification."""
    return msgspec.structs.replace(record, verification=found)
