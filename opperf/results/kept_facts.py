"""What a list of kept runs says about each: read from the beginning and the end of its file, as the
records between take a hundred times as long."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from opperf.model import Case, CaseLine, Closing, Header
from opperf.model.runs import EnvironmentLine, RecordLine

END = 4096
"""Bytes at the end of a file that have its closing line, some hundred bytes."""


class RunFacts(msgspec.Struct, frozen=True):
    """What a list says about a run."""

    started: str
    """ISO 8601, UTC."""
    command: str
    cases: tuple[Case, ...]
    """All planned cases, in order."""
    closing: Closing | None
    """None for a run that was not finished."""
    labels: dict[str, str]
    size: int
    """Bytes of the file."""

    @property
    def frameworks(self) -> tuple[str, ...]:
        """The frameworks of the cases."""
        return tuple(dict.fromkeys(case.target.framework for case in self.cases))

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators of the cases."""
        return tuple(dict.fromkeys(case.label for case in self.cases))


_LINE: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
    Header | EnvironmentLine | CaseLine | RecordLine | Closing
)


def read_facts(path: Path) -> RunFacts:
    """Returns the facts of a run file; of a damaged one those before the damage."""
    header, cases = Header(schema=0, started="", options={}), []
    for line in _first_lines(path):
        if isinstance(line, Header):
            header = line
        else:
            cases.append(line.case)
    return RunFacts(
        started=header.started,
        command=str(header.options.get("command", "")),
        cases=tuple(cases),
        closing=_closing(path),
        labels=header.labels,
        size=path.stat().st_size,
    )


def _first_lines(path: Path) -> Iterator[Header | CaseLine]:
    """Yields the header and the planned cases, which come before the environments."""
    with path.open("rb") as file:
        for text in file:
            try:
                line = _LINE.decode(text)
            except (msgspec.DecodeError, UnicodeDecodeError):
                return
            if not isinstance(line, (Header, CaseLine)):
                return
            yield line


def _closing(path: Path) -> Closing | None:
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - END))
        last = file.read().rstrip(b"\n").rpartition(b"\n")[2]
    try:
        return msgspec.json.decode(last, type=Closing)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
