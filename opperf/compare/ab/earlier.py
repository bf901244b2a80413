"""Files of earlier sessions under the default name, for which the user did not ask: they make room
for the next session, and are kept in the data folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path

from opperf.errors import RunFileError
from opperf.folders import data_folder
from opperf.results.kept import TIME, profiles_of, remove
from opperf.results.lines import check_free
from opperf.results.runfile import is_run_file
from opperf.results.unwritable import unwritable

MOST_KEPT = 100
"""Maximum number of files of earlier sessions that are kept, some hundred kilobytes each."""


def sessions_folder() -> Path:
    """Returns the folder of the earlier sessions' files."""
    return data_folder() / "sessions"


def can_make_room(path: Path) -> bool:
    """Returns whether a file is one of a session, which no process is writing to."""
    try:
        if not path.is_file() or path.is_symlink() or not is_run_file(path):
            return False
        check_free(path)
    except RunFileError:
        return False
    return True


def make_room(paths: Iterable[Path]) -> Iterable[str]:
    """Moves the files that exist to the folder of the earlier sessions, with their profiles, and
    yields a line about each. Raises `OutputError` if that fails: measurements would be lost."""
    folder = sessions_folder()
    now = datetime.now(timezone.utc).strftime(TIME)
    for path in paths:
        if not path.is_file():
            continue
        kept = folder / f"{now}-{path.name}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            shutil.move(path, kept)
            if profiles_of(path).is_dir():
                shutil.move(profiles_of(path), profiles_of(kept))
        except OSError as error:
            raise unwritable(kept, error) from error
        yield f"the earlier {path} is kept as {kept}"
    # Names begin with the time.
    for one in sorted(folder.glob("*.jsonl"))[:-MOST_KEPT] if folder.is_dir() else ():
        remove(one)
