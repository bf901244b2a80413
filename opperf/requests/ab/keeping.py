"""Keeps the file of every session, says how one is resumed, and frees the default name for the next
one."""

from __future__ import annotations

import filecmp
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from opperf.errors import RunFileError, UsageError
from opperf.machine.pinning import cpus_arguments
from opperf.requests.ab.request import ArmsRequest
from opperf.requests.declaring import Say, declared, value_of
from opperf.requests.keeping import keep_cut_short, try_to_keep
from opperf.requests.parsers import NOTHING
from opperf.results.kept import display, is_name, keep, kept_runs, remove
from opperf.results.kept_facts import id_of
from opperf.results.lines import check_free
from opperf.results.output import STDOUT
from opperf.results.run_files import locate_session

Arms = TypeVar("Arms", bound=ArmsRequest)


def locate_report(request: Arms) -> tuple[Arms, Path, bool, frozenset[str]]:
    """Returns a request with the file of its session, whether it is resumed, and the fields that
    were set: `resume` or `report` names the file. Raises `UsageError` for a name
    that no session has, for two files, for a new session under the name of a kept one, and for
    standard output."""
    resumed, named, given = request.resume, str(request.report), request.given
    if request.report == STDOUT:
        raise UsageError(
            "--report needs a file, to which each process appends its results; name one"
        )
    if resumed and not (is_name(resumed) or Path(resumed).exists()):
        # The flag alone, before the name of an operator.
        request = msgspec.structs.replace(_with_name(request, resumed), resume="")
        given, resumed = request.given, ""
    if resumed:
        if "report" in given:
            raise UsageError(f"--resume {resumed} and --report {named}: name the session once")
        named = resumed
    elif resumed is None and is_name(named):
        raise UsageError(f"--report {named} names a kept session; --resume {named} goes on with it")
    if not resumed and not is_name(named):
        return request, request.report, resumed is not None, given
    return request, locate_session(named), True, given | {"report"}


def _with_name(request: Arms, name: str) -> Arms:
    """Returns a request with a further name, in the field or group where it has names."""
    group = declared(type(request))["names"].group
    names = (*value_of(request, "names"), name)
    held = msgspec.structs.replace(getattr(request, group), names=names) if group else names
    given = request.given | {"names"}
    return msgspec.structs.replace(request, given=given, **{group or "names": held})


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


def resume_advice(request: ArmsRequest, report: Path, *more: str) -> str:
    """Returns the file, and the command that resumes the session, with `more` words; what no
    session file has is given again."""
    name = display(report)
    named = [name] if is_name(name) else ["--report", name]
    words = ["opperf", request.word, "--resume", *named, *cpus_arguments(request.cpus), *more]
    return f"{name}. Resume with: {shlex.join([*words, *repeated(request)])}"


REPEATED = {
    "output_files": "-o",
    "output_format": "-f",
    "fail_on": "--fail-on",
    "weight": "--weight",
    "plot": "--plot",
}
"""Fields of the report and the exit code, which no session file has, each with its option."""


def repeated(request: ArmsRequest) -> Iterator[str]:
    """Yields the words that a session is given again when it is resumed."""
    for name, option in REPEATED.items():
        if name in request.given:
            value = value_of(request, name)
            # Of findings there may be none, which is a word.
            for each in (value or (NOTHING,)) if isinstance(value, tuple) else (value,):
                yield from (option, str(each))
