"""PyTorch's error messages, without stacks and advice for its developers."""

from __future__ import annotations

import re

import torch

from opperf.errors import one_line
from opperf.frameworks import base

REFUSALS = (RuntimeError, AssertionError, *base.REFUSALS)
"""Raised by PyTorch for arguments that it does not accept. Its own errors are RuntimeErrors."""

NOISE = re.compile(
    r"Exception raised from |C\+\+ CapturedTraceback|CUDA kernel errors might be|"
    r"For debugging consider|Compile with `TORCH_USE_CUDA_DSA`|This could be because the operator|"
    r"\s*Declaration: |\nCast error details|If you are a Facebook employee|"
    # The compiler's.
    r"\n\s*Hint: |\n\s*Developer debug context: |\n+from user code:|\n+Set TORCHDYNAMO_VERBOSE|"
    r"\nCaused by: |\n+consider using data-dependent|\n+The branch condition"
)
"""Beginning of what follows a message."""

INTERNAL = re.compile(
    r"INTERNAL ASSERT FAILED at \"[^\"]*\":\d+, please report a bug to PyTorch\. ?"
)

NARRATED = re.compile(
    r"^.*?\n\s*Explanation: (?:Dynamo failed to run FX node .*?: got )?", re.DOTALL
)
"""The text before the compiler's explanation, and before the error that it found in a call."""

UNAVAILABLE = re.compile(
    r"Could not run '\S+' with arguments from the|not compiled with|not implemented on|"
    r"is not available|no kernel found|requires? .*\b(CUDA|FBGEMM|fbgemm|MKL|XPU|MPS)\b|"
    r"ATen not compiled with|built without|[Dd]idn't find engine for operation|"
    r"Cannot access accelerator device when none|Found no NVIDIA driver|"
    r"Invalid scaling configuration|CPU does not support"
)
"""Messages for an operator that this build or device lacks."""


def refusal(error: BaseException) -> str | None:
    """Returns PyTorch's message, as one line, if the error is a refusal of a call; else None."""
    if not isinstance(error, REFUSALS):
        return None
    text = INTERNAL.sub("PyTorch's check failed. ", NARRATED.sub("", NOISE.split(str(error))[0]))
    # RuntimeError says nothing that the message does not.
    kind = "" if type(error) in (RuntimeError, torch.OutOfMemoryError) else type(error).__name__
    return one_line(f"{kind}: {text}" if kind else text) or f"{type(error).__name__}, no message"
