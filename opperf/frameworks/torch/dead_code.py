"""The data flow of an eager call: which operators reach no result, and are dropped by what compiles
a whole graph. A value is a storage: a view has its base's, and what is written in place goes where
it was. A result is what is still alive after the call, wherever that is."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from torch.utils import flop_counter

from opperf.frameworks import dead_code
from opperf.frameworks.dead_code import BACKWARD, FORWARD, TOTAL
from opperf.frameworks.torch import private
from opperf.frameworks.torch.tensors import tensors
from opperf.model import Note

CUBIC = ("linalg_", "cholesky", "triangular_solve", "lu_", "ormqr", "geqrf")
"""Beginnings of the names of operators whose operations are as the cube of a matrix's size."""


class _Storages:
    """The storages that were seen, which are not kept alive, though their addresses are."""

    def __init__(self) -> None:
        self._by_address: dict[int, Any] = {}

    def of(self, values: Any) -> list[Hashable]:
        """Returns the storages of the tensors among values; None for one that has several, as a
        sparse tensor has."""
        found: list[Hashable] = []
        for tensor in tensors(values):
            try:
                reference = private.STORAGE.get()(tensor.untyped_storage())
            except (NotImplementedError, RuntimeError):
                found.append(None)
                continue
            self._by_address.setdefault(reference.cdata, reference)
            found.append(reference.cdata)
        return found

    def alive(self) -> set[Hashable]:
        """Returns those that are alive; one that is not known may be."""
        known = self._by_address.items()
        return {None, *(at for at, reference in known if not reference.expired())}


class DataFlow(private.MODE.get()):  # type: ignore[misc]
    """Within it, operators are called one by one, and noted."""

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self._steps: list[dead_code.Step] = []
        self._storages = _Storages()

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        named = kwargs or {}
        # Before the call, in which an argument may get another storage.
        reads = self._storages.of([args, named])
        result = operator(*args, **named)
        writes = self._storages.of([result])
        if not private.is_overload(operator):
            self._steps.append(dead_code.Step(0.0, reads, writes, is_kept=True))
            return result
        if operator.is_view:
            return result
        schema = private.schema_of(operator)
        if schema.is_mutable:
            writes += reads
        work = _work(operator, args, named, result)
        self._steps.append(dead_code.Step(work, reads, writes, is_kept=not writes))
        return result

    def dead_share(self) -> float:
        """Returns the share of the work so far that reaches nothing that is alive, and forgets
        it."""
        share = dead_code.dead_share(self._steps, self._storages.alive())
        self._steps = []
        return share


def _work(operator: Any, args: Any, named: Any, result: Any) -> float:
    moved = sum(part.numel() * part.element_size() for part in tensors([args, named, result]))
    packet = operator.overloadpacket
    count = flop_counter.flop_registry.get(packet)
    operations = 0.0
    if count is not None:
        operations = float(count(*args, **named, out_val=result))
    elif packet.__name__.lstrip("_").startswith(CUBIC):
        first = next(tensors([args]), None)
        operations = (
            2.0 * first.numel() * first.shape[-1] if first is not None and first.dim() else 0
        )
    return dead_code.work_of(moved, operations)


def notes(call: Callable[[], Any], gradient: Callable[[], Any] | None) -> list[Note]:
    """Returns the notes on an eager call, and on its backward pass, if most of the work of one is
    dead."""
    found = dead_code.notes((FORWARD, TOTAL), _forward_share(call))
    if gradient is not None:
        found += dead_code.notes((BACKWARD,), _backward_share(gradient()))
    return found


def _forward_share(call: Callable[[], Any]) -> float:
    """Returns the share of the work of an eager call that reaches no result."""
    with DataFlow() as flow:
        result = call()
        share: float = flow.dead_share()
    del result
    return share


def _backward_share(gradient: Any) -> float:
    """Returns the share of the work of an eager backward pass that reaches no gradient."""
    with DataFlow() as flow:
        gradient.record()
        flow.dead_share()
        results = gradient.backward()
        share: float = flow.dead_share()
    del results
    return share
