"""JAX's error messages, without stacks and links to its documentation."""

from __future__ import annotations

import re

import jax

from opperf.errors import one_line

REFUSALS = (
    TypeError,
    ValueError,
    IndexError,
    NotImplementedError,
    AttributeError,
    AssertionError,
    OverflowError,
    jax.errors.JAXTypeError,
    jax.errors.JAXIndexError,
    jax.errors.JaxRuntimeError,
)
"""Raised by JAX for arguments that it does not accept."""

NOISE = re.compile(
    r"\nSee https?://|\nThe error occurred while tracing|\nThis BatchTracer|"
    r"\nThis concrete value was not available|\nTo silence|\n-{10,}"
)
"""Beginning of what follows a message."""

STACK = re.compile(r"Traceback \(most recent call last\):\n(?: +.*\n)*")
"""The stack of an error in a callback, which XLA has in its message."""

UNAVAILABLE = re.compile(
    r"MLIR translation rule for primitive '\S+' not found for platform|"
    r"UNIMPLEMENTED|[Nn]ot implemented (?:on|for) (?:the )?(?:CPU|GPU|TPU|cpu|gpu|tpu)|"
    r"is (?:only|not) (?:implemented|supported|available) (?:on|for) (?:the )?(?:CPU|GPU|TPU)|"
    r"[Uu]nsupported lowering for|requires? (?:a )?(?:GPU|TPU)|Unknown backend"
)
"""Messages for a function that this build or device lacks."""


def refusal(error: BaseException) -> str | None:
    """Returns JAX's message, as one line, if the error is a refusal of a call; else None."""
    if not isinstance(error, REFUSALS):
        return None
    text = NOISE.split(STACK.sub("", str(error)))[0]
    kind = "" if isinstance(error, jax.errors.JaxRuntimeError) else type(error).__name__
    return one_line(f"{kind}: {text}" if kind else text) or f"{type(error).__name__}, no message"


def unavailable(refusal: str) -> bool:
    """Whether a message says that this build or device lacks the function."""
    return bool(UNAVAILABLE.search(refusal))
