"""The contents of NumPy arrays, which functions of any framework may return."""

from __future__ import annotations

from typing import Any

import numpy as np

from opperf.frameworks.base import Contents

NUMERIC = "biufc"
"""Kinds of dtypes of numbers."""

SPANS = "mM"
"""Kinds of dtypes of dates and spans of time, which are integers in a unit."""


def array_contents(value: Any) -> Contents | None:
    """Returns what an array or number holds; None for any other value, and for an array of objects,
    texts or records."""
    if not isinstance(value, (np.ndarray, np.generic)):
        return None
    if value.dtype.kind not in (*NUMERIC, *SPANS):
        return None

    def numbers(step: int) -> Any:
        flat = np.asarray(value).reshape(-1)[::step]
        return flat.view("int64") if flat.dtype.kind in SPANS else flat

    return Contents(tuple(value.shape), value.dtype.name, "dense", int(value.nbytes), numbers)
