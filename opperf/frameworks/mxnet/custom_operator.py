"""`CustomAddOne`: a custom operator that adds one, to measure what a custom operator costs."""

from __future__ import annotations

from typing import Any

import mxnet as mx

NAME = "CustomAddOne"

Arrays = list[Any]


class CustomAddOne(mx.operator.CustomOp):  # type: ignore[misc]
    """Adds one to its input; passes the gradient on unchanged."""

    def forward(
        self, is_train: bool, req: list[str], in_data: Arrays, out_data: Arrays, aux: Arrays
    ) -> None:
        self._write(out_data[0], req[0], in_data[0])
        if req[0] != "null":
            out_data[0] += 1

    def backward(
        self,
        req: list[str],
        out_grad: list[Any],
        in_data: list[Any],
        out_data: list[Any],
        in_grad: list[Any],
        aux: list[Any],
    ) -> None:
        self._write(in_grad[0], req[0], out_grad[0])

    def _write(self, target: Any, request: str, source: Any) -> None:
        """Copy in place: an array of its own would be freed by another thread, at any time, and
        the operator's peak of memory be a matter of chance."""
        if request in ("write", "inplace"):
            source.copyto(target)
        else:
            self.assign(target, request, source)


@mx.operator.register(NAME)
class CustomAddOneProp(mx.operator.CustomOpProp):  # type: ignore[misc]
    """The declaration of `CustomAddOne`: one input, one output of its shape."""

    def __init__(self) -> None:
        super().__init__(need_top_grad=True)

    def list_arguments(self) -> list[str]:
        return ["data"]

    def list_outputs(self) -> list[str]:
        return ["output"]

    def infer_shape(self, in_shape: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        return in_shape, [in_shape[0]], []

    def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> CustomAddOne:
        return CustomAddOne()
