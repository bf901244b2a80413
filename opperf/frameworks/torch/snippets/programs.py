"""TorchScript programs of snippets' models."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import torch

from opperf.errors import UsageError, one_line
from opperf.frameworks import snippet_code
from opperf.model import SnippetTarget


def script(model: Any) -> Any:
    """Returns the program of a module or function. Raises `UsageError` if TorchScript does not take
    it."""
    try:
        return torch.jit.script(model)
    except Exception as error:
        raise UsageError(f"TorchScript does not take it: {one_line(str(error))}") from error


def program_of(target: SnippetTarget, names: Mapping[str, Any]) -> bytes:
    """Returns the program that a snippet of C++ calls, as a file of TorchScript. Raises what
    `script` raises, and what the model's code raises."""
    buffer = io.BytesIO()
    torch.jit.save(script(snippet_code.make_model(target, dict(names))), buffer)
    return buffer.getvalue()
