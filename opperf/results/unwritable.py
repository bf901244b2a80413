"""What is said of a file that cannot be written: what is wrong, where, and what helps."""

from __future__ import annotations

import errno
from pathlib import Path

from opperf.errors import OutputError

ADVICE: dict[int | None, str] = {
    errno.ENOSPC: "free space there",
    errno.EDQUOT: "free space there, or have your quota raised",
    errno.EFBIG: "allow larger files (ulimit -f)",
}
"""What helps, by the error's number; every other error says enough with its own words."""


def reason(error: OSError) -> str:
    """The error in words, and what helps against it."""
    return "; ".join(filter(None, [error.strerror or str(error), ADVICE.get(error.errno)]))


def unwritable(path: Path, error: OSError) -> OutputError:
    """The error for a file that cannot be written."""
    return OutputError(f"{path} cannot be written: {reason(error)}")
