"""Operators written in Python, in the ways there are beside `Custom`: each adds one to its input.

They copy in place: an array of its own would be freed by another thread, at any time, and the
operator's peak of memory be a matter of chance.
"""

from __future__ import annotations

from typing import Any

import mxnet as mx


class NumpyAddOne(mx.operator.NumpyOp):  # type: ignore[misc]
    """Given NumPy arrays."""

    def forward(self, in_data: list[Any], out_data: list[Any]) -> None:
        out_data[0][:] = in_data[0]
        out_data[0] += 1

    def backward(
        self, out_grad: list[Any], in_data: list[Any], out_data: list[Any], in_grad: list[Any]
    ) -> None:
        in_grad[0][:] = out_grad[0]


class NDArrayAddOne(mx.operator.NDArrayOp):  # type: ignore[misc]
    """Given MXNet's arrays."""

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
