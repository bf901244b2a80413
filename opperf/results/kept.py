"""The files that opperf keeps: a copy of every run's, and of every session's of `opperf ab`, under
the user's data folder.

A kept run, or session, is called `@ID`, by the id in its header, and `@last`, `@-2` by its place
among the others. Runs that were cut short stay in the cache folder until they are finished, and
have names too.
"""

from __future__ import annotations

import itertools
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from opperf.errors import OutputError, RunFileError, UsageError
from opperf.folders import data_folder, unfinished_folder
from opperf.reading import open_file
from opperf.results.kept_facts import ID_BYTES, id_of, read_head
from opperf.results.lines import check_free
from opperf.results.output import display_path, replace, unwritable

MARK = "@"
"""Beginning of the name of a kept run."""

LAST = "last"

MOST_KEPT = 200
"""Most runs that are kept: months of a person's, some hundred megabytes of whole registries."""

MOST_LABELLED = 100
"""Most runs with labels that outlast later ones without: a user may want these for longer."""

SHOWN = 5
"""Most runs that an error lists."""

NAME = re.compile(r"(?P<time>\d{8}T\d{12})-(?P<id>[0-9a-f]+)\.jsonl")
"""Name of a kept file: the time, in UTC, when it was kept, and the run's id."""

TIME = "%Y%m%dT%H%M%S%f"


@dataclass(frozen=True)
class KeptRun:
    """A run file, or the file of a session, that opperf keeps."""

    id: str
    path: Path
    time: datetime
    is_cut_short: bool = False

    @property
    def name(self) -> str:
        return f"{MARK}{self.id}"

    @property
    def is_being_written(self) -> bool:
        return self.is_cut_short and is_being_written(self.path)


def is_being_written(path: Path) -> bool:
    """Returns whether a process is writing to a run file now, or it cannot be read."""
    try:
        check_free(path)
    except RunFileError:
        return True
    return False


def runs_folder() -> Path:
    """Returns the folder of the kept runs."""
    return data_folder() / "runs"


def new_id() -> str:
    """Returns the id of a new run or session."""
    return secrets.token_hex(ID_BYTES)


def kept_runs() -> list[KeptRun]:
    """Returns all kept runs and those that were cut short, the latest last."""
    found = {run.id: run for run in itertools.chain(_cut_short(), _in_folder())}
    return sorted(found.values(), key=lambda run: run.time)


def _in_folder() -> Iterable[KeptRun]:
    for path in _files(runs_folder()):
        match = NAME.fullmatch(path.name)
        if match is not None:
            time = datetime.strptime(match["time"], TIME).replace(tzinfo=timezone.utc)
            yield KeptRun(match["id"], path, time)


def _cut_short() -> Iterable[KeptRun]:
    for path in _files(unfinished_folder()):
        id = id_of(path)
        if id:
            time = datetime.fromtimestamp(path.stat().st_mtime, timezone.utc)
            yield KeptRun(id, path, time, is_cut_short=True)


def _files(folder: Path) -> list[Path]:
    """Returns the run files in a folder; none if it cannot be read."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".jsonl")
    except OSError:
        return []


def keep(path: Path) -> KeptRun:
    """Keeps a copy of a run or session in place of an earlier one, and removes surplus ones. Raises
    `OutputError` if that fails, and `RunFileError` for another file."""
    id = id_of(path)
    if not id:
        raise RunFileError(f"{path} is neither a run file nor a session")
    now = datetime.now(timezone.utc)
    kept = runs_folder() / f"{now.strftime(TIME)}-{id}.jsonl"
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        # Of a process that was killed there may be folders alone.
        earlier = {found.with_suffix(".jsonl") for found in kept.parent.glob(f"*-{id}.*")}
        for folder_of, _ in BESIDE:
            if folder_of(path).is_dir():
                shutil.copytree(folder_of(path), folder_of(kept))
        # Last: what has a file is whole.
        with open_file(path) as file:
            replace(kept, file.read())
    except OSError as error:
        raise unwritable(kept, error) from error
    cut_short = [run for run in _cut_short() if not run.is_being_written]
    for spare in [*earlier, *_surplus(list(_in_folder())), *_surplus(cut_short)]:
        remove(spare)
    return KeptRun(id, kept, now)


def profiles_of(run_file: Path) -> Path:
    """Returns the folder beside a run file with callgrind's dump of each case and pass."""
    return run_file.with_suffix(".callgrind")


def wrapped_profiles_of(run_file: Path) -> Path:
    """Returns the folder beside a run file with what programs wrote that its cases were profiled
    under."""
    return run_file.with_suffix(".profiles")


def streams_of(run_file: Path) -> Path:
    """Returns the folder beside a run file with the stream of each process of its programs."""
    return run_file.with_suffix(".streams")


