"""PyTorch's autograd: a recorded call and its backward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from opperf.errors import NoGradientError, one_line
from opperf.frameworks.torch.messages import refusal
from opperf.frameworks.torch.tensors import layout_of, tensors

HEAD_SEED = 0

LEAST_HEAD = 0.5
"""Head gradients are random in [0.5, 1.5), so that no gradient cancels by symmetry or is zero."""


def _head(output: torch.Tensor) -> torch.Tensor:
    """Returns the head gradient of an output, of its layout."""
    if layout_of(output) != "dense":
        return torch.ones_like(output)
    generator = torch.Generator(output.device).manual_seed(HEAD_SEED)
    real = torch.rand(output.shape, device=output.device, generator=generator) + LEAST_HEAD
    return real.to(output.dtype)


class RecordedGradient:
    """A call recorded by autograd, and its backward pass with fixed head gradients.

    The gradients are those of `torch.autograd.grad`, which makes new tensors of them: adding to
    `.grad` would be a second operator's time.
    """

    def __init__(self, call: Callable[[], Any], inputs: Sequence[torch.Tensor]) -> None:
        self._call = call
        self._inputs = [*inputs, *_parameters(call)]
        self._outputs: list[torch.Tensor] = []
        self._heads: list[torch.Tensor] = []
        if not self._inputs:
            raise NoGradientError("none of its inputs takes a gradient")
        try:
            self.record()
            if not self._outputs:
                raise NoGradientError("autograd has no gradient of its results")
            self._heads = [_head(output) for output in self._outputs]
            found = self._gradients()
        except Exception as error:
            reason = refusal(error)
            if reason is None:
                raise
            raise NoGradientError(one_line(reason)) from error
        finally:
            self._outputs = []
            for one in inputs:
                one.requires_grad_(False)
        if all(one is None for one in found):
            raise NoGradientError("its results do not depend on an input that takes a gradient")

    def record(self) -> None:
        """Runs and records the forward call."""
        self._outputs = []
        for one in self._inputs:
            one.requires_grad_(True)
        self._outputs = [one for one in tensors(self._call()) if one.requires_grad]

    def backward(self) -> None:
        """Computes the gradients of the last recorded call."""
        self._gradients()

    def _gradients(self) -> tuple[torch.Tensor | None, ...]:
        return torch.autograd.grad(self._outputs, self._inputs, self._heads, allow_unused=True)


def _parameters(call: Callable[[], Any]) -> list[torch.Tensor]:
    """Returns the parameters of the module that a call calls; none for any other callable."""
    function = call.func if isinstance(call, partial) else call
    if not isinstance(function, torch.nn.Module):
        return []
    return [one for one in function.parameters() if one.requires_grad]
