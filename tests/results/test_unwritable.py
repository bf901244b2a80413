"""What is said of a file that cannot be written."""

import errno
from pathlib import Path

import pytest

from opperf.results.unwritable import reason, unwritable


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left"), "No space left; free space there"),
        (OSError(errno.EFBIG, "Too large"), "Too large; allow larger files (ulimit -f)"),
        (OSError(errno.EACCES, "Permission denied"), "Permission denied"),
        (OSError("without a number"), "without a number"),
    ],
)
def test_what_is_wrong_and_what_helps(error, words):
    assert reason(error) == words
    assert str(unwritable(Path("a/file"), error)) == f"a/file cannot be written: {words}"
