"""Canonical operations: each is one operation of any framework, under its usual name."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from opperf.operations.references.reference import Property, Reference

Input = Literal[
    "tensor", "tensors", "int", "float", "bool", "shape", "axis", "axes", "enum", "dtype"
]
"""The kind of an input. An operator may take a `float` in place of a `tensor`; `axes` are one axis
or several."""

REFERENCES = "opperf.operations.references"


@dataclass(frozen=True)
class CanonicalOperation:
    """One operation: its inputs and its reference."""

    name: str
    inputs: Mapping[str, Input]
    """Kinds of the inputs by role, required ones first."""
    module: str
    """Module of `opperf.operations.references` with the operation's reference."""

    @property
    def reference(self) -> Reference | Property:
        """The reference, which computes in float64, or a property of outputs that are not unique.
        Imports NumPy and SciPy."""
        from opperf.operations.references.reference import Reference

        module = importlib.import_module(f"{REFERENCES}.{self.module}")
        listed: Mapping[str, Reference | Property] = getattr(module, "REFERENCES", {})
        return listed.get(self.name) or Reference(getattr(module, self.name))


def operations(module: str, table: Mapping[str, str]) -> Iterable[CanonicalOperation]:
    """The operations of a module: names, separated by spaces, by their inputs as `role:kind`.

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
