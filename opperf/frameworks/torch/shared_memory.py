"""Tensors over memory that another process sees, their addresses, and the operators of a call."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from opperf.frameworks.torch import private
from opperf.frameworks.torch.devices import dtype_of
from opperf.frameworks.torch.tensors import NUMPY_DTYPES


def shared(array: Any, dtype: str) -> torch.Tensor:
    """Returns a tensor over an array's memory, whose bytes are elements of the dtype."""
    if dtype in NUMPY_DTYPES:
        return torch.from_numpy(array)
    # Of as many bits, as PyTorch has few unsigned dtypes.
    return torch.from_numpy(array.view(f"int{8 * array.itemsize}")).view(dtype_of(dtype))


def address(value: Any) -> int | None:
    """Returns the address of a contiguous tensor on the CPU whose bytes are its numbers."""
    if type(value) is not torch.Tensor or not value.is_cpu or not value.is_contiguous():
        return None
    if value.is_conj() or value.is_neg() or value.is_quantized or private.IS_ZERO.get()(value):
        return None
    return value.data_ptr()


def called(call: Callable[[], object]) -> tuple[str, ...]:
    """Returns the names of the operators that a call calls, each once, in their order."""
    names: dict[str, None] = {}

    class Called(private.MODE.get()):  # type: ignore[misc]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            # It imports the compiler, for seconds, of which nothing that is not compiled has need.
            return "torch._dynamo" in sys.modules

        def __torch_dispatch__(
            self, operator: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            names[operator.name()] = None
            return operator(*args, **(kwargs or {}))

    with Called():
        call()
    return tuple(names)
