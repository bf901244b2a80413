"""Common parts of cases that differ in their settings alone: their inputs, without what follows
from the settings."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from opperf.model import DEFAULTS, Case, DType, Mapping, TensorSpec
from opperf.results.text import inputs_text

OWN = "own"
"""Stands for the dtype of a case's settings."""


def dtypes_of(cases: Iterable[Case]) -> frozenset[str]:
    """Returns the dtypes of the settings of some cases."""
    return frozenset(case.settings.dtype for case in cases)


def alike_text(case: Case, dtypes: Collection[str]) -> str:
    """Returns the inputs of a case as text, without what follows from its settings."""
    return inputs_text(neutral(case, dtypes))


def neutral(case: Case, dtypes: Collection[str]) -> Case:
    """Returns a case that is the same for all of the `dtypes`, and for all memory formats. A tensor
    that always has one of these dtypes has it as its own in one of the cases."""
    has_default_format = case.settings.memory_format == DEFAULTS["memory_format"]

    def without_settings(value: Any) -> Any:
        match value:
            case TensorSpec():
                return msgspec.structs.replace(
                    value,
                    dtype=OWN if value.dtype in dtypes else value.dtype,
                    fill=msgspec.structs.replace(value.fill, dtype=""),
                    memory_format=value.memory_format if has_default_format else "",
                )
            case tuple():
                return tuple(map(without_settings, value))
            case Mapping(entries=entries):
                return Mapping({name: without_settings(one) for name, one in entries.items()})
            case DType(name=name) if name in dtypes:
                return DType(OWN)
            case str() if value in dtypes:
                return OWN
        return value

    arguments = {name: without_settings(value) for name, value in case.arguments.items()}
    settings = msgspec.structs.replace(case.settings, dtype=OWN)
    return msgspec.structs.replace(case, arguments=arguments, settings=settings)
