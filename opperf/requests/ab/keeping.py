"""Keeps the file of every session, and frees the default name for the next one."""

from __future__ import annotations

import filecmp
from collections.abc import Iterator
from pathlib import Path

import msgspec

from opperf.errors import RunFileError, UsageError
from opperf.requests.ab.request import AbRequest
from opperf.requests.declaring import Say
from opperf.requests.keeping import keep_cut_short, try_to_keep
from opperf.results.kept import display, is_name, keep, kept_runs, remove
from opperf.results.kept_facts import id_of
from opperf.results.lines import check_free
from opperf.results.run_files import locate_session


def locate_report(request: AbRequest) -> tuple[AbRequest, Path, bool, frozenset[str]]:
    """Returns a request with the file of its session, whether it is resumed, and the fields that
    were set: `resume` or `report` names the file. Raises `UsageError` for a name
    that no session has, for two files, and for a new session under the name of a kept one."""
    resumed, named, given = request.resume, str(request.report), request.given
    if resumed and not (is_name(resumed) or Path(resumed).exists()):
        # The flag alone, before the name of an operator.
        names = (*request.operators.names, resumed)
        operators = msgspec.structs.replace(request.operators, names=names)
        given |= {"names"}
        request = msgspec.structs.replace(request, operators=operators, given=given, resume="")
        resumed = ""
    if resumed:
        if "report" in given:
            raise UsageError(f"--resume {resumed} and --report {named}: name the session once")
        named = resumed
    elif resumed is None and is_name(named):
        raise UsageError(f"--report {named} names a kept session; --resume {named} goes on with it")
    if not resumed and not is_name(named):
        return request, request.report, resumed is not None, given
    return request, locate_session(named), True, given | {"report"}


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


def keep_interrupted(path: Path, say: Say) -> None:
    """Keeps what there is of a session, and says why if that fails."""
    problem = keep_cut_short(path)
    if problem:
        say(problem)


def say_kept(path: Path, say: Say, warn: Say) -> None:
    """Keeps the file of a finished session, and says where all is."""
    name, (kept, problem) = display(path), try_to_keep(path)
    if problem:
        warn(problem)
    also = "" if kept is None or kept.name == name else f", kept as {kept.name}"
    say(f"all measurements are in {name}{also}")
