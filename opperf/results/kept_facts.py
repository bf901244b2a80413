"""Facts of kept files, from both their ends: reading all takes a hundred times as long."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from opperf.decoding import decode, decode_as
from opperf.model import Case, CaseLine, Header, Struct
from opperf.model.declaring import digest
from opperf.model.runs import EnvironmentLine, ProcessLine, RecordLine
from opperf.reading import first_line, lines_of, open_file

ID_BYTES = 4
"""Of a new id: two of 200 are alike in one of 200,000 folders."""


def read_head(path: Path) -> Header | None:
    """Returns the first line of a run file or session; None of any other file."""
    try:
        return decode_as(first_line(path), Header)
    except (OSError, msgspec.DecodeError):
        return None


def id_of(path: Path) -> str:
    """Returns the id of a run or session, or a digest of its header; empty for any other file."""
    head = read_head(path)
    return "" if head is None else head.id or digest(head)[: 2 * ID_BYTES]


def is_session(path: Path) -> bool:
    """Returns whether a file is a session of `opperf ab`."""
    head = read_head(path)
    return head is not None and bool(head.session)


END = 4096
"""Bytes at the end of a file that have its closing line, some hundred bytes."""


RUN, SESSION = "run", "ab"
"""Kinds of what is kept: a run, a session of `opperf ab`."""


class _End(Struct, frozen=True, tag="closing", tag_field="line"):
    """The last line of a finished run or session."""


class RunFacts(msgspec.Struct, frozen=True):
    """Facts that a list says about a run, or a session."""

    kind: str
    started: str
    command: str
    cases: tuple[Case, ...]
    count: int
    """Number of planned cases; of a session that of its groups."""
    is_finished: bool
    labels: dict[str, str]
    size: int

    @property
    def frameworks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(case.target.framework for case in self.cases))

    @property
    def operators(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(case.label for case in self.cases))


_LINE: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
    Header | EnvironmentLine | CaseLine | RecordLine | ProcessLine | _End
)


def read_facts(path: Path) -> RunFacts:
    """Returns the facts of a file; of a damaged one those before the damage."""
    head = Header(schema=0, started="", options={})
    cases = []
    for line in _first_lines(path):
        if isinstance(line, CaseLine):
            cases.append(line.case)
        else:
            head = line
    is_finished, size = _is_finished(path), path.stat().st_size
    groups = head.session.get("groups")
    groups = groups if isinstance(groups, list) else None if groups is None else ()
    return RunFacts(
        kind=RUN if groups is None else SESSION,
        started=head.started,
        command=str(head.options.get("command", "")),
        cases=tuple(cases),
        count=len(cases if groups is None else groups),
        is_finished=is_finished,
        labels=head.labels,
        size=size,
    )


def _first_lines(path: Path) -> Iterator[Header | CaseLine]:
    """Yields the header and the planned cases, which come before the environments."""
    for text in lines_of(path):
        try:
            line = decode(_LINE.decode, text)
        except msgspec.DecodeError:
            return
        if not isinstance(line, Header | CaseLine):
            return
        yield line


def _is_finished(path: Path) -> bool:
    with open_file(path) as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - END))
        last = file.read().rstrip(b"\n").rpartition(b"\n")[2]
    try:
        decode_as(last, _End)
    except msgspec.DecodeError:
        return False
    return True
