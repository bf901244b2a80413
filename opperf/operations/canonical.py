"""What a canonical operation is: one operation as the field names it, whatever framework has it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from opperf.operations.references.reference import Property, Reference

Input = Literal[
    "tensor", "tensors", "int", "float", "bool", "shape", "axis", "axes", "mode", "dtype"
]
"""What an input is. A `tensor` or `float` of one operator may be the other for another, `axes` are
one axis or several, `mode` is a word."""

Work = Callable[[Mapping[str, Any]], float]
"""Of one call, from its inputs by role: shapes in place of tensors, and plain values."""

REFERENCES = "opperf.operations.references"


@dataclass(frozen=True)
class CanonicalOperation:
    """One operation: its inputs, what it computes, and how much work it is at least."""

    name: str
    inputs: Mapping[str, Input]
    """What each input is, by role, those that a call needs first."""
    module: str
    """Of `opperf.operations.references`, the one that holds what the operation computes."""
    flops: Work | None = None
    """Floating-point operations of a call; None where nobody has written them down."""
    bytes: Work | None = None
    """Bytes that a call has to read and write; None where that is what its tensors hold."""

    @property
    def reference(self) -> Reference | Property:
        """What the operation computes, by role and in float64, or a property that its outputs
        have where they are not unique. NumPy and SciPy are imported for it."""
        found = importlib.import_module(f"{REFERENCES}.{self.module}").REFERENCES
        reference: Reference | Property = found[self.name]
        return reference


def operations(module: str, table: Mapping[str, str]) -> Iterable[CanonicalOperation]:
    """The operations of a module: names in a row, by the words for their inputs, `role:kind`.

    Raises `ValueError` for a word that is not of this form.
    """
    for words, names in table.items():
        inputs: dict[str, Any] = {}
        for word in words.split():
            role, colon, kind = word.partition(":")
            if not colon:
                raise ValueError(f"{word!r} of {names}: write role:kind")
            inputs[role] = kind
        for name in names.split():
            yield CanonicalOperation(name, inputs, module)
