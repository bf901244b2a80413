"""The file of a session that a node of a cluster measures, on the machine of the manager."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from opperf.comparison.ab.session import Session
from opperf.comparison.ab.session_file import read_session
from opperf.errors import UsageError
from opperf.reading import open_file
from opperf.requests.ab.keeping import can_make_room, make_room
from opperf.requests.declaring import Say
from opperf.results.lines import LineFile
from opperf.results.output import check_output
from opperf.results.runfile import kept_size


class SessionCopy(AbstractContextManager["SessionCopy"]):
    """Appends what comes from the node. Until something does, a file that exists stays as it is.

    Raises `UsageError` if there is no session to resume, `RunFileError` for any other file and for
    one that another process writes to, and `OutputError` for one that may not be replaced.
    """

    def __init__(
        self, path: Path, resumes: bool, overwrite: bool, is_default: bool, say: Say
    ) -> None:
        self.path, self._is_default, self._say = path, is_default, say
        self._overwrite = overwrite
        self.earlier: Session | None = None
        """The session that is resumed."""
        self.content = b""
        """Its lines that the node is given."""
        self._file: LineFile | None = None
        if resumes:
            if not path.exists():
                raise UsageError(f"{path}: there is no session to resume; run without --resume")
            self._file = LineFile.open(path)
            self.earlier, _ = read_session(path)
            with open_file(path) as file:
                self.content = file.read(kept_size(path))
        else:
            check_output(path, overwrite or (is_default and can_make_room(path)))
        self.size = len(self.content)
        """Bytes that are here of the node's file."""
        self.has_new = False

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, lines: bytes) -> None:
        """Appends whole lines. Raises `OutputError`, with the file as before."""
        if not lines:
            return
        if self._file is None:
            self._file = self._create(lines)
        else:
            # Behind a closing line, or what an interruption left of a line.
            self._file.cut(self.size)
            self._file.append_encoded(lines)
        self.size += len(lines)
        self.has_new = True

    def _create(self, lines: bytes) -> LineFile:
        if self._is_default and not self._overwrite:
            for line in make_room(self.path):
                self._say(line)
        return LineFile.create_encoded(self.path, lines, self._overwrite)
