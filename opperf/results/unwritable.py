"""Errors for files that cannot be written: the cause, the file and advice."""

from __future__ import annotations

import errno
from pathlib import Path

from opperf.errors import OutputError

ADVICE: dict[int | None, str] = {
    errno.ENOSPC: "free space there",
    errno.EDQUOT: "free space there, or have your quota raised",
    errno.EFBIG: "allow larger files (ulimit -f)",
}
"""Advice by the error's number; the messages of other errors are enough."""


def reason(error: OSError) -> str:
    """Returns the error's message, and advice if there is any."""
    return "; ".join(filter(None, [error.strerror or str(error), ADVICE.get(error.errno)]))


def unwritable(path: Path, error: OSError) -> OutputError:
    """Returns the error for a file that cannot be written."""
    return OutputError(f"{path} cannot be written: {reason(error)}")
