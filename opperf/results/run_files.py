"""The run file or session that a user names: by its path, as a kept one, or a run by an output of
it, which is known by its content, so that one that was changed since is not taken for it."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path
from typing import Any

import msgspec

from opperf.decoding import read_as
from opperf.errors import OutputError, RunFileError, UsageError
from opperf.folders import data_folder
from opperf.reading import READ_WHOLE, read_bytes
from opperf.results import kept
from opperf.results.kept import KeptRun, kept_runs
from opperf.results.kept_facts import is_session, read_facts
from opperf.results.messages import tell
from opperf.results.output import replace, sidecar
from opperf.results.runfile import is_run_file

MOST_REMEMBERED = 1000
"""Most outputs that are remembered: more than kept runs, as defaults may be replaced later."""


class _KnownOutput(msgspec.Struct):
    run: str
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
    replace(entry, msgspec.json.encode(_KnownOutput(run, is_default)))
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
    """Returns whether an output is as old as its sidecar: all that is known without a folder of
    data, for example in a container with a home that cannot be written."""
    beside = sidecar(path)
    try:
        about = read_as(beside, dict[str, Any])
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


def _known(path: Path) -> _KnownOutput | None:
    entry = _entry(path)
    try:
        return None if entry is None else read_as(entry, _KnownOutput)
    except (OSError, msgspec.DecodeError):
        return None


def _entry(path: Path) -> Path | None:
    """Returns the file about an output; None for an output that is no readable file."""
    try:
        content = read_bytes(path, READ_WHOLE) if path.is_file() else None
    except OSError:
        return None
    if content is None:
        return None
    return _folder() / hashlib.sha256(content).hexdigest()


def _folder() -> Path:
    return data_folder() / "outputs"


def _oldest_first(folder: Path) -> list[Path]:
    def time(path: Path) -> float:
        try:
            return path.stat().st_mtime
        except FileNotFoundError:
            # Another process has removed it.
            return 0.0

    return sorted(folder.iterdir(), key=time)


def check_is_run(path: Path) -> None:
    """Raises `UsageError` for a session, with the command that resumes it."""
    if is_session(path):
        name = kept.display(path)
        raise UsageError(
            f"{name} is a session of `opperf ab`; resume it with opperf ab --resume "
            f"{shlex.quote(name)}"
        )


def locate_session(text: str) -> Path:
    """Returns the path of a session. Raises `UsageError` for a run, and for no file."""
    path = locate(text)
    if kept.is_name(text) and not is_session(path):
        raise UsageError(f"{text} is a run, and no session; `opperf runs --kind ab` lists those")
    return path


def locate(text: str) -> Path:
    """Returns the path of the run file or session that is meant: of `@last`, `@-2` and `@ID` that
    of the kept one; of a JSON, Markdown or CSV file that of the run which wrote it, if that is
    kept; else the text as a path. Says on standard error which one that is, unless it was named by
    its path or id. Raises `UsageError` for a kept one that is not there."""
    if kept.is_name(text):
        path = kept.resolve(text)
        if kept.display(path) != text:
            tell(f"{text} is {_describe(path)}")
        return path
    path = Path(text)
    try:
        is_other = path.is_file() and not is_run_file(path)
    except RunFileError:
        # The command that reads it says why it cannot.
        return path
    run = run_of(path) if is_other else None
    if run is None:
        return path
    tell(f"{text} was written by {_describe(run.path)}, which is read in its place")
    return run.path


def _describe(path: Path) -> str:
    return f"{kept.display(path)} ({read_facts(path).command})"
