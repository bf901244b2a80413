"""Operators written in Python by other interfaces than `Custom`: each adds one to its input.

They copy in place: a new array would be freed by another thread, at any time, which would make the
operator's peak memory random.
"""

from __future__ import annotations

from typing import Any

import mxnet as mx


class NumpyAddOne(mx.operator.NumpyOp):  # type: ignore[misc]
    """On NumPy arrays."""

    def forward(self, in_data: list[Any], out_data: list[Any]) -> None:
        out_data[0][:] = in_data[0]
        out_data[0] += 1

    def backward(
        self, out_grad: list[Any], in_data: list[Any], out_data: list[Any], in_grad: list[Any]
    ) -> None:
        in_grad[0][:] = out_grad[0]


class NDArrayAddOne(mx.operator.NDArrayOp):  # type: ignore[misc]
    """On MXNet's arrays."""

    def forward(self, in_data: list[Any], out_data: list[Any]) -> None:
        in_data[0].copyto(out_data[0])
        out_data[0] += 1

    def backward(
        self, out_grad: list[Any], in_data: list[Any], out_data: list[Any], in_grad: list[Any]
    ) -> None:
        out_grad[0].copyto(in_grad[0])


class AddOne(mx.autograd.Function):  # type: ignore[misc]
    """Called at once; only its gradient is an operator that calls back."""

    def forward(self, x: Any) -> Any:
        return x + 1

    def backward(self, gradient: Any) -> Any:
        return gradient
