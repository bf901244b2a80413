"""The flow of tensors through PyTorch's calls. A memory is a storage, of which weak references are
kept: until these go, no other storage has its identity, and none of its bytes are kept."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import torch

from opperf.frameworks.base import CallArguments
from opperf.frameworks.calls import RecordedCall, Site
from opperf.frameworks.flow import POINTWISE, PRODUCER, Flow, FlowCall, FoundChain, Kind, Memory
from opperf.frameworks.torch import categories, private, schemas
from opperf.frameworks.torch.tensors import tensors

ELEMENTWISE = frozenset({"_to_copy", "copy", "copy_", "native_dropout"})
"""Operators that compute each element from those at its place, and lack PyTorch's tag."""


class _Traits(NamedTuple):
    """Facts about an operator by its schema and tags."""

    names: tuple[str, ...]
    """Of its arguments."""
    written: frozenset[str]
    ignored: frozenset[str]
    """Those that it writes to and does not read."""
    kind: Kind


@functools.cache
def _traits(func: Any) -> _Traits:
    schema = private.schema_of(func)
    written = frozenset(schemas.written_to(schema))
    results = frozenset(argument.name for argument in schema.arguments if argument.is_out)
    names = tuple(argument.name for argument in schema.arguments)
    return _Traits(names, written, results, _kind(func))


def _kind(func: Any) -> Kind:
    name = func.overloadpacket.__name__
    if torch.Tag.pointwise in func.tags or name in ELEMENTWISE:
        return POINTWISE
    # Version 2.5 has no tag of reductions.
    is_reduction = getattr(torch.Tag, "reduction", None) in func.tags
    return PRODUCER if is_reduction or categories.is_producer(name) else ""


class TorchFlow:
    """The flow of a step's tensors."""

    def __init__(self) -> None:
        self._flow = Flow()
        self._storages: dict[int, Any] = {}
        self._forms: dict[Hashable, int] = {}
        """Numbers of equal forms: a step has few, and many tensors."""
        self._freed_at_cut: set[Hashable] | None = None
        """Later calls, of which none is kept, may read what is freed after them."""

    @property
    def is_cut(self) -> bool:
        """Whether there were more calls than are kept."""
        return self._flow.is_cut

    def taken(
        self, func: Any, args: tuple[Any, ...], named: CallArguments
    ) -> dict[str, Memory] | None:
        """Returns the tensors of a call that is about to be made; None if no more are kept."""
        if self.is_cut:
            return None
        found: dict[str, Memory] = {}
        for name, value in (*zip(_traits(func).names, args, strict=False), *named.items()):
            if isinstance(value, torch.Tensor):
                self._note(name, value, found)
            elif isinstance(value, (list, tuple)):
                for place, element in enumerate(value):
                    if isinstance(element, torch.Tensor):
                        self._note(f"{name}.{place}", element, found)
        return found

    def _note(self, name: str, value: torch.Tensor, found: dict[str, Memory]) -> None:
        memory = self._memory(value)
        if memory is not None:
            found[name] = memory

    def _memory(self, value: torch.Tensor) -> Memory | None:
        """Returns a tensor's memory; None if it has none, or several, as a sparse tensor."""
        try:
            storage = value.untyped_storage()
            key = private.key_of(storage)
        except RuntimeError:
            return None
        if key not in self._storages:
            self._storages[key] = private.STORAGE.get()(storage)
        bytes = value.numel() * value.element_size()
        form = (
            value.dtype,
            value.shape,
            value.stride(),
            value.storage_offset(),
            value.is_conj(),
            value.is_neg(),
        )
        number = self._forms.setdefault(form, len(self._forms))
        return Memory(key, number, bytes, bytes >= storage.nbytes())

    def add(
        self,
        func: Any,
        call: RecordedCall | None,
        site: Site,
        taken: Mapping[str, Memory],
        result: Any,
    ) -> None:
        """Adds a call that was made; of a compiled program it is in no chain."""
        traits = _traits(func)
        results = result if isinstance(result, (list, tuple)) else [result]
        returned = [
            self._memory(value) if isinstance(value, torch.Tensor) else None for value in results
        ]
        self._keep(
            FlowCall(
                call,
                site,
                "" if call is None or site.program else traits.kind,
                taken,
                [name for name in taken if name.partition(".")[0] in traits.written],
                traits.ignored,
                returned,
            )
        )

    def add_unknown(self, site: Site, values: Any) -> None:
        """Adds a call of which nothing is known: it may read and write all that it is given."""
        taken: dict[str, Memory] = {}
        for place, value in enumerate(tensors(values)):
            self._note(str(place), value, taken)
        self._keep(FlowCall(None, site, "", taken, taken, (), ()))

    def _keep(self, call: FlowCall) -> None:
        self._flow.add(call)
        if self.is_cut and self._freed_at_cut is None:
            self._freed_at_cut = self._freed()

    def _freed(self) -> set[Hashable]:
        return {key for key, storage in self._storages.items() if storage.expired()}

    def chains(self) -> list[FoundChain]:
        """Returns the chains so far."""
        freed = self._freed() if self._freed_at_cut is None else self._freed_at_cut
        return self._flow.chains(freed)
