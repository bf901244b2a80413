"""The results of a scan, and their file: a header, a line of JSON per result, a closing line."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Union

import msgspec

from benchmarks.inputs.option_scan.confirm import Pairs
from benchmarks.inputs.option_scan.screen import Screened
from opperf.comparison.ab.session import Session
from opperf.comparison.ab.session_file import read_session
from opperf.errors import OpperfError
from opperf.model.declaring import Struct
from opperf.results.lines import LineFile, encode_lines
from opperf.sources.selecting import Selection


class Scan(Struct, frozen=True, tag="scan", tag_field="line"):
    """First line: what is scanned."""

    schema: int
    framework: str
    version: str
    selection: Selection
    configurations: int


class Done(Struct, frozen=True, tag="done", tag_field="line"):
    """Last line: everything is screened and confirmed."""

    seconds: float


Line = Union[Scan, Screened, Pairs, Done]

_LINE: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


class Round(NamedTuple):
    """What is confirmed together, in a session of its own."""

    pairs: Pairs
    path: Path
    """The session's file."""

    @property
    def session(self) -> Session:
        """The session so far."""
        return read_session(self.path)[0]


class Results(AbstractContextManager["Results"]):
    """What a scan has found, in memory and in its file."""

    def __init__(
        self, path: Path, header: Scan, lines: Sequence[Line], file: LineFile | None = None
    ) -> None:
        self._path, self.header, self._file = path, header, file
        self.screened: list[Screened] = []
        self.rounds: list[Round] = []
        for line in lines:
            self._take(line)

    @classmethod
    def open(cls, path: Path, header: Scan) -> Results:
        """A new file, or one to go on with.

        Raises `OpperfError` for a damaged file, and for one of another scan.
        """
        if not path.exists():
            return cls(path, header, (), LineFile.create(path, encode_lines(header)))
        content = _read(path)
        if content.header != header:
            raise OpperfError(f"{path} is of another scan; name another file")
        file = LineFile.open(path)
        file.cut(content.kept_bytes)
        return cls(path, header, content.lines, file)

    @classmethod
    def read(cls, path: Path) -> Results:
        """The results in a file, to be shown only."""
        content = _read(path)
        return cls(path, content.header, content.lines)

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, line: Line) -> None:
        """Keeps a line, on disk at once."""
        if self._file is not None:
            self._file.append(encode_lines(line))
        self._take(line)

    def _take(self, line: Line) -> None:
        if isinstance(line, Screened):
            self.screened.append(line)
        elif isinstance(line, Pairs):
            self.rounds.append(Round(line, self.next_session))

    @property
    def next_session(self) -> Path:
        """The file of the next round's session, beside the scan's."""
        return self._path.with_suffix(f".{len(self.rounds)}{self._path.suffix}")

    def of_process(self, process: int) -> dict[str, Screened]:
        """The results of a screening process, by variant."""
        return {one.key: one for one in self.screened if one.process == process}


class _Content(NamedTuple):
    header: Scan
    lines: list[Line]
    kept_bytes: int
    """Bytes before the last line's end, or before a closing line."""


def _read(path: Path) -> _Content:
    texts = path.read_bytes().splitlines(keepends=True)
    # The last line may have been cut short.
    whole = [text for text in texts if text.endswith(b"\n")]
    try:
        header, *lines = map(_LINE.decode, whole)
    except ValueError as error:
        raise OpperfError(f"{path}: not a scan of options: {error}") from error
    if not isinstance(header, Scan):
        raise OpperfError(f"{path}: not a scan of options")
    if lines and isinstance(lines[-1], Done):
        del lines[-1], whole[-1]
    return _Content(header, lines, sum(map(len, whole)))
