"""NumPy's error messages."""

from __future__ import annotations

import numpy as np

from opperf.errors import one_line

REFUSALS = (
    TypeError,
    ValueError,
    IndexError,
    NotImplementedError,
    AttributeError,
    OverflowError,
    np.linalg.LinAlgError,
)
"""Raised by NumPy for arguments that it does not accept. UFuncTypeError is a TypeError,
AxisError a ValueError; LinAlgError is one only from NumPy 1.25 on."""


def refusal(error: BaseException) -> str | None:
    """Returns NumPy's message, as one line, if the error is a refusal of a call; else None."""
    if isinstance(error, REFUSALS):
        return one_line(f"{type(error).__name__}: {error}")
    return None
