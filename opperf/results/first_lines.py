"""The first line of a kept file: the header of a run, or that of a session of `opperf ab`, as far
as what lists and names kept files reads it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from opperf.decoding import decode
from opperf.model import Case, Header, Struct
from opperf.model.canonical import digest

ID_BYTES = 4
"""Of a new id: two of 200 are alike in one of 200,000 folders."""


class SessionPair(Struct, frozen=True):
    """A case of each arm."""

    a: Case
    b: Case


class SessionHead(Struct, frozen=True, tag="ab", tag_field="line"):
    """The first line of a session."""

    started: str = ""
    command: str = ""
    pairs: tuple[SessionPair, ...] = ()
    id: str = ""


Head = Header | SessionHead

_HEAD: msgspec.json.Decoder[Head] = msgspec.json.Decoder(Head)


def read_head(path: Path) -> Head | None:
    """Returns the first line of a run file or session; None of any other file."""
    try:
        with path.open("rb") as file:
            first = file.readline()
        return decode(_HEAD.decode, first)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def id_of(path: Path) -> str:
    """Returns the id of a run file or session; of one whose first line has none a digest of that
    line. Empty for any other file."""
    head = read_head(path)
    return "" if head is None else head.id or digest(head)[: 2 * ID_BYTES]


def is_session(path: Path) -> bool:
    """Returns whether a file is a session of `opperf ab`."""
    return isinstance(read_head(path), SessionHead)
