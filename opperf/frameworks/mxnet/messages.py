"""MXNet's error messages, without the C++ stack around them."""

from __future__ import annotations

import re

import mxnet as mx

from opperf.errors import one_line

CONDITION = re.compile(r"^Check failed: .*?(?<!:)(?<!: ): (?![: ])")
"""The C++ condition in front of a message, up to its colon; MXNet writes `::` as `: :`."""

BARE_CONDITION = re.compile(r"^Check failed: (.*?)\s*:?$")
"""A C++ condition without a message, up to an empty one's colon."""

PLACE = re.compile(
    r"Error in operator \S+: |\[\d\d:\d\d:\d\d\] |(\.\./|/)?[\w./-]+\.(cc|cpp|cu|cuh|h):\d+: "
)
"""The place of an error, a number, a time of day or a line of source, which differs between
runs."""

UNAVAILABLE = re.compile(
    r"only available for GPU|not implemented for (CPU|GPU)|[Bb]uild with \w+=|"
    r"[Cc]ompile (MXNet )?with \w+=|is not supported on (CPU|GPU)|could not create a primitive"
)
"""Messages for an operator that a build, a device, or oneDNN on this processor, lacks."""

PYTHON_REFUSALS = (TypeError, ValueError, NotImplementedError, AssertionError, AttributeError)
"""Raised by MXNet's Python layer for arguments that it does not accept."""


def refusal(error: BaseException) -> str | None:
    """Returns MXNet's message, as one line, if the error is a refusal of a call; else None."""
    if isinstance(error, mx.base.MXNetError):
        text = str(error)
        message = re.split(r"(?:MXNetError|Error):\s", text)[-1]
        message = re.split(r"\n?\s*\[bt\]|Stack trace", message)[0]
        message = PLACE.sub("", " ".join(message.split()))
        return one_line(without_condition(message)) or "MXNet gave no message"
    if isinstance(error, PYTHON_REFUSALS):
        return one_line(f"{type(error).__name__}: {error}")
    return None


def without_condition(message: str) -> str:
    """Returns a failed check's message without its C++ condition, which it may be all of."""
    without = CONDITION.sub("", message)
    bare = BARE_CONDITION.match(without)
    if bare is None:
        return without
    condition = bare.group(1).replace(": :", "::").replace(" vs. ", " vs ")
    return f"MXNet's check failed: {condition}"


def unavailable(refusal: str) -> bool:
    """Whether a message says that this build or device lacks the operator."""
    return bool(UNAVAILABLE.search(refusal))
