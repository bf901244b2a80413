"""JAX's error messages, without stacks and links to its documentation."""

from __future__ import annotations

import re

import jax

from opperf.errors import one_line
from opperf.frameworks import base

REFUSALS = (
    *(AssertionError, *base.REFUSALS),
    *(jax.errors.JAXTypeError, jax.errors.JAXIndexError, jax.errors.JaxRuntimeError),
)
"""Raised by JAX for arguments that it does not accept."""

NOISE = re.compile(
    r"\nSee https?://|\nThe error occurred while tracing|\nThis BatchTracer|"
    r"\nThis concrete value was not available|\nTo silence|\n-{10,}"
)
"""Beginning of what follows a message."""

EAGER_ONLY = "use --mode eager"
"""End of the message for a call that runs, but cannot be compiled."""

OUTSIDE = "it reads its arrays outside of JAX"

NEEDS_DATA: tuple[tuple[type[Exception], str], ...] = (
    (
        jax.errors.TracerBoolConversionError,
        "what it computes depends on its data, which a compiled program does not have",
    ),
    (jax.errors.ConcretizationTypeError, "the shape of its result depends on its data"),
    (jax.errors.NonConcreteBooleanIndexError, "the shape of its result depends on its data"),
    (jax.errors.TracerArrayConversionError, OUTSIDE),
    (jax.errors.TracerIntegerConversionError, "it needs a number of its data as a Python integer"),
)
"""Why a function cannot be compiled, by JAX's error; the first that matches counts."""

FOREIGN = re.compile(
    r"^a bytes-like object is required, not '\w+Tracer'|Tracer has no attribute __|"
    r"must have `?__dlpack__"
)
"""Messages of functions that read an array's memory, of which there is none while JAX compiles."""

STACK = re.compile(r"Traceback \(most recent call last\):\n(?: +.*\n)*")
"""The stack of an error in a callback, which XLA has in its message."""

UNAVAILABLE = re.compile(
    rf"{EAGER_ONLY}$|"
    r"MLIR translation rule for primitive '\S+' not found for platform|"
    r"UNIMPLEMENTED|[Nn]ot implemented (?:on|for) (?:the )?(?:CPU|GPU|TPU|cpu|gpu|tpu)|"
    r"is (?:only|not) (?:implemented|supported|available) (?:on|for) (?:the )?(?:CPU|GPU|TPU)|"
    r"[Uu]nsupported lowering for|requires? (?:a )?(?:GPU|TPU)|Unknown backend"
)
"""Messages for a function that this build, device or mode lacks."""


def refusal(error: BaseException) -> str | None:
    """Returns JAX's message, as one line, if the error is a refusal of a call; else None."""
    if not isinstance(error, REFUSALS):
        return None
    why = next((why for kind, why in NEEDS_DATA if isinstance(error, kind)), "")
    if why or FOREIGN.search(str(error)):
        return f"{why or OUTSIDE}: {EAGER_ONLY}"
    text = NOISE.split(STACK.sub("", str(error)))[0]
    kind = "" if isinstance(error, jax.errors.JaxRuntimeError) else type(error).__name__
    return one_line(f"{kind}: {text}" if kind else text) or f"{type(error).__name__}, no message"
