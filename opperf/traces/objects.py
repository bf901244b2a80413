"""Reads a large JSON file object by object: those of its one long list, and what is beside it.

A file that was cut short, or lacks commas, as some versions of PyTorch write it, is repaired as far
as it can be, and says so.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from io import BufferedIOBase
from typing import Any

from opperf.decoding import is_deep, may_be_deep, with_whole_characters
from opperf.errors import UsageError
from opperf.traces.anomalies import Anomalies, Anomaly
from opperf.traces.archives import LARGEST, readable

CHUNK = 1 << 20
"""Characters that are read at a time."""

LONGEST = 4 << 20
"""Most characters of one object, and of what precedes the list. A node has at most some hundred
thousand: PyTorch cuts lists after 4,097 elements."""

LIST = re.compile(r'"(nodes|traceEvents)"\s*:\s*\[|^\s*\[')
"""The beginning of the list: of an execution trace, or of a Chrome trace, which may be a list."""

TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+|"', re.DOTALL)
"""A token of JSON; a quotation mark alone is that of a string that does not end."""

MOST_UNREADABLE = 1000
"""Most objects of a list that may be omitted: a file with more of them is something else."""

MOST_OBJECTS = 2_000_000
"""Most objects of a list: the largest traces have fewer, and each takes up to 700 bytes of memory,
together 1.4 GB."""

DECODER = json.JSONDecoder()
SPACE = re.compile(r"[\s,]*")


class Objects:
    """The objects of a file's list, each decoded when it is asked for.

    Raises `UsageError` if the file has no such list, is larger than `LARGEST` bytes, or has an
    object of more than `LONGEST` characters.
    """

    def __init__(self, stream: BufferedIOBase, name: str) -> None:
        self.name = name
        self.kind = ""
        """Name of the list: `nodes`, `traceEvents`; empty before it begins."""
        self.facts: dict[str, Any] = {}
        """Values beside the list, as far as they could be read; whole after the last object."""
        self.anomalies = Anomalies()
        """Numbers of what was repaired."""
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8")("replace")
        self._buffer = ""
        self._position = 0
        self._bytes = 0
        self._has_object = False

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self._begin()
        for _ in range(MOST_OBJECTS):
            self._skip_space()
            if self._at_end():
                self.anomalies[Anomaly.CUT_SHORT] = 1
                return
            if self._buffer[self._position] == "]":
                self._position += 1
                self._end()
                return
            found = self._next()
            if found is None:
                return
            if isinstance(found, dict):
                yield found
            else:
                self._omit()
        raise UsageError(f"{self.name} has more than {MOST_OBJECTS:,} objects, the most read")

    def _omit(self) -> None:
        self.anomalies[Anomaly.UNREADABLE] += 1
        if self.anomalies[Anomaly.UNREADABLE] > MOST_UNREADABLE:
            raise UsageError(
                f"{self.name} is no trace: more than {MOST_UNREADABLE:,} objects of it are no JSON"
            )

    def _begin(self) -> None:
        while (match := LIST.search(self._buffer)) is None:
            if len(self._buffer) > LONGEST or not self._read():
                raise UsageError(
                    f"{self.name} is no trace: it has no list of nodes or of trace events"
                )
        self.kind = match[1] or "traceEvents"
        before = self._buffer[: match.start()].strip().rstrip(",")
        self._add_facts(before + "}" if match[1] else "{}")
        self._position = match.end()

    def _end(self) -> None:
        while len(self._buffer) - self._position <= LONGEST and self._read():
            pass
        self._add_facts("{" + self._buffer[self._position :].strip().lstrip(","))

    def _add_facts(self, text: str) -> None:
        try:
            found = DECODER.raw_decode(text)[0]
        except (ValueError, RecursionError):
            # A file may end with the list, or be cut short after it.
            return
        if isinstance(found, dict) and not is_deep(found):
            self.facts.update(with_whole_characters(found))

    def _skip_space(self) -> None:
        """Goes to the next object, over commas."""
        passed = ""
        while True:
            match = SPACE.match(self._buffer, self._position)
            assert match is not None
            passed += match[0]
            self._position = match.end()
            if self._position < len(self._buffer) or not self._read():
                break
            passed = passed[-1:] if "," not in passed else ","
        is_last = self._at_end() or self._buffer[self._position] == "]"
        if self._has_object and "," not in passed and not is_last:
            self.anomalies[Anomaly.NO_COMMA] += 1

    def _next(self) -> Any:
        """None if the file ends in it."""
        needed = 0
        while True:
            try:
                found, end = DECODER.raw_decode(self._buffer, self._position)
                if end == len(self._buffer) and self._read():
                    # A number may go on.
                    continue
                begin, may_be = self._position, may_be_deep(self._buffer, self._position, end)
                self._position, self._has_object = end, True
                if may_be and is_deep(found):
                    return Anomaly.UNREADABLE
                # Half of a character is escaped: a file's name may have it.
                has_escaped = self._buffer.find("\\u", begin, end) >= 0
                return with_whole_characters(found) if has_escaped else found
            except (ValueError, RecursionError):
                pass
            available = len(self._buffer) - self._position
            if available >= needed:
                end_of = _end_of_value(self._buffer, self._position)
                if end_of is not None:
                    return self._repaired(end_of)
                if available > LONGEST:
                    raise UsageError(
                        f"{self.name} is no trace: an object of it has more than {LONGEST:,} "
                        "characters"
                    )
                # Searched again only where much more is there, as each search is of the whole.
                needed = 2 * available
            if not self._read():
                self.anomalies[Anomaly.CUT_SHORT] = 1
                return None

    def _repaired(self, end: int) -> Any:
        """Returns an object that is no JSON, with the commas that it lacks."""
        text, self._position, self._has_object = self._buffer[self._position : end], end, True
        try:
            found = json.loads(with_commas(text))
        except (ValueError, RecursionError):
            return Anomaly.UNREADABLE
        self.anomalies[Anomaly.NO_COMMA] += 1
        return Anomaly.UNREADABLE if is_deep(found) else with_whole_characters(found)

    def _at_end(self) -> bool:
        return self._position >= len(self._buffer)

    def _read(self) -> bool:
        """Reads further, and forgets what is past; returns whether there was more."""
        with readable(self.name):
            try:
                content = self._stream.read1(CHUNK)
            except EOFError:
                # A compressed file that was cut short, as the list that does not end says.
                content = b""
        self._bytes += len(content)
        if self._bytes > LARGEST:
            raise UsageError(
                f"{self.name} has more than {LARGEST >> 30} GiB of JSON, the most read"
            )
        self._buffer = self._buffer[self._position :] + self._decode.decode(content)
        self._position = 0
        return bool(content)


def _end_of_value(text: str, start: int) -> int | None:
    """By brackets; None if the text ends before."""
    depth = 0
    for match in TOKEN.finditer(text, start):
        token = match[0]
        if token == '"':
            return None
        if token in OPENING:
            depth += 1
        elif token in CLOSING:
            depth -= 1
        if depth <= 0:
            return match.end() if match.end() < len(text) or token in CLOSING else None
    return None


OPENING, CLOSING = ("{", "["), ("}", "]")


def with_commas(text: str) -> str:
    """Returns JSON with the commas that it lacks between elements."""
    made: list[str] = []
    before = ""
    for match in TOKEN.finditer(text):
        token = match[0]
        begins = token in OPENING or token not in ("}", "]", ":", ",")
        ended = before in CLOSING or before not in ("", "{", "[", ":", ",")
        if begins and ended:
            made.append(",")
        made.append(token)
        before = token
    return "".join(made)
