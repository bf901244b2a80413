"""Compares the tensors of a script with those of its case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opperf.frameworks import scripts
from opperf.model import Case


def numpy_bytes(array: Any) -> tuple[Any, ...]:
    """Returns shape, dtype, strides and bytes of an array."""
    return array.shape, array.dtype, array.strides, array.tobytes()


def assert_script_makes(
    text: str,
    case: Case,
    arguments: Mapping[str, Any],
    contents: Callable[[Any], tuple[Any, ...]] = numpy_bytes,
) -> None:
    """Run a script up to its call, the part behind the last empty line."""
    namespace: dict[str, Any] = {}
    exec(text[: text.rindex("\n\n")], namespace)
    for made in scripts.tensors(case, arguments):
        if made.tensor is not None:
            assert contents(namespace[made.name]) == contents(made.tensor), text
