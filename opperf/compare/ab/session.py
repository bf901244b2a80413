"""The file of a session: a header, a line of JSON per process, and a closing line.

It has everything that the analysis needs, so that it can be gone on with, and its verdicts can be
made again without measuring. How its lines are written, locked and repaired is in
`results.lines`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Union

import msgspec

from opperf.compare.ab.arms import ArmSpec
from opperf.compare.ab.pairs import Pair
from opperf.compare.statistics.data import Arm, Replicate, Rules
from opperf.errors import RunFileError
from opperf.model import Environment, Pass, Struct
from opperf.results.lines import FileKind, LineFile, going_on, read_lines
from opperf.sources.selecting import Selection

SCHEMA = 1
"""Version of the file's lines. Raised when a reader of the old lines would misread the new ones;
adding a field with a default is no such change."""


class SessionHeader(Struct, frozen=True, tag="ab", tag_field="line"):
    """First line: what is compared, and how."""

    schema: int
    started: str
    """ISO 8601, UTC."""
    command: str
    framework: str
    a: ArmSpec
    b: ArmSpec
    environments: dict[Arm, Environment]
    rules: Rules
    seed: int
    """Of the orders of processes and of cases; that of the inputs' contents is the selection's."""
    selection: Selection
    """What the arms have in common, as it was asked for."""
    pairs: tuple[Pair, ...]
    alone: dict[str, str]
    """Cases without a partner in the other arm, each with the reason."""
    excluded: dict[str, str]
    """Pairs that do not run in both arms, by their name and inputs, each with the reason."""
    visit_s: dict[str, float]
    """By pair, the seconds that a process is expected to take for it."""
    start_s: float
    """Seconds a process is expected to take to start."""
    paced: bool = False
    """Whether fixed work was timed between the calls, to tell how fast the core was."""

    def arm(self, name: Arm) -> ArmSpec:
        """What is set in an arm."""
        return self.a if name == "A" else self.b


class Lost(Struct, frozen=True):
    """A figure that a process did not give."""

    reason: str
    ended: bool = False
    """Whether the process ended with it, so that it is not tried again in this session."""


class ReplicateLine(Struct, frozen=True, tag="replicate", tag_field="line"):
    """A line for each process that has visited all it was given."""

    replicate: Replicate
    started: str
    wall_s: float
    lost: dict[str, Lost] = {}
    """By pair."""


class SessionClosing(Struct, frozen=True, tag="closing", tag_field="line"):
    """Last line: there is nothing more to measure."""

    finished: str
    counts: dict[str, int]
    """Figures, by their verdict."""


class Session(Struct, frozen=True):
    """What is in the file of a session."""

    header: SessionHeader
    lines: tuple[ReplicateLine, ...] = ()
    closing: SessionClosing | None = None

    @property
    def replicates(self) -> tuple[Replicate, ...]:
        """What the processes found."""
        return tuple(line.replicate for line in self.lines)

    @property
    def lost(self) -> dict[str, Lost]:
        """By pair, the last figure that was lost, those that ended a process first."""
        found: dict[str, Lost] = {}
        for line in self.lines:
            for name, lost in line.lost.items():
                if name not in found or not found[name].ended:
                    found[name] = lost
        return found


Line = Union[SessionHeader, ReplicateLine, SessionClosing]

SESSION_FILE = FileKind("session of opperf ab", "opperf ab", "ab", SCHEMA, SessionHeader)

_LINE: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


@dataclass(frozen=True)
class _Content:
    """The file as read, and how much of it a writer that goes on may keep."""

    session: Session
    kept_bytes: int
    """Up to the end of the last process's line, without a closing line or a torn tail."""
    warnings: list[str]


class SessionWriter(AbstractContextManager["SessionWriter"]):
    """Appends to the file of a session, each process as it ends, and keeps what is in it at hand.

    Holds an exclusive lock on the file until it is closed.
    """

    def __init__(self, file: LineFile, session: Session) -> None:
        self.session = session
        self._file = file

    @classmethod
    def create(cls, path: Path, header: SessionHeader, overwrite: bool) -> SessionWriter:
        """A new file. Raises `OutputError` if it exists and may not be replaced, or cannot be
        written, and `RunFileError` if another process is writing to it."""
        return cls(LineFile.create(path, header, overwrite=overwrite), Session(header))

    @classmethod
    def resume(cls, path: Path) -> SessionWriter:
        """Go on with a file: a torn last line and a closing line are cut off.

        Raises `RunFileError` if it cannot be read or is in use.
        """
        file, content = going_on(path, _parse)
        return cls(file, msgspec.structs.replace(content.session, closing=None))

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def add(self, line: ReplicateLine) -> None:
        """Append a process. Raises `OutputError` if it cannot be written."""
        self._file.append(line)
        lines = (*self.session.lines, line)
        self.session = msgspec.structs.replace(self.session, lines=lines)

    def close_session(self, closing: SessionClosing) -> None:
        """Append the closing line: there is nothing more to measure."""
        self._file.append(closing)
        self.session = msgspec.structs.replace(self.session, closing=closing)


def read_session(path: Path) -> tuple[Session, list[str]]:
    """What is in the file of a session, and warnings about what was cut short.

    Raises `RunFileError` for a file that cannot be trusted, with the line at fault.
    """
    content = _parse(path)
    return content.session, content.warnings


def _parse(path: Path) -> _Content:
    content = read_lines(path, SESSION_FILE, _LINE.decode)
    kept = content.header.size
    lines: list[ReplicateLine] = []
    closing: SessionClosing | None = None
    for read in content.lines:
        line = read.value
        if closing is not None or isinstance(line, SessionHeader):
            kind = "after the closing line" if closing is not None else "a second header"
            raise RunFileError(f"{path}:{read.number}: {kind}; two sessions seem to be in one file")
        if isinstance(line, SessionClosing):
            closing = line
            continue
        lines.append(line)
        kept += read.size
    session = Session(content.header.value, tuple(lines), closing)
    return _Content(session, kept, content.warnings)


def key(pair: str, metric: Pass) -> str:
    """What a figure is called among a process's values."""
    return f"{pair} {metric}"


def pair_of(name: str) -> str:
    """The pair that a figure is of."""
    return name.partition(" ")[0]


def metric_of(name: str) -> str:
    """The metric that a figure is of."""
    return name.partition(" ")[2]
