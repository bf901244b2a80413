"""Snippets of Python and C++ in PyTorch: their calls and gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from opperf.errors import UnsupportedError
from opperf.frameworks import snippet_code
from opperf.frameworks.base import Gradient
from opperf.frameworks.torch.snippets import building, programs
from opperf.frameworks.torch.snippets.gradient import CompiledGradient, PythonGradient
from opperf.model import Case, SnippetTarget

NAMES = {"torch": torch}
"""Variables of every snippet of Python."""

CPP = "c++"


def bind(case: Case, arguments: Mapping[str, Any]) -> Callable[[], Any]:
    """Returns a function without parameters that runs a case's snippet once, after its setup.

    Raises `UnsupportedError` for a mode in which it cannot run, and for C++ without a compiler;
    `UsageError` for code that cannot be compiled; and what its setup raises.
    """
    target = case.target
    assert isinstance(target, SnippetTarget)
    mode = "script" if target.model else "eager"
    if case.settings.mode != mode:
        raise UnsupportedError(
            f"mode {case.settings.mode}: this snippet is for --mode {mode}; its definition makes "
            "others with torchscript=True"
        )
    if target.language == CPP:
        program = programs.program_of(target, NAMES) if target.model else b""
        return building.statement_of(target, program).run  # type: ignore[no-any-return]
    namespace = snippet_code.variables_of(target, {**NAMES, **arguments})
    if target.model:
        snippet_code.make_model(target, namespace)
        namespace[snippet_code.MODEL] = programs.script(namespace[snippet_code.MODEL])
    return snippet_code.function_of(target, namespace)


def gradient(case: Case, call: Callable[[], Any]) -> Gradient:
    """Returns the gradient of a snippet that `bind` made. Raises `NoGradientError`."""
    assert isinstance(case.target, SnippetTarget)
    if case.target.language == CPP:
        return CompiledGradient(call.__self__)  # type: ignore[attr-defined]
    return PythonGradient(call)


def build(cases: Sequence[Case]) -> None:
    """Compiles the snippets of C++ among the targets that are not in the cache."""
    building.build(
        [
            case.target
            for case in cases
            if isinstance(case.target, SnippetTarget) and case.target.language == CPP
        ]
    )
