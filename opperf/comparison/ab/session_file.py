"""The file of a session: a run file, which is appended to, read and resumed."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from opperf.comparison.ab.session import Session
from opperf.errors import RunFileError
from opperf.execution.execute import RunFile
from opperf.model import Case, Closing, ProcessLine, Record, Run
from opperf.results.runfile import RunWriter, read_visits


class SessionWriter(AbstractContextManager["SessionWriter"]):
    """Appends to the file of a session, and keeps what is in it at hand.

    Holds an exclusive lock on the file until it is closed.
    """

    def __init__(self, writer: RunWriter, session: Session, earlier: Run | None) -> None:
        self.session = session
        self._writer = writer
        self.earlier = earlier
        """The file's content when it was resumed; None for a new one."""
        self.store = RunFile(writer, earlier)
        """Stores the records of `execution.execute`."""
        for arm, environment in session.environments.items():
            for case in session.cases_of(arm).values():
                self.store.environment(case, environment)

    @classmethod
    def create(cls, path: Path, session: Session, overwrite: bool) -> SessionWriter:
        """Returns the writer of a new file. Raises `OutputError` if it exists and may not be
        replaced, or cannot be written, and `RunFileError` if another process is writing to it."""
        environments = session.environments.values()
        cases = session.cases.values()
        writer = RunWriter.create(path, session.header, cases, overwrite, environments)
        return cls(writer, session, None)

    @classmethod
    def resume(cls, path: Path) -> SessionWriter:
        """Returns the writer of a file that is there; a torn last line and a closing line are cut
        off.

        Raises `RunFileError` if it cannot be read or is in use.
        """
        writer = RunWriter.resume(path)
        try:
            run, _ = read_visits(path)
            return cls(writer, session_of(path, run), run)
        except BaseException:
            writer.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        self._writer.__exit__()

    def plan(self, cases: Iterable[Case]) -> None:
        """Appends further cases. Raises `OutputError` if they cannot be written."""
        new = {case.id: case for case in cases if case.id not in self.session.cases}
        if new:
            self._writer.case(*new.values())
            self.session.cases.update(new)

    def add(self, line: ProcessLine, records: Iterable[Record]) -> None:
        """Appends that a process has measured its cases, whose records are stored. Raises
        `OutputError` if it cannot be written."""
        self._writer.process(line)
        self.session.add(line, records)

    def close_session(self, closing: Closing) -> None:
        """Appends the closing line: the session is complete."""
        self._writer.close_run(closing)
        self.session.closing = closing


def read_session(path: Path) -> tuple[Session, list[str]]:
    """Returns the content of a session's file, and warnings about a torn last line.

    Raises `RunFileError` for a damaged file, with the line at fault, and for a run.
    """
    run, warnings = read_visits(path)
    return session_of(path, run), warnings


def session_of(path: Path, run: Run) -> Session:
    """Returns the session that a file has. Raises `RunFileError` for a run."""
    try:
        return Session.of(run)
    except RunFileError as error:
        raise RunFileError(f"{path}: {error}") from error
