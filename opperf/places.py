"""Where in a user's code an error came from."""

from __future__ import annotations

import traceback
from pathlib import Path


def place_in(error: BaseException, file: str) -> str:
    """Returns `FILE:LINE` of the innermost frame of an error in a file, or the file alone if no
    frame is in it."""
    if isinstance(error, SyntaxError) and error.filename and _is_same(error.filename, file):
        return f"{file}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if _is_same(frame.filename, file)]
    return f"{file}:{lines[-1]}" if lines else file


def _is_same(one: str, other: str) -> bool:
    return Path(one).resolve() == Path(other).resolve()
