"""MXNet's autograd: a recorded call and its backward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mxnet as mx
import numpy as np

from opperf.errors import NoGradientError, one_line
from opperf.frameworks.mxnet.messages import refusal
from opperf.frameworks.mxnet.tensors import dtype_name, tensor
from opperf.model import Fill, TensorSpec

HEADS = Fill("uniform", 0.5, 1.5)
"""Head gradients: random, so that no gradient cancels by symmetry, and away from zero, so that a
zero gradient is the operator's own."""


HEAD_SEED = 0


def flatten(outputs: Any) -> list[Any]:
    """The arrays among a call's results, lists and tuples opened."""
    return list(by_place(outputs).values())


def by_place(outputs: Any, place: str = "") -> dict[str, Any]:
    """The arrays among a call's results, by their places in source: `[1][0]`, or empty."""
    if isinstance(outputs, (list, tuple)):
        found: dict[str, Any] = {}
        for number, output in enumerate(outputs):
            found |= by_place(output, f"{place}[{number}]")
        return found
    return {place: outputs} if isinstance(outputs, mx.nd.NDArray) else {}


def head_specs(call: Callable[[], Any], train: bool) -> dict[str, TensorSpec]:
    """The head gradients of a call, which is made once, by the places of its outputs."""
    with mx.autograd.record(train_mode=train):
        outputs = call()
    return {place: head_spec(output) for place, output in by_place(outputs).items()}


def head_spec(output: Any) -> TensorSpec:
    """The head gradient of an output."""
    return TensorSpec(
        tuple(output.shape),
        dtype_name(output.dtype),
        HEADS,
        array_type="np" if isinstance(output, mx.np.ndarray) else "",
    )


class RecordedGradient:
    """A call recorded by autograd, and its backward pass with fixed head gradients."""

    def __init__(
        self, call: Callable[[], Any], inputs: Sequence[Any], train: bool, device: str
    ) -> None:
        if not inputs:
            raise NoGradientError("none of its inputs takes a gradient")
        self._call, self._train = call, train
        self._outputs: list[Any] = []
        self._heads: list[Any] = []
        try:
            for array in inputs:
                array.attach_grad()
            self.record()
            self._heads = [tensor(head_spec(output), device, HEAD_SEED) for output in self._outputs]
            self.backward()
            mx.nd.waitall()
            zero = not any(np.any(_dense(array.grad)) for array in inputs)
        except Exception as error:
            reason = refusal(error)
            if reason is None:
                raise
            raise NoGradientError(one_line(reason)) from error
        finally:
            self._outputs = []
        if zero:
            raise NoGradientError("its gradient is zero everywhere")

    def record(self) -> None:
        """Run and record the forward call."""
        self._outputs = []
        with mx.autograd.record(train_mode=self._train):
            self._outputs = flatten(self._call())

    def backward(self) -> None:
        """Compute the gradients of the last recorded call."""
        mx.autograd.backward(self._outputs, self._heads, train_mode=self._train)


def _dense(array: Any) -> Any:
    return array.asnumpy() if array is not None else np.zeros(1)
