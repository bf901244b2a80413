"""A run file's lines, and what a run was made in."""

from __future__ import annotations

from typing import Any

import msgspec

from opperf.model.base import Struct
from opperf.model.canonical import ID_LENGTH, digest
from opperf.model.cases import Case
from opperf.model.records import Outcome, Record

SCHEMA_VERSION = 2
"""Version of the run file's lines. Raised when a reader of the old lines would misread
the new ones; adding a field with a default is no such change."""


class Environment(Struct, frozen=True):
    """What a reader needs in order to trust or distrust a number."""

    opperf: str
    framework: str
    versions: dict[str, str]
    features: dict[str, bool]
    python: str
    platform: str
    hostname: str
    cpu: str
    cores: int
    threads: dict[str, str]
    """Thread settings in force, by environment variable."""
    memory_bytes: int
    load_1min: float
    governor: str
    devices: tuple[str, ...]
    allocator: str = ""
    """What was asked of the C library's allocator, as that decides how often fresh pages
    are faulted in."""
    health: dict[str, str] = {}
    """What else makes timings noisy, by finding of `opperf doctor`: how each stands, `unknown`
    where it cannot be read. What is of the moment is `ok` unless it made timings noisy."""

    commit: str = ""
    """Of the framework's source, where the build says it."""
    caches: dict[str, str] = {}
    """Sizes of the CPU's caches, by level."""
    gpus: tuple[dict[str, str], ...] = ()
    """Facts about each GPU: model, driver, CUDA, memory, largest clocks."""

    @property
    def id(self) -> str:
        """Hash of the content."""
        return digest(self)[:ID_LENGTH]


class Interpreter(Struct, frozen=True):
    """A Python interpreter that measures, of another environment than opperf's own."""

    path: str
    label: str = ""
    """`Settings.python` of the cases that it measures."""
    framework: str = ""
    """The one framework it is for; empty for all."""

    def __str__(self) -> str:
        """As `--python` takes it."""
        label = f"{self.label}:" if self.label else ""
        framework = f"{self.framework}=" if self.framework else ""
        return f"{label}{framework}{self.path}"


class Header(Struct, frozen=True, tag="header", tag_field="line"):
    """First line of a run file."""

    schema: int
    started: str
    """ISO 8601, UTC."""
    options: dict[str, Any]
    excluded: dict[str, str] = {}
    """What was asked for and has no case, each with the reason: operators that no rule makes
    inputs for."""
    labels: dict[str, str] = {}
    """The user's own words about the run: commit, branch, build."""
    interpreters: tuple[Interpreter, ...] = ()


class EnvironmentLine(Struct, frozen=True, tag="environment", tag_field="line"):
    """A line of a run file that holds an environment, before the first record made in it."""

    id: str
    environment: Environment


class CaseLine(Struct, frozen=True, tag="case", tag_field="line"):
    """A line of a run file that holds a planned case; they come in the planned order."""

    id: str
    case: Case


class RecordLine(Outcome, frozen=True, kw_only=True, tag="record", tag_field="line"):
    """A line of a run file that holds what came of a planned case."""

    id: str
    """Of the case."""

    @classmethod
    def of(cls, record: Record) -> RecordLine:
        """The line of a record."""
        return cls(id=record.id, **{name: getattr(record, name) for name in _OUTCOME})

    def record(self, case: Case) -> Record:
        """The record, with its case."""
        return Record(case=case, id=self.id, **{name: getattr(self, name) for name in _OUTCOME})


_OUTCOME = tuple(field.name for field in msgspec.structs.fields(Outcome))


class Closing(Struct, frozen=True, tag="closing", tag_field="line"):
    """Last line of a run file: the run was finished."""

    finished: str
    elapsed_s: float
    counts: dict[str, int]


class Run(Struct, frozen=True):
    """A run file's content."""

    header: Header
    records: tuple[Record, ...]
    closing: Closing | None = None
    environments: dict[str, Environment] = {}
    """By id, in the order in which they were first used."""
    cases: tuple[Case, ...] = ()
    """All that were planned, in order."""

    @property
    def planned(self) -> tuple[str, ...]:
        """The ids of the planned cases, in order."""
        return tuple(case.id for case in self.cases)

    @property
    def environment(self) -> Environment:
        """The first environment, which most runs have only."""
        return next(iter(self.environments.values()))
