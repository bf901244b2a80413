"""Keeps the file of every session, and frees the default name for the next one."""

from __future__ import annotations

import filecmp
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from opperf.errors import RunFileError, UsageError
from opperf.requests.keeping import keep_cut_short, try_to_keep
from opperf.results.kept import display, is_name, keep, kept_runs, remove
from opperf.results.kept_facts import id_of
from opperf.results.lines import check_free
from opperf.results.messages import tell
from opperf.results.run_files import locate_session

Given = Mapping[str, Any]


def locate_report(given: Given, changed: Given) -> tuple[Given, Given]:
    """Returns the options, all and those that the user set, with the file of the session that
    `--resume` or `--report` names. Raises `UsageError` for a name that no session has, for two
    files, and for a new session under the name of a kept one."""
    resumed: str | None = given["resume"]
    named = str(given["report"])
    if resumed and not (is_name(resumed) or Path(resumed).exists()):
        # The flag alone, before the name of an operator.
        names = (*given["names"], resumed)
        given, changed, resumed = {**given, "names": names}, {**changed, "names": names}, ""
    if resumed:
        if "report" in changed:
            raise UsageError(f"--resume {resumed} and --report {named}: name the session once")
        named = resumed
    elif resumed is None and is_name(named):
        raise UsageError(f"--report {named} names a kept session; --resume {named} goes on with it")
    if not resumed and not is_name(named):
        return {**given, "resume": resumed is not None}, changed
    found = {"resume": True, "report": locate_session(named)}
    return {**given, **found}, {**changed, **found}


def can_make_room(path: Path) -> bool:
    """Returns whether a file is that of a session, which no process is writing to."""
    try:
        if not path.is_file() or path.is_symlink() or not id_of(path):
            return False
        check_free(path)
    except RunFileError:
        return False
    return True


def make_room(path: Path) -> Iterator[str]:
    """Removes the file if it exists, once it is kept, and yields a line about it. Raises
    `OutputError` if that fails: measurements would be lost."""
    if path.is_file():
        # One that ended is kept already, and stays in its place among the others.
        same = [run for run in kept_runs() if filecmp.cmp(run.path, path, shallow=False)]
        kept = same[0] if same else keep(path)
        remove(path)
        yield f"the earlier {path} is kept as {kept.name}"


def keep_finished(path: Path) -> str:
    """Keeps the file of a finished session. Returns its name, or its path if that fails."""
    kept, problem = try_to_keep(path)
    if problem:
        tell(problem)
    return display(path) if kept is None else kept.name


def keep_interrupted(path: Path) -> None:
    """Keeps what there is of a session, and says why if that fails."""
    problem = keep_cut_short(path)
    if problem:
        tell(problem)


def resume_words(report: Path) -> list[str]:
    """Returns the command that resumes a session."""
    name = display(report)
    named = [name] if is_name(name) else ["--report", name]
    return ["opperf", "ab", "--resume", *named]
