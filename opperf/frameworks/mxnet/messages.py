"""MXNet's error messages, without the C++ stack around them."""

from __future__ import annotations

import re

import mxnet as mx

from opperf.errors import one_line

CONDITION = re.compile(r"^Check failed: .*?(?<!:)(?<!: ): (?![: ])")
"""The C++ condition in front of a message, up to its colon; MXNet writes `::` as `: :`."""

UNAVAILABLE = re.compile(
    r"only available for GPU|not implemented for (CPU|GPU)|[Bb]uild with \w+=|"
    r"[Cc]ompile (MXNet )?with \w+=|is not supported on (CPU|GPU)"
)
"""What MXNet says when a build or a device lacks an operator."""

PYTHON_REFUSALS = (TypeError, ValueError, NotImplementedError, AssertionError, AttributeError)
"""What MXNet's Python layer raises when it does not take a call's arguments."""


def refusal(error: BaseException) -> str | None:
    """MXNet's own message, as one line, if the error is MXNet refusing a call; else None."""
    if isinstance(error, mx.base.MXNetError):
        text = str(error)
        message = re.split(r"(?:MXNetError|Error):\s", text)[-1]
        message = CONDITION.sub("", message) or message
        message = re.split(r"\n?\s*\[bt\]|Stack trace", message)[0]
        return one_line(message) or "MXNet gives no message"
    if isinstance(error, PYTHON_REFUSALS):
        return one_line(f"{type(error).__name__}: {error}")
    return None


def unavailable(refusal: str) -> bool:
    """Whether a message says that this build or device lacks the operator."""
    return bool(UNAVAILABLE.search(refusal))
