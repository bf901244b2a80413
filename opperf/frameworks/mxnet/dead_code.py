"""The data flow of a hybridized block whose operators are called one by one: those that reach no
result are not in its graph, which is made from its results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mxnet as mx

from opperf.frameworks import dead_code
from opperf.frameworks.base import Extent
from opperf.frameworks.dead_code import FORWARD, TOTAL
from opperf.frameworks.mxnet import private
from opperf.frameworks.mxnet.recorder import INVOKE, operators_by_handle, replace
from opperf.frameworks.mxnet.tensors import extents
from opperf.model import Note

PRODUCTS = frozenset(
    {
        *("FullyConnected", "batch_dot", "dot", "linalg_gemm", "linalg_gemm2"),
        *("_linalg_gemm", "_linalg_gemm2", "_npi_dot", "_npi_matmul", "_npi_tensordot"),
    }
)
"""Operators that multiply two matrices."""

CONVOLUTIONS = frozenset({"Convolution", "Deconvolution"})


class DataFlow:
    """The operators that were called, with all their arrays: the memory of none has another's."""

    def __init__(self) -> None:
        self.steps: list[dead_code.Step] = []
        self._kept: list[Any] = []
        self._memory: list[Extent] = []

    def values(self, arrays: Any) -> list[int]:
        """Returns the numbers of the memory of arrays; that of a view is its base's."""
        found = []
        for extent in extents(arrays):
            shared = (i for i, one in enumerate(self._memory) if one.shares_memory_with(extent))
            place = next(shared, None)
            if place is None:
                place = len(self._memory)
                self._memory.append(extent)
            found.append(place)
        return found

    def calling(self, invoke: Callable[..., Any]) -> Callable[..., Any]:
        def call(handle: int, arrays: Sequence[Any], *more: Any) -> Any:
            made = invoke(handle, arrays, *more)
            results = list(made) if isinstance(made, (list, tuple)) else [made]
            self._kept += [*arrays, *results]
            operator = operators_by_handle().get(handle)
            work = _work(operator.name if operator else "", arrays, results)
            reads, writes = self.values(list(arrays)), self.values(results)
            # A view has nothing to write.
            if not set(writes) <= set(reads):
                self.steps.append(dead_code.Step(work, reads, writes))
            return made

        return call


def _work(name: str, arrays: Sequence[Any], results: Sequence[Any]) -> float:
    moved = sum(extent.bytes for extent in extents([*arrays, *results]))
    operations = 0.0
    if name in PRODUCTS and len(arrays) > 1:
        # Each extent is one of two of the three matrices.
        operations = 2.0 * math.sqrt(math.prod(array.size for array in (*arrays[:2], results[0])))
    elif name in CONVOLUTIONS:
        weights = arrays[1]
        operations = 2.0 * results[0].size * weights.size / max(1, weights.shape[0])
    return dead_code.work_of(moved, operations)


def notes(call: Callable[[], Any]) -> list[Note]:
    """Returns the notes on a call of a hybridized block, if most of its work is dead."""
    hybrid, flow = mx.gluon.HybridBlock, DataFlow()
    if not hasattr(hybrid, private.CACHED):
        # A version whose graphs are called by another name.
        return []
    restore = [
        replace(private.REGISTERING.get(), INVOKE, flow.calling),
        replace(hybrid, private.CACHED, private.one_by_one),
    ]
    try:
        results = call()
    finally:
        for undo in restore:
            undo()
    live = flow.values(results if isinstance(results, (list, tuple)) else [results])
    return dead_code.notes((FORWARD, TOTAL), dead_code.removed(flow.steps, set(live)))
