"""Chains: calls of a program that one kernel could compute, as no other call reads what is between
them."""

from __future__ import annotations

from typing import Literal

from opperf.model.cases import CallSite
from opperf.model.declaring import ID_LENGTH, Struct, digest

ChainKind = Literal["pointwise", "producer", "view"]
"""Of a call in a chain: an elementwise one; the product, convolution or reduction that it begins
with; a view, which computes nothing."""

INPUT = -1
"""In place of a call: the tensor is one that the chain is given."""


class ChainCall(Struct, frozen=True):
    """A call in a chain."""

    call: str
    """`Case.call_id` of its case."""
    name: str
    """Of its operator, as results show it."""
    kind: ChainKind
    feeds: dict[str, tuple[int, int]]
    """Of each of its tensors, by its argument, as `other` or `tensors.0`: the place in the chain of
    the call that made it, and which of that call's results it is; or `INPUT` and its number among
    what the chain is given."""
    between_bytes: int = 0
    """Bytes that it reads and writes of what is only between calls of the chain."""


class Chain(Struct, frozen=True):
    """Calls in their order, each of which but the last is read by a later one alone."""

    calls: tuple[ChainCall, ...]
    count: int
    """How often a step makes these calls."""
    first: CallSite
    """Where the first of its calls is made, the first time."""
    last: CallSite
    places: int = 1
    """Number of places that make it: modules and lines of the first call and of the last."""

    @property
    def id(self) -> str:
        """Hash of the calls, the same wherever and however often a program makes them."""
        return digest(self.calls)[:ID_LENGTH]

    @property
    def between_bytes(self) -> int:
        """Bytes written and read between its calls, which one kernel would not move."""
        return sum(call.between_bytes for call in self.calls)

    @property
    def name(self) -> str:
        """Its operators in their order, without views."""
        return " > ".join(call.name for call in self.calls if call.kind != "view")
