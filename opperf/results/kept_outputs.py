"""Which run wrote an output file: by the file's content, so that one that was changed since is not
taken for it, and one that was moved is."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from opperf.errors import OutputError
from opperf.folders import data_folder
from opperf.results.kept import KeptRun, kept_runs
from opperf.results.output import replace, sidecar

MOST_REMEMBERED = 1000
"""Most outputs that are remembered: more than the kept runs, as a default output may be replaced
whether its run is kept or not."""


class KnownOutput(msgspec.Struct):
    """Facts about an output's content."""

    run: str
    """Id of the run."""
    is_default: bool = False
    """Whether the file had the default name, which the user did not ask for."""


def remember(path: Path, run: str, is_default: bool) -> None:
    """Remembers that a run wrote this output. Raises `OutputError` if that fails."""
    entry = _entry(path)
    if entry is None:
        return
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{entry.parent} cannot be created: {error.strerror}") from error
    replace(entry, msgspec.json.encode(KnownOutput(run, is_default)))
    for remembered in _oldest_first(entry.parent)[:-MOST_REMEMBERED]:
        remembered.unlink(missing_ok=True)


def is_default_output(path: Path) -> bool:
    """Returns whether a file is as a run wrote it under the default name."""
    known = _known(path)
    if known is None and not _folder().is_dir():
        return _is_as_old_as_its_sidecar(path)
    return known is not None and known.is_default


SIDECAR_S = 2.0
"""Most seconds between the writing of a sidecar and of its output: both are on the disk already and
are renamed one after the other, and some file systems count in steps of two seconds."""


def _is_as_old_as_its_sidecar(path: Path) -> bool:
    """Returns whether an output has not been changed since its sidecar was written: all that is
    known where there is no folder of data, for example in a container with a home that cannot be
    written."""
    beside = sidecar(path)
    try:
        about = msgspec.json.decode(beside.read_bytes(), type=dict)
        apart = abs(path.stat().st_mtime - beside.stat().st_mtime)
    except (OSError, msgspec.DecodeError):
        return False
    return about.get("output") == path.name and apart <= SIDECAR_S


def run_of(path: Path) -> KeptRun | None:
    """Returns the kept run that wrote an output; None if there is none, or the file is another."""
    known = _known(path)
    if known is None:
        return None
    return next((run for run in kept_runs() if run.id == known.run), None)


def _known(path: Path) -> KnownOutput | None:
    entry = _entry(path)
    try:
        return None if entry is None else msgspec.json.decode(entry.read_bytes(), type=KnownOutput)
    except (OSError, msgspec.DecodeError):
        return None


def _entry(path: Path) -> Path | None:
    """Returns the file about an output; None for an output that is no readable file."""
    try:
        content = path.read_bytes() if path.is_file() else None
    except OSError:
        return None
    if content is None:
        return None
    return _folder() / hashlib.sha256(content).hexdigest()


def _folder() -> Path:
    """Returns the folder of what is known of outputs."""
    return data_folder() / "outputs"


def _oldest_first(folder: Path) -> list[Path]:
    def time(path: Path) -> float:
        try:
            return path.stat().st_mtime
        except FileNotFoundError:
            # Another process has removed it.
            return 0.0

    return sorted(folder.iterdir(), key=time)
