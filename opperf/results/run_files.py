"""Where the run file or session is that a user names: by its path, as a kept one, or a run by an
output of it."""

from __future__ import annotations

import shlex
from pathlib import Path

from opperf.errors import RunFileError, UsageError
from opperf.results import kept
from opperf.results.first_lines import is_session
from opperf.results.kept_facts import read_facts
from opperf.results.kept_outputs import run_of
from opperf.results.messages import tell
from opperf.results.runfile import is_run_file


def check_is_run(path: Path) -> None:
    """Raises `UsageError` for a session, with the command that resumes it."""
    if is_session(path):
        name = kept.display(path)
        raise UsageError(
            f"{name} is a session of `opperf ab`; resume it with opperf ab --resume "
            f"{shlex.quote(name)}"
        )


def locate_session(text: str) -> Path:
    """Returns the path of a session, by its name or path. Raises `UsageError` for a kept run, and
    for a name that none has."""
    path = locate(text)
    if kept.is_name(text) and not is_session(path):
        raise UsageError(f"{text} is a run, and no session; `opperf runs --kind ab` lists those")
    return path


def locate(text: str) -> Path:
    """Returns the path of the run file or session that is meant: of `@last`, `@-2` and `@ID` that
    of the kept one; of a JSON, Markdown or CSV file that of the run which wrote it, if that is
    kept; else the text as a path. Says on standard error which one that is, unless it was named by
    its path or id.

    Raises `UsageError` for a kept one that is not there.
    """
    if kept.is_name(text):
        path = kept.resolve(text)
        if kept.display(path) != text:
            _say(f"{text} is {describe(path)}")
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
    _say(f"{text} was written by {describe(run.path)}, which is read in its place")
    return run.path


def describe(path: Path) -> str:
    """Returns the name of a kept run or session, with its command."""
    return f"{kept.display(path)} ({read_facts(path).command})"


def _say(text: str) -> None:
    tell(text)
