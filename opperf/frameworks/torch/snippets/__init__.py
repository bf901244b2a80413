"""Snippets of Python and C++ in PyTorch: their calls and gradients."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from opperf.errors import NoGradientError, UnsupportedError, UsageError, one_line
from opperf.frameworks import snippet_code
from opperf.frameworks.base import Gradient
from opperf.frameworks.torch.gradient import Gradients, head
from opperf.frameworks.torch.snippets import building
from opperf.frameworks.torch.tensors import tensors
from opperf.model import Case, SnippetTarget

NONE = (
    "no tensor that its setup makes requires a gradient of the result; make one with "
    "requires_grad=True"
)


class PythonGradient:
    """A statement recorded by autograd, and its backward pass for the tensors of the setup."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._outputs: list[torch.Tensor] = []
        self.record()
        self._leaves = leaves(self._outputs)
        self.heads = [head(output) for output in self._outputs]
        self.backward()
        self._outputs = []

    def record(self) -> None:
        self._outputs = [part for part in tensors(self._call()) if part.requires_grad]

    def backward(self) -> Gradients:
        return torch.autograd.grad(self._outputs, self._leaves, self.heads, allow_unused=True)

    def read(self, returned: Gradients) -> Gradients:
        return returned


class CompiledGradient:
    """A statement of C++ recorded by autograd, and its backward pass, both in C++."""

    def __init__(self, statement: Any) -> None:
        self.record = statement.run
        self.backward = statement.backward
        self.record()
        output = statement.result()
        if not output.requires_grad:
            raise NoGradientError(NONE)
        statement.prepare(tuple(leaves([output])), head(output))
        self.backward()


def leaves(outputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Returns the tensors whose gradients autograd has. Raises `NoGradientError`."""
    found: dict[int, torch.Tensor] = {}
    waiting: list[Any] = []
    for output in outputs:
        if output.grad_fn is not None:
            waiting.append(output.grad_fn)
        elif output.requires_grad:
            found[id(output)] = output
    # Nodes are Python objects made anew at each access, and equal if they are the same node.
    seen = set(waiting)
    while waiting:
        node = waiting.pop()
        # Only the node of a leaf has it.
        variable = getattr(node, "variable", None)
        if variable is not None:
            found[id(variable)] = variable
        following = {one for one, _ in node.next_functions if one is not None} - seen
        seen |= following
        waiting += following
    if not found:
        raise NoGradientError(NONE)
    return list(found.values())


def script(model: Any) -> Any:
    """Returns the program of a module or function. Raises `UsageError` for what cannot be one."""
    try:
        return torch.jit.script(model)
    except Exception as error:
        raise UsageError(f"TorchScript does not take it: {one_line(str(error))}") from error


def program_of(target: SnippetTarget, names: Mapping[str, Any]) -> bytes:
    """Returns the program that a snippet of C++ calls, as a file. Raises as `script`."""
    buffer = io.BytesIO()
    torch.jit.save(script(snippet_code.make_model(target, dict(names))), buffer)
    return buffer.getvalue()


NAMES = {"torch": torch}
"""Variables of every snippet of Python."""

CPP = "c++"


def bind(case: Case, arguments: Mapping[str, Any]) -> Callable[[], Any]:
    """Returns a function that runs a case's snippet once, after its setup. Raises
    `UnsupportedError` for a mode in which it cannot run, and for C++ without a compiler;
    `UsageError` for code that cannot be compiled; and what its setup raises."""
    target = case.target
    assert isinstance(target, SnippetTarget)
    mode = "script" if target.model else "eager"
    if case.settings.mode != mode:
        raise UnsupportedError(
            f"mode {case.settings.mode}: this snippet is for --mode {mode}; its definition makes "
            "others with torchscript=True"
        )
    if target.language == CPP:
        program = program_of(target, NAMES) if target.model else b""
        return building.statement_of(target, program).run  # type: ignore[no-any-return]
    namespace = snippet_code.variables_of(target, {**NAMES, **arguments})
    if target.model:
        snippet_code.make_model(target, namespace)
        namespace[snippet_code.MODEL] = script(namespace[snippet_code.MODEL])
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
