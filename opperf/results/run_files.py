"""Where the run file is that a user names: by its path, as a kept run, or by an output of it."""

from __future__ import annotations

from pathlib import Path

from opperf.errors import RunFileError
from opperf.results import kept
from opperf.results.kept_outputs import run_of
from opperf.results.messages import tell
from opperf.results.runfile import is_run_file


def locate_run(text: str) -> Path:
    """Returns the path of the run file that is meant: of `@last`, `@-2` and `@ID` that of the kept
    run; of a JSON, Markdown or CSV file that of the run which wrote it, if that is kept; else the
    text as a path. Says on standard error which run that is, unless it was named by its path or id.

    Raises `UsageError` for a kept run that is not there.
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
    """Returns the name of a kept run, with its command."""
    from opperf.results.kept_facts import read_facts

    return f"{kept.display(path)} ({read_facts(path).command})"


def _say(text: str) -> None:
    tell(text)
