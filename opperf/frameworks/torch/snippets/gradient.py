"""Backward passes of snippets, from the result that their signature names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from opperf.errors import NoGradientError
from opperf.frameworks.torch.gradient import Head
from opperf.frameworks.torch.tensors import tensors

NONE = (
    "no tensor that its setup makes requires a gradient of the result; make one with "
    "requires_grad=True"
)


class PythonGradient:
    """A statement of Python recorded by autograd, and its backward pass with fixed head gradients:
    `torch.autograd.grad` for all tensors that the setup made to require one."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._outputs: list[torch.Tensor] = []
        self.record()
        self._leaves = leaves(self._outputs)
        self._heads = [Head.of(output).tensor(output) for output in self._outputs]
        self.backward()
        self._outputs = []

    def record(self) -> None:
        self._outputs = [part for part in tensors(self._call()) if part.requires_grad]

    def backward(self) -> None:
        self.results()

    def results(self) -> tuple[torch.Tensor | None, ...]:
        """Returns the gradients of the last recorded call."""
        return torch.autograd.grad(self._outputs, self._leaves, self._heads, allow_unused=True)


class CompiledGradient:
    """A statement of C++ recorded by autograd, and its backward pass, both in C++."""

    def __init__(self, statement: Any) -> None:
        self.record = statement.run
        self.backward = statement.backward
        self.record()
        output = statement.result()
        if not output.requires_grad:
            raise NoGradientError(NONE)
        statement.prepare(tuple(leaves([output])), Head.of(output).tensor(output))
        self.backward()


def leaves(outputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Returns the tensors whose gradients autograd has of some results. Raises `NoGradientError` if
    there are none."""
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
