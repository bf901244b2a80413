"""Files of lines, of a kind made up for the tests."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import os
from pathlib import Path

import msgspec
import pytest

from opperf.errors import OutputError, RunFileError
from opperf.model import Struct
from opperf.results.lines import (
    Content,
    FileKind,
    LineFile,
    NumberedLine,
    Parsed,
    check_free,
    read_lines,
    reopen,
)


class Start(Struct, frozen=True, tag="start", tag_field="line"):
    schema: int
    text: str = "begun"


class Entry(Struct, frozen=True, tag="entry", tag_field="line"):
    value: int


class End(Struct, frozen=True, tag="end", tag_field="line"):
    text: str = "done"


KIND = FileKind("diary", "opperf keep-diary", "start", 3, Start, End, "week")

START = Start(3)

HEADER = b'{"line":"start","schema":3}\n'

END = b'{"line":"end"}\n'


def line(value: int) -> bytes:
    return b'{"line":"entry","value":%d}\n' % value


def read(path: Path) -> Content[Start | Entry | End]:
    return read_lines(path, KIND, msgspec.json.Decoder(Start | Entry | End).decode)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "diary.jsonl"


def open_files(folder: Path) -> list[str]:
    """Files of a folder that this process has open, deleted ones too; others are other tests'."""
    opened = []
    for descriptor in Path("/proc/self/fd").iterdir():
        # That of the list itself is closed by now.
        with contextlib.suppress(OSError):
            opened.append(str(descriptor.readlink()))
    return sorted(file for file in opened if file.startswith(f"{folder}/"))


def test_lines_are_numbered_from_the_header_on(path: Path) -> None:
    path.write_bytes(HEADER + line(7) + line(123))
    assert read(path) == Content(
        START,
        [NumberedLine(2, Entry(7), len(line(7))), NumberedLine(3, Entry(123), len(line(123)))],
        None,
        len(HEADER + line(7) + line(123)),
        [],
    )


@pytest.mark.parametrize("torn", [b"", b'{"line":"en'])
def test_a_closing_line_is_apart_and_cut_off_when_resumed(path: Path, torn: bytes) -> None:
    path.write_bytes(HEADER + line(7) + END + torn)
    content = read(path)
    assert (content.closing, content.kept_bytes) == (End(), len(HEADER + line(7)))
    assert [one.value for one in content.lines] == [Entry(7)] and len(content.warnings) == bool(
        torn
    )


@pytest.mark.parametrize(
    "lines, number, what",
    [
        (HEADER, 2, "a second header"),
        (line(1) + HEADER + line(2), 3, "a second header"),
        (END + line(1), 3, "after the closing line"),
        (line(1) + END + END + END, 4, "after the closing line"),
        (END + HEADER, 3, "after the closing line"),
    ],
)
def test_two_files_in_one(path: Path, lines: bytes, number: int, what: str) -> None:
    path.write_bytes(HEADER + lines)
    with pytest.raises(RunFileError) as caught:
        read(path)
    assert str(caught.value) == f"{path}:{number}: {what}; two weeks seem to be in one file"


def test_what_was_read_stays_as_it_is(path: Path) -> None:
    path.write_bytes(HEADER)
    content = read(path)
    for part in (KIND, content, Parsed("", 0, [])):
        with pytest.raises(dataclasses.FrozenInstanceError):
            part.value = 5  # type: ignore[union-attr]


def test_what_is_written_can_be_read(path: Path) -> None:
    with LineFile.create(path, Start(3, "now")) as file:
        file.append(Entry(1))
        file.append(Entry(2))
    content = read(path)
    assert content.header == Start(3, "now")
    assert [numbered.value for numbered in content.lines] == [Entry(1), Entry(2)]


@pytest.mark.parametrize("tail", [b"{", b'{"line":"entry","value":1}', b"\0\0"])
def test_what_follows_the_last_newline_is_left_out(path: Path, tail: bytes) -> None:
    path.write_bytes(HEADER + line(1) + tail)
    content = read(path)
    assert len(content.lines) == 1
    assert content.warnings == [f"{path}: the last line was cut short and is ignored"]


