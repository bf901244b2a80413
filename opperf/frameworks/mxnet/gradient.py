"""MXNet's autograd: a recorded call and its backward pass."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import mxnet as mx
import numpy as np

from opperf.errors import NoGradientError, one_line
from opperf.frameworks.mxnet.messages import refusal
from opperf.frameworks.mxnet.tensors import dtype_name, storage_type, tensor
from opperf.model import Fill, TensorSpec

HEADS = Fill("uniform", 0.5, 1.5)
"""Head gradients: random, so that no gradient cancels by symmetry, and away from zero, so that a
zero gradient is the operator's own."""


def flatten(outputs: Any) -> list[Any]:
    """The arrays among a call's results, lists and tuples opened."""
    if isinstance(outputs, (list, tuple)):
        return [array for output in outputs for array in flatten(output)]
    return [outputs] if isinstance(outputs, mx.nd.NDArray) else []


class RecordedGradient:
    """A call recorded by autograd, and its backward pass with fixed head gradients."""

    def __init__(
        self,
        call: Callable[[], Any],
        inputs: Sequence[Any],
        train: bool,
        device: str,
        layouts: Sequence[str] = (),
    ) -> None:
        """`layouts` are those of the inputs' gradients, where they are not the inputs' own."""
        if not inputs:
            raise NoGradientError("none of its inputs takes a gradient")
        self._call, self._train = call, train
        self._outputs: list[Any] = []
        self._heads: list[Any] = []
        try:
            for array, layout in zip(inputs, layouts or itertools.repeat(""), strict=False):
                # Arrays of `mx.np` know no layouts.
                array.attach_grad(**({"stype": storage_type(layout)} if layout else {}))
            self.record()
            self._heads = [self._head(output, device) for output in self._outputs]
            self.backward()
            mx.nd.waitall()
            zero = not any(np.any(_stored(array.grad)) for array in inputs)
        except Exception as error:
            reason = refusal(error)
            if reason is None:
                raise
            raise NoGradientError(one_line(reason)) from error
        finally:
            self._outputs = []
        if zero:
            raise NoGradientError("its gradient is zero everywhere")

    @staticmethod
    def _head(output: Any, device: str) -> Any:
        """The head gradient of an output, in the places that it stores: a sparse output's is
        sparse."""
        stored = output if output.stype == "default" else output.data
        spec = TensorSpec(
            tuple(stored.shape),
            dtype_name(output.dtype),
            HEADS,
            array_type="np" if isinstance(output, mx.np.ndarray) else "",
        )
        values = tensor(spec, device, seed=0)
        if output.stype == "csr":
            csr = (values, output.indices, output.indptr)
            return mx.nd.sparse.csr_matrix(csr, shape=output.shape, ctx=output.ctx)
        if output.stype == "row_sparse":
            rows = (values, output.indices)
            return mx.nd.sparse.row_sparse_array(rows, shape=output.shape, ctx=output.ctx)
        return values

    def record(self) -> None:
        """Run and record the forward call."""
        self._outputs = []
        with mx.autograd.record(train_mode=self._train):
            self._outputs = flatten(self._call())

    def backward(self) -> None:
        """Compute the gradients of the last recorded call."""
        mx.autograd.backward(self._outputs, self._heads, train_mode=self._train)


def _stored(array: Any) -> Any:
    """The stored values of a gradient; a zero if there is none."""
    if array is None:
        return np.zeros(1)
    return (array if array.stype == "default" else array.data).asnumpy()
