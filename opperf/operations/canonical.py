"""Canonical operations: each is one operation of any framework, under its usual name."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

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
        """The reference, in float64, or a property of outputs. Imports NumPy and SciPy."""
        import numpy as np

        from opperf.operations.references.reference import Property, Reference

        module = importlib.import_module(f"{REFERENCES}.{self.module}")
        properties = getattr(module, "PROPERTIES", {})
        if self.name in properties:
            return Property(properties[self.name])
        function = getattr(module, "REFERENCES", {}).get(self.name) or getattr(module, self.name)
        # Ufuncs take no keywords, which roles are.
        if isinstance(function, np.ufunc):
            return Reference(lambda **inputs: function(*(inputs[role] for role in self.inputs)))
        return Reference(function)


def operations(module: str, table: Mapping[str, str]) -> Iterable[CanonicalOperation]:
    """The operations of a module: names, separated by spaces, by their inputs as `role:kind`, or as
    `role` for a tensor. Raises `ValueError` for another kind."""
    for words, names in table.items():
        inputs: dict[str, Any] = {}
        for word in words.split():
            role, _, kind = word.partition(":")
            if kind and kind not in get_args(Input):
                raise ValueError(f"{word!r} of {names}: write role:kind")
            inputs[role] = kind or "tensor"
        for name in names.split():
            yield CanonicalOperation(name, inputs, module)