def test_one_line_may_be_cut_short_and_no_more(path: Path) -> None:
    path.write_bytes(HEADER + line(1) + b"{\n")
    assert len(read(path).lines) == 1
    for damaged in (b"{\n{", b"{\n{\n"):
        path.write_bytes(HEADER + line(1) + damaged)
        with pytest.raises(RunFileError, match=r"diary.jsonl:3: not a line of a diary: "):
            read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a diary: the file is empty"),
        (HEADER[:-1], "not a diary: the header is cut short"),
        (b"5\n", "not an opperf diary; write one with opperf keep-diary"),
        (
            b'{"line":"%s","schema":3}\n' % (b"x" * 50),
            f"not a diary, which `opperf keep-diary` writes: its first line is of the kind "
            f"'{'x' * 37}...'",
        ),
        (
            b'{"line":"start","schema":2}\n',
            "written in version 2 of the diary and this opperf reads version 3; read it with the "
            "opperf that wrote it",
        ),
        (b'{"line":"start","schema":4}\n', "written in version 4 of the diary"),
        (b'{"line":"start","schema":3,"text":5}\n', "the header is damaged: Expected `str`"),
    ],
)
def test_a_header_that_is_none(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)
    with pytest.raises(RunFileError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:1: {message}")


def test_going_on_after_what_is_kept(path: Path) -> None:
    path.write_bytes(HEADER + line(1) + line(2))

    parsed = Parsed("first", len(HEADER + line(1)), [])
    file, content = reopen(path, lambda path: parsed)
    with file:
        file.append(Entry(3))
    assert content is parsed
    assert path.read_bytes() == HEADER + line(1) + line(3)


def test_a_file_that_is_replaced_holds_nothing_of_the_old_one(path: Path) -> None:
    path.write_bytes(b"old " * 100)
    with LineFile.create(path, START, overwrite=True):
        assert path.read_bytes() == HEADER
    with pytest.raises(OutputError, match="exists; add --overwrite to replace it, or --resume"):
        LineFile.create(path, START)
    assert path.read_bytes() == HEADER


def test_permissions_are_those_of_any_new_file(path: Path) -> None:
    path.with_name("plain").touch()
    LineFile.create(path, START).close()
    assert path.stat().st_mode == path.with_name("plain").stat().st_mode


def test_a_write_that_takes_a_part_is_gone_on_with(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:5]))
    with LineFile.create(path, START) as file:
        file.append(Entry(1))
    assert path.read_bytes() == HEADER + line(1)


def test_lines_that_fail_leave_what_was_there(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left")

    with LineFile.create(path, START) as file:
        for value in range(3):
            file.append(Entry(value))
            with monkeypatch.context() as patched:
                patched.setattr(os, "fsync", full)
                for _ in range(2):
                    with pytest.raises(OutputError, match="No space left; free space there"):
                        file.append(Entry(1000))
        assert path.read_bytes() == HEADER + line(0) + line(1) + line(2)


def test_a_file_is_let_go_of_when_it_cannot_be_begun(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        LineFile.create(path, START)
    assert not open_files(path.parent) and not path.exists()


def test_a_file_is_let_go_of_when_it_cannot_be_gone_on_with(path: Path) -> None:
    path.write_bytes(b"damaged\n")
    with pytest.raises(RunFileError):
        reopen(path, lambda path: Parsed(read(path), 0, []))
    assert not open_files(path.parent)
    check_free(path)


def test_a_file_that_is_in_use_is_let_go_of(path: Path) -> None:
    with LineFile.create(path, START):
        before = open_files(path.parent)
        assert before
        for attempt in (
            lambda: LineFile.open(path),
            lambda: LineFile.create(path, START, overwrite=True),
            lambda: check_free(path),
        ):
            with pytest.raises(RunFileError, match="is being written by another opperf"):
                attempt()
        assert open_files(path.parent) == before
        assert path.read_bytes() == HEADER


def test_a_file_that_was_replaced_before_it_was_locked_is_in_use(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(HEADER)
    path.with_name("new").write_bytes(HEADER)
    monkeypatch.setattr(fcntl, "flock", lambda *_: path.with_name("new").replace(path))
    with pytest.raises(RunFileError, match="is being written by another opperf"):
        LineFile.open(path)


def test_a_disk_without_links(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    LineFile.create(path, START).close()
    assert path.read_bytes() == HEADER
    with pytest.raises(OutputError, match="exists; add --overwrite"):
        LineFile.create(path, START)


def test_a_file_may_be_looked_at_by_several(path: Path) -> None:
    path.write_bytes(HEADER)
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        check_free(path)
        with pytest.raises(RunFileError, match="another opperf"):
            LineFile.open(path)


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (errno.EACCES, RunFileError, "is being written by another opperf"),
        (errno.ENOLCK, OutputError, "cannot be written: No locks"),
    ],
)
def test_a_disk_that_does_not_lock(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[Exception], words: str
) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        assert operation & fcntl.LOCK_NB, "nobody waits"
        raise OSError(number, "No locks")

    path.write_bytes(HEADER)
    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(kind, match=words):
        LineFile.open(path)
    with pytest.raises(kind, match=words):
        LineFile.create(path, START, overwrite=True)
    assert path.read_bytes() == HEADER
