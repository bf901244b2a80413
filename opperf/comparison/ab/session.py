"""The file of a session: a header, a line of JSON per process, and a closing line.

It holds everything that the analysis needs, so that a session can be resumed, and its verdicts made
again without measuring. `results.lines` writes, locks and repairs its lines.
"""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Union

import msgspec

from opperf.comparison.ab.arms import ArmSpec
from opperf.comparison.ab.pairs import Pair
from opperf.comparison.ab.threads import Threads
from opperf.comparison.statistics.data import Arm, Phase, Replicate, Thresholds
from opperf.comparison.statistics.verdicts import PHASES
from opperf.decoding import decode
from opperf.model import DIFFERENT, Check, Environment, Pass, Struct, Tolerance
from opperf.results.lines import FileKind, LineFile, Parsed, read_lines, reopen
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes

SCHEMA = 3
"""Version of the file's lines, raised when a reader of the old lines would misread the new ones; a
new field with a default is no such change."""


class SessionHeader(Struct, frozen=True, tag="ab", tag_field="line"):
    """First line: the arms, their cases, and how they are compared."""

    schema: int
    started: str
    """ISO 8601, UTC."""
    command: str
    framework: str
    a: ArmSpec
    b: ArmSpec
    environments: dict[Arm, Environment]
    thresholds: Thresholds
    seed: int
    """Seed of the orders of processes and of cases; the selection has that of the inputs."""
    selection: Selection
    """The operators, inputs and settings that the arms have in common."""
    pairs: tuple[Pair, ...]
    alone: dict[str, str]
    """Cases without a partner in the other arm, each with the reason."""
    excluded: dict[str, str]
    """Pairs that do not run in both arms, by their name and inputs, each with the reason."""
    visit_s: dict[str, float]
    """Expected seconds of a process for a pair, by pair."""
    start_s: float
    """Expected seconds until the first process of an arm in a block has started."""
    later_start_s: float
    """Expected seconds until another one of the arm in the block has started, which is a fork if
    the framework supports that."""
    reference_work: bool = False
    """Whether reference work was timed between the calls, to gauge the core's speed."""
    axes: Axes = {}
    """Settings that have several values in both arms, each of which makes a case of its own."""
    tolerance: Tolerance | None = None
    """What the results of A and B may differ by; None if they were not compared."""
    checks: dict[str, Check] = {}
    """How the results of A and B compare, by pair."""
    id: str = ""
    """Identity of the session, which its copies share."""

    @property
    def threads(self) -> Threads:
        """Threads of arms that set none."""
        return Threads(self.selection.settings.threads, self.thresholds.coarse_blocks > 0)

    def arm(self, name: Arm) -> ArmSpec:
        """The arm of that name."""
        return self.a if name == "A" else self.b


class Lost(Struct, frozen=True):
    """Why a process has no figure of a pair."""

    reason: str
    ended: bool = False
    """Whether it ended the process, and so is not tried again in this session."""


class ReplicateLine(Struct, frozen=True, tag="replicate", tag_field="line"):
    """A line for each process that has completed its replicate."""

    replicate: Replicate
    started: str
    wall_s: float
    lost: dict[str, Lost] = {}
    """By pair."""
    spent: dict[str, float] = {}
    """Seconds of `wall_s` in cases, by what they went to."""


class SessionClosing(Struct, frozen=True, tag="closing", tag_field="line"):
    """Last line: the session is complete."""

    finished: str
    counts: dict[str, int]
    """Figures, by their verdict."""


class Session(Struct, frozen=True):
    """The content of a session's file."""

    header: SessionHeader
    lines: tuple[ReplicateLine, ...] = ()
    closing: SessionClosing | None = None

    @property
    def replicates(self) -> tuple[Replicate, ...]:
        """The replicates of all processes."""
        return tuple(line.replicate for line in self.lines)

    @property
    def lost(self) -> dict[str, Lost]:
        """By pair, the last figure lost by the verdicts, or the first one that ended its
        process."""
        return self._lost_in(*PHASES)

    @property
    def coarse_lost(self) -> dict[str, Lost]:
        """The same of the coarse look."""
        return self._lost_in("coarse")

    def _lost_in(self, *phases: Phase) -> dict[str, Lost]:
        found: dict[str, Lost] = {}
        for line in self.lines:
            if line.replicate.phase not in phases:
                continue
            for name, lost in line.lost.items():
                if name not in found or not found[name].ended:
                    found[name] = lost
        return found

    @property
    def has_different_results(self) -> bool:
        """Whether the results of A and B differ in some case."""
        return any(one.outcome == DIFFERENT for one in self.header.checks.values())

    @property
    def ended(self) -> frozenset[str]:
        """Figures of the pairs that have ended a process, and are measured no more."""
        gone = {name for name, lost in self.lost.items() if lost.ended}
        return frozenset(
            key(pair.id, metric)
            for pair in self.header.pairs
            if pair.id in gone
            for metric in pair.a.passes
        )


Line = Union[SessionHeader, ReplicateLine, SessionClosing]

SESSION_FILE = FileKind(
    name="session",
    writer="opperf ab",
    header="ab",
    schema=SCHEMA,
    type=SessionHeader,
    closing=SessionClosing,
    content="session",
)

_LINE: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


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
        """Reopens a file; a torn last line and a closing line are cut off.

        Raises `RunFileError` if it cannot be read or is in use.
        """
        file, parsed = reopen(path, _parse)
        return cls(file, msgspec.structs.replace(parsed.value, closing=None))

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def add(self, line: ReplicateLine) -> None:
        """Appends a replicate. Raises `OutputError` if it cannot be written."""
        self._file.append(line)
        lines = (*self.session.lines, line)
        self.session = msgspec.structs.replace(self.session, lines=lines)

    def close_session(self, closing: SessionClosing) -> None:
        """Appends the closing line: the session is complete."""
        self._file.append(closing)
        self.session = msgspec.structs.replace(self.session, closing=closing)


def read_session(path: Path) -> tuple[Session, list[str]]:
    """The content of a session's file, and warnings about a torn last line.

    Raises `RunFileError` for a damaged file, with the line at fault.
    """
    parsed = _parse(path)
    return parsed.value, parsed.warnings


def _parse(path: Path) -> Parsed[Session]:
    content = read_lines(path, SESSION_FILE, functools.partial(decode, _LINE.decode))
    lines = (line.value for line in content.lines)
    replicates = tuple(line for line in lines if isinstance(line, ReplicateLine))
    session = Session(content.header, replicates, content.closing)
    return Parsed(session, content.kept_bytes, content.warnings)


def key(pair: str, metric: Pass) -> str:
    """The name of a figure among a replicate's values."""
    return f"{pair} {metric}"


def pair_of(name: str) -> str:
    """The pair of a figure."""
    return name.partition(" ")[0]


def metric_of(name: str) -> str:
    """The metric of a figure."""
    return name.partition(" ")[2]
