"""Output files: the formats, what is checked before a run, and writing whole files only."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from opperf.errors import OutputError, UsageError, suggest
from opperf.model import Run, Status
from opperf.results.csv_file import csv_text
from opperf.results.markdown import markdown_text
from opperf.results.opperf_json import json_text
from opperf.results.runfile import encode_line, lines_of
from opperf.results.unwritable import reason, unwritable


@dataclass(frozen=True)
class Format:
    """One way to write a run."""

    extension: str
    text: Callable[[Run], str]
    environment: Callable[[Run, Path], dict[str, Any]] | None = None
    """What goes into a file beside the output, where the format itself has no room for it."""


def runfile_text(run: Run) -> str:
    """The run as a run file, for a run that was not recorded into the output itself."""
    return b"".join(map(encode_line, lines_of(run))).decode()


def environment_of(run: Run, path: Path) -> dict[str, Any]:
    """The header of a run, for the file beside `path`."""
    header = run.header
    environment, *others = map(msgspec.to_builtins, run.environments.values())
    return {
        "output": path.name,
        "started": header.started,
        "environment": environment,
        **({"other_environments": others} if others else {}),
        **({"labels": header.labels} if header.labels else {}),
        "options": header.options,
        "excluded": header.excluded,
    }


def environment_and_unmeasured(run: Run, path: Path) -> dict[str, Any]:
    """The header, and the records that an output of results alone leaves out."""
    unmeasured = [
        {
            "operator": record.case.label,
            "id": record.id,
            "status": record.status.value,
            "reason": record.reason,
        }
        for record in run.records
        if record.status is not Status.OK
    ]
    return environment_of(run, path) | {"not_measured": unmeasured}


FORMATS = {
    "json": Format("json", json_text, environment_and_unmeasured),
    "md": Format("md", markdown_text),
    "csv": Format("csv", csv_text, environment_of),
    "jsonl": Format("jsonl", runfile_text),
}


def sidecar(path: Path) -> Path:
    """Where the environment goes beside an output file."""
    return path.with_name(f"{path.stem}.environment.json")


def check_output(path: Path, overwrite: bool) -> None:
    """Raise `OutputError` if the file could not be written after the run."""
    if path.is_dir():
        raise OutputError(f"{path} is a folder; name a file in it with --output-file")
    if os.path.lexists(path):
        _check_existing(path, overwrite)
    folder = _target(path).parent
    if not folder.is_dir():
        what = "is not a folder" if os.path.lexists(folder) else "does not exist"
        raise OutputError(f"{path} cannot be written: the folder {folder} {what}")
    try:
        # Permission bits do not tell for root, a read-only mount or /proc; trying does.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written: no file can be made in {folder}: {reason(error)}"
        ) from error


def _check_existing(path: Path, overwrite: bool) -> None:
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is not a regular file; choose another with --output-file")
    if not overwrite:
        going_on = ", or --resume to go on with it" if path.suffix == ".jsonl" else ""
        raise OutputError(f"{path} exists; give --overwrite to replace it{going_on}")
    if path.exists() and not os.access(path, os.W_OK):
        raise OutputError(f"{path} is write-protected; choose another with --output-file")


def _target(path: Path) -> Path:
    """The file itself: replacing a symbolic link is to replace what it points to."""
    return Path(os.path.realpath(path))


def write(run: Run, path: Path, format: str) -> None:
    """Write the run, and its environment beside it where the format has no room for that.

    Both appear whole or neither does. Raises `OutputError` if that fails.
    """
    if format not in FORMATS:
        raise UsageError(
            f"unknown output format {format!r}{suggest(format, FORMATS)}; "
            f"known: {', '.join(FORMATS)}"
        )
    chosen = FORMATS[format]
    files = {}
    if chosen.environment is not None:
        beside = msgspec.json.encode(chosen.environment(run, path))
        files[sidecar(path)] = msgspec.json.format(beside, indent=4) + b"\n"
    replace_all({**files, path: chosen.text(run).encode()})


def replace(path: Path, data: bytes) -> None:
    """Put a file in place in one step, so that no reader ever sees half of it."""
    replace_all({path: data})


def replace_all(files: Mapping[Path, bytes]) -> None:
    """Put files in place, each in one step, once all of them are on the disk: a full one leaves
    everything as it was. Raises `OutputError`."""
    with ExitStack() as leftovers:
        ready = []
        for path, data in files.items():
            target = _target(path)
            temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
            ready.append((path, temporary, target))
            try:
                # What a process of the same number left when it was killed.
                temporary.unlink(missing_ok=True)
                with temporary.open("xb") as file:
                    leftovers.callback(temporary.unlink, missing_ok=True)
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
