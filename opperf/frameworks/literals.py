"""Python source of values in scripts: long data as code that makes them."""

from __future__ import annotations

import base64
import json
import math
import textwrap
import zlib
from collections.abc import Iterable
from typing import Any

LONGEST = 400
"""Most characters of data in a script: five lines of a terminal."""

LINE = 72
"""Characters in a line of packed data."""

REPEATED = 8
"""Fewest elements of a list of equal ones that is written as a product."""

PACKING = ("base64", "zlib")
"""Modules that packed data need."""


def literal(value: Any) -> str:
    """Returns the Python source of a plain value or a list of them."""
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    is_long = isinstance(value, (list, tuple)) and len(value) >= REPEATED
    if is_long and len(set(map(repr, value))) == 1:
        return f"{literal(type(value)(value[:1]))} * {len(value)}"
    if isinstance(value, list):
        return f"[{', '.join(literal(element) for element in value)}]"
    return repr(value)


def data_literal(data: Any, dtype: str) -> str:
    """Returns the source of a tensor's data: of long ones a range, or packed bits of this dtype."""
    text = literal(data)
    if len(text) <= LONGEST:
        return text
    # The manager imports this module and needs no NumPy.
    import numpy as np

    given = np.array(data).ravel()
    made = given.astype(dtype)
    first, last = given[0].item(), given[-1].item()
    if np.linspace(first, last, given.size).astype(dtype).tobytes() == made.tobytes():
        return f"np.linspace({literal(first)}, {literal(last)}, {given.size})"
    packed = base64.b64encode(zlib.compress(made.tobytes(), 9)).decode()
    lines = "\n".join(f'    "{line}"' for line in textwrap.wrap(packed, LINE))
    return f'np.frombuffer(zlib.decompress(base64.b64decode(\n{lines}\n)), "{dtype}")'


def imports_of(lines: Iterable[str]) -> list[str]:
    """Returns the imports that packed data in these lines need."""
    packed = any("zlib.decompress(" in line for line in lines)
    return [f"import {module}" for module in PACKING] if packed else []
