"""MXNet's error messages, without the C++ stack around them."""

from __future__ import annotations

import re

import mxnet as mx

from opperf.errors import one_line

CONDITION = re.compile(r"^Check failed: .*?(?<!:)(?<!: ): (?![: ])")
"""The C++ condition in front of a message, up to its colon; MXNet writes `::` as `: :`."""

UNSAID = re.compile(r"^Check failed: (.*?)\s*:?$")
"""A C++ condition that comes without a message, and the colon that would be in front of it."""

PLACE = re.compile(
    r"Error in operator \S+: |\[\d\d:\d\d:\d\d\] |(\.\./|/)?[\w./-]+\.(cc|cpp|cu|cuh|h):\d+: "
)
"""Where in MXNet an error arose: a node with a number for a name, a time of day, a line of its
source. None of it is the same in the next run, or tells what to do."""

UNAVAILABLE = re.compile(
    r"only available for GPU|not implemented for (CPU|GPU)|[Bb]uild with \w+=|"
    r"[Cc]ompile (MXNet )?with \w+=|is not supported on (CPU|GPU)|could not create a primitive"
)
"""What MXNet says when a build or a device lacks an operator, and what oneDNN says when it has
none for this processor."""

PYTHON_REFUSALS = (TypeError, ValueError, NotImplementedError, AssertionError, AttributeError)
"""What MXNet's Python layer raises when it does not take a call's arguments."""


def refusal(error: BaseException) -> str | None:
    """MXNet's own message, as one line, if the error is MXNet refusing a call; else None."""
    if isinstance(error, mx.base.MXNetError):
        text = str(error)
        message = re.split(r"(?:MXNetError|Error):\s", text)[-1]
        message = re.split(r"\n?\s*\[bt\]|Stack trace", message)[0]
        message = PLACE.sub("", " ".join(message.split()))
        return one_line(said(message)) or "MXNet gives no message"
    if isinstance(error, PYTHON_REFUSALS):
        return one_line(f"{type(error).__name__}: {error}")
    return None


def said(message: str) -> str:
    """What a failed check says, without its C++ condition; the condition if it says nothing."""
    without = CONDITION.sub("", message)
    unsaid = UNSAID.match(without)
    if unsaid is None:
        return without
    condition = unsaid.group(1).replace(": :", "::").replace(" vs. ", " vs ")
    return f"MXNet's check failed: {condition}"


def unavailable(refusal: str) -> bool:
    """Whether a message says that this build or device lacks the operator."""
    return bool(UNAVAILABLE.search(refusal))
