"""The first line of a kept file, the header of a run or of a session of `opperf ab`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from opperf.decoding import decode
from opperf.model import Header
from opperf.model.canonical import digest

ID_BYTES = 4
"""Of a new id: two of 200 are alike in one of 200,000 folders."""


_HEAD: msgspec.json.Decoder[Header] = msgspec.json.Decoder(Header)


def read_head(path: Path) -> Header | None:
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
    head = read_head(path)
    return head is not None and bool(head.session)
