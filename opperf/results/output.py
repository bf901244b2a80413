"""Output files: checks before a run, atomic writes, and errors with the cause and advice."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from opperf.errors import OutputError
from opperf.folders import part_folder
from opperf.results.messages import tell

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


STDOUT = Path("-")
"""Name of standard output among the paths of outputs."""


def display_path(path: Path) -> str:
    """Returns the name of an output in messages."""
    return "standard output" if path == STDOUT else str(path)


class Output(NamedTuple):
    """A file to write, or standard output, and its format."""

    path: Path
    format: str


def sidecar(path: Path) -> Path:
    """Returns the path of the file with the environment, beside an output file."""
    return path.with_name(f"{path.stem}.environment.json")


def check_output(path: Path, overwrite: bool, inputs: Iterable[Path] = ()) -> None:
    """Raises `OutputError` for a file that is an input or could not be written later."""
    if path == STDOUT:
        return
    if path.exists() and any(file.exists() and path.samefile(file) for file in inputs):
        raise OutputError(f"{path} is an input, and would be overwritten; choose another output")
    if path.is_dir():
        raise OutputError(f"{path} is a folder; name a file in it with --output-file")
    if os.path.lexists(path):
        _check_existing(path, overwrite)
    folder = _real_path(path).parent
    if not folder.is_dir():
        what = "is not a folder" if os.path.lexists(folder) else "does not exist"
        raise OutputError(f"{path} cannot be written: the folder {folder} {what}")
    try:
        # Permission bits are misleading for root, a read-only mount or /proc.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written: cannot create a file in {folder}: {reason(error)}"
        ) from error


def _check_existing(path: Path, overwrite: bool) -> None:
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is not a regular file; choose another with --output-file")
    if not overwrite:
        resume = ", or --resume to finish it" if path.suffix == ".jsonl" else ""
        raise OutputError(f"{path} exists; add --overwrite to replace it{resume}")
    if path.exists() and not os.access(path, os.W_OK):
        raise OutputError(f"{path} is write-protected; choose another with --output-file")


def _real_path(path: Path) -> Path:
    """Returns the file itself: of a symbolic link, its target is replaced."""
    return Path(os.path.realpath(path))


def replaceable(path: Path) -> Path:
    """Returns the file that is written in the place of a path. Raises `OutputError` for a device, a
    pipe or a folder, which no file may replace."""
    target = _real_path(path)
    if target.exists() and not target.is_file():
        raise OutputError(f"{path} cannot be written: it is no regular file; name another")
    return target


def write_report(path: Path, text: str) -> None:
    """Writes a report to a file and says so, or prints it. Raises `OutputError`."""
    if path == STDOUT:
        print(text, end="")
    else:
        replace(path, text.encode())
        tell(f"written to {path}")


def write_content(path: Path, content: bytes) -> None:
    """Writes bytes to a file and says so, or to standard output. Raises `OutputError`."""
    if path != STDOUT:
        replace(path, content)
        tell(f"written to {path}")
        return
    try:
        sys.stdout.buffer.write(content)
    except AttributeError:
        # A stream that takes text alone, such as a notebook's.
        sys.stdout.write(content.decode())


def replace(path: Path, data: bytes) -> None:
    """Replaces a file in one step, so that no reader sees half of it. Raises `OutputError`."""
    replace_all({path: data})


def replace_all(files: Mapping[Path, bytes]) -> None:
    """Replaces files in one step each, once all are on the disk. Raises `OutputError`."""
    with ExitStack() as parts:
        ready = []
        for path, data in files.items():
            target = replaceable(path)
            try:
                temporary = parts.enter_context(part_folder(target.parent)) / target.name
                ready.append((path, temporary, target))
                with temporary.open("xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                raise unwritable(path, error) from error
        for path, temporary, target in ready:
            try:
                temporary.replace(target)
            except OSError as error:
                raise unwritable(path, error) from error
