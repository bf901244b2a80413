"""The data flow of an eager call: which operators reach no result, and are dropped by what compiles
a whole graph. A value is a storage: a view has its base's, and what is written in place goes where
it was. A result is what is still alive after the call, wherever that is."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any

import torch

from opperf.frameworks import dead_code
from opperf.frameworks.dead_code import BACKWARD, FORWARD, TOTAL
from opperf.frameworks.torch import flops, private
from opperf.frameworks.torch.tensors import tensors
from opperf.model import Note

COPY = "clone"
"""An elementwise operator that Inductor makes a view of what it copies, which it computes whole."""

READ_IN_PART = ("embedding", "gather", "index", "index_select", "take")
"""Operators that read as many elements of the first tensor as they return."""

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
            except RuntimeError:
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

    def __init__(self, fuses: bool = False, merges: bool = False) -> None:
        """`fuses` and `merges` say what the compiler does: it computes those elements alone that
        fused operators read, and calls of the same operator on the same values once."""
        super().__init__()
        self._fuses, self._merges = fuses, merges
        self._steps: list[dead_code.Step] = []
        self._storages = _Storages()
        self._numbers: dict[Hashable, Hashable] = {}
        """By storage, what is the same of equal values."""
        self._made: dict[Hashable, list[Hashable]] = {}
        """The storages that the first of equal calls has written."""

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        named = kwargs or {}
        # Before the call, in which an argument may get another storage.
        reads = self._storages.of([args, named])
        shares = [_share_of(tensor) for tensor in tensors([args, named])] if self._fuses else []
        call = self._call(operator, reads, args, named) if self._merges else None
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
            self._numbers |= {storage: object() for storage in writes}
        step = dead_code.Step(_work(operator, args, named, result), reads, writes, not writes)
        if self._fuses and not schema.is_mutable:
            step = _fused(step, operator, shares, _part(result, args))
        if call is not None and writes:
            first = self._made.setdefault(call, writes)
            step = step._replace(repeats=first if first is not writes else ())
            numbers = [self._numbers.get(storage, storage) for storage in first]
            self._numbers |= dict(zip(writes, numbers, strict=False))
        self._steps.append(step)
        return result

    def _call(self, operator: Any, reads: list[Hashable], args: Any, named: Any) -> Hashable | None:
        """Returns what is the same of equal calls; None for one that another may not stand for."""
        is_pure = private.is_overload(operator) and not private.schema_of(operator).is_mutable
        if not is_pure or torch.Tag.nondeterministic_seeded in operator.tags or None in reads:
            return None
        numbers = [self._numbers.get(storage, storage) for storage in reads]
        views = [
            (tensor.dtype, tensor.size(), tensor.stride(), tensor.storage_offset())
            for tensor in tensors([args, named])
        ]
        leaves, structure = private.FLATTEN.get()((args, named))
        plain = [leaf for leaf in leaves if not isinstance(leaf, torch.Tensor)]
        return operator, tuple(numbers), repr((views, plain, structure))

    def removed(self) -> dead_code.Removed:
        """Returns the shares of the work so far that a compiler removes, and forgets it."""
        share = dead_code.removed(self._steps, self._storages.alive())
        self._steps = []
        return share


def _share_of(tensor: torch.Tensor) -> float:
    """Returns the share of its storage that a tensor covers; 1 where it has none, or several."""
    stored = _stored(tensor)
    if not stored:
        return 1.0
    pairs = zip(tensor.size(), tensor.stride(), strict=True)
    elements = math.prod(extent for extent, stride in pairs if stride)
    return min(1.0, elements * tensor.element_size() / stored)


def _part(result: Any, args: Any) -> float:
    sizes = [_stored(next(tensors([values]), None)) for values in (result, args)]
    return min(1.0, sizes[0] / sizes[1]) if all(sizes) else 1.0


def _stored(tensor: torch.Tensor | None) -> int:
    """Returns the bytes of a tensor's storage; zero where it has none, or several."""
    try:
        return 0 if tensor is None else tensor.untyped_storage().nbytes()
    except RuntimeError:
        return 0


def _fused(step: dead_code.Step, operator: Any, shares: list[float], part: float) -> dead_code.Step:
    """Returns a step that is computed with those that it reads from, if it is of such a kind.
    `part` is the size of its result, as a share of its first tensor's storage."""
    name = operator.overloadpacket.__name__
    is_elementwise = torch.Tag.pointwise in operator.tags and name != COPY
    if name in READ_IN_PART:
        shares = [min(shares[0], part), *shares[1:]]
    if is_elementwise or torch.Tag.reduction in operator.tags or name in READ_IN_PART:
        return step._replace(shares=shares, is_elementwise=is_elementwise)
    return step


def _work(operator: Any, args: Any, named: Any, result: Any) -> float:
    moved = sum(part.numel() * part.element_size() for part in tensors([args, named, result]))
    operations = flops.count_call(operator, args, named, result) or 0.0
    if not operations and operator.overloadpacket.__name__.lstrip("_").startswith(CUBIC):
        first = next(tensors([args]), None)
        operations = (
            2.0 * first.numel() * first.shape[-1] if first is not None and first.dim() else 0
        )
    return dead_code.work_of(moved, operations)


def notes(
    call: Callable[[], Any],
    gradient: Callable[[], Any] | None,
    fuses: bool = False,
    merges: bool = False,
) -> list[Note]:
    """Returns the notes on an eager call, and on its backward pass, if a compiler removes most of
    the work of one; `fuses` and `merges` as of `DataFlow`."""
    with DataFlow(fuses, merges) as flow:
        results = call()
        found = dead_code.notes((FORWARD, TOTAL), flow.removed())
    del results
    if gradient is not None:
        made = gradient()
        with DataFlow(fuses, merges) as flow:
            made.record()
            flow.removed()
            results = made.backward()
            found += dead_code.notes((BACKWARD,), flow.removed())
        del results
    return found