BESIDE = (
    (profiles_of, "*.callgrind"),
    (wrapped_profiles_of, "opperf-*"),
    # Those of processes end with `.jsonl`, and the output of a server with `.log`.
    (streams_of, "*.[jl]*"),
)
"""Folders beside a run file, each with the pattern of what opperf leaves there."""

BESIDE_ANY = BESIDE[1:]
"""Those beside a run's output of any format: they are for other tools, too."""


def place_profiles(
    run_file: Path, output: Path, folders: Sequence[tuple[Callable[[Path], Path], str]] = BESIDE
) -> None:
    """Puts a copy of a run file's profiles beside its output, in place of earlier ones. Raises
    `OutputError` if that fails."""
    for folder_of, pattern in folders:
        ours, theirs = folder_of(run_file), folder_of(output)
        try:
            _empty(theirs, pattern)
            if ours.is_dir():
                shutil.copytree(ours, theirs, dirs_exist_ok=True)
        except OSError as error:
            raise unwritable(theirs, error) from error


def _empty(folder: Path, pattern: str) -> None:
    """Removes profiles from a folder. Raises `OSError` if that fails."""
    for path in folder.glob(pattern):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def remove(path: Path) -> None:
    """Removes a kept file, and the profiles beside it. Raises `OutputError` if that fails."""
    try:
        # The file last: a removal that was cut short can be repeated.
        for folder_of, _ in BESIDE:
            if folder_of(path).is_dir():
                shutil.rmtree(folder_of(path))
        # Another process may have removed it.
        path.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{path} cannot be removed: {error.strerror}") from error


def _surplus(runs: Sequence[KeptRun]) -> list[Path]:
    """Returns the oldest files beyond `MOST_KEPT`; those with labels stay for longer."""
    if len(runs) <= MOST_KEPT:
        return []
    latest = sorted(runs, key=lambda run: run.time, reverse=True)
    labelled = {run.path for run in latest if (head := read_head(run.path)) and head.labels}
    first = [run for run in latest if run.path in labelled][:MOST_LABELLED]
    others = [run for run in latest if run not in first]
    return [run.path for run in (*first, *others)[MOST_KEPT:]]


def is_name(text: str) -> bool:
    """Returns whether a text is the name of a kept run, and not of a file."""
    return text.startswith(MARK)


def resolve(text: str) -> Path:
    """Returns the file of `@last`, `@-2` or a shortened `@ID`; a run that is being written has its
    id alone. Raises `UsageError`, which lists the latest runs, for any other name."""
    runs = kept_runs()
    word = text.removeprefix(MARK).casefold()
    place = 1 if word == LAST else int(word[1:]) if re.fullmatch(r"-[1-9]\d*", word) else None
    if place is not None:
        finished = [run for run in runs if not run.is_being_written]
        if place > len(finished):
            raise UsageError(f"{text}: {_what_is_there(finished)}")
        return finished[-place].path
    found = [run for run in runs if word and run.id.startswith(word)]
    if len(found) != 1:
        what = "several kept runs have ids that begin so" if found else "no kept run has this id"
        raise UsageError(f"{text}: {what}; {_what_is_there(found or runs)}")
    return found[0].path


def _what_is_there(runs: Sequence[KeptRun]) -> str:
    if not runs:
        return f"there are no kept runs in {runs_folder()}; `opperf run` leaves one"
    latest = [f"{run.name} of {local_time(run.time)}" for run in reversed(runs[-SHOWN:])]
    count = f"{len(runs)} kept runs" if len(runs) > 1 else "1 kept run"
    return f"there {'are' if len(runs) > 1 else 'is'} {count}: {', '.join(latest)}" + (
        " ...; `opperf runs` lists all" if len(runs) > SHOWN else ""
    )


def local_time(time: datetime) -> str:
    """Returns a time as a user reads it, by the clock of the place."""
    return time.astimezone().strftime("%Y-%m-%d %H:%M")


def path_of(name: str) -> Path:
    """Returns the file of what `display` returns."""
    return resolve(name) if is_name(name) else Path(name)


def display(path: Path) -> str:
    """Returns the name of a kept run, or that of any other output."""
    match = NAME.fullmatch(path.name) if path.parent == runs_folder() else None
    if match is not None:
        return f"{MARK}{match['id']}"
    if path.parent == unfinished_folder() and (id := id_of(path)):
        return f"{MARK}{id}"
    return display_path(path)


def profile_folder(run_file: Path, is_new: bool = False) -> Path:
    """Returns the folder of a run file's dumps, emptied with those of others for a new run."""
    if is_new:
        for folder_of, pattern in BESIDE:
            _empty(folder_of(run_file), pattern)
    return profiles_of(run_file)
