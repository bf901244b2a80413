"""The lines of run files: how they are appended, locked and read."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from pathlib import Path

import msgspec
import pytest

from opperf.errors import OutputError, RunFileError
from opperf.model import SCHEMA_VERSION, Header
from opperf.results.lines import LineFile, check_free, encode_lines, read_lines
from opperf.results.runfile import RunWriter

HEADER = encode_lines(Header(schema=SCHEMA_VERSION, started="now", options={}))


def line(value: int) -> bytes:
    return b"[%d]\n" % value


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def open_files(folder: Path) -> list[str]:
    """Files of a folder that this process has open, deleted ones too; others are other tests'."""
    opened = []
    for descriptor in Path("/proc/self/fd").iterdir():
        # That of the list itself is closed by now.
        with contextlib.suppress(OSError):
            opened.append(str(descriptor.readlink()))
    return sorted(file for file in opened if file.startswith(f"{folder}/"))


def test_what_is_written_can_be_read(path: Path) -> None:
    with LineFile.create(path, HEADER) as file:
        file.append(line(7))
        file.append(line(123))
    content = read_lines(path, msgspec.json.decode)
    assert content.header.started == "now" and content.lines == [(2, [7]), (3, [123])]
    assert content.kept_bytes == len(HEADER + line(7) + line(123))


def test_one_line_may_be_cut_short_and_no_more(path: Path) -> None:
    path.write_bytes(HEADER + line(1) + b"{\n")
    assert len(read_lines(path, msgspec.json.decode).lines) == 1
    for damaged in (b"{\n{", b"{\n{\n"):
        path.write_bytes(HEADER + line(1) + damaged)
        with pytest.raises(RunFileError, match=r"run.jsonl:3: not a line of a run file: "):
            read_lines(path, msgspec.json.decode)


def test_a_file_that_is_replaced_holds_nothing_of_the_old_one(path: Path) -> None:
    path.write_bytes(b"old " * 100)
    with LineFile.create(path, HEADER, overwrite=True):
        assert path.read_bytes() == HEADER
    with pytest.raises(OutputError, match="exists; add --overwrite to replace it, or --resume"):
        LineFile.create(path, HEADER)
    assert path.read_bytes() == HEADER


def test_permissions_are_those_of_any_new_file(path: Path) -> None:
    path.with_name("plain").touch()
    LineFile.create(path, HEADER).close()
    assert path.stat().st_mode == path.with_name("plain").stat().st_mode


def test_a_write_that_takes_a_part_is_gone_on_with(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:5]))
    with LineFile.create(path, HEADER) as file:
        file.append(line(1))
    assert path.read_bytes() == HEADER + line(1)


def test_lines_that_fail_leave_what_was_there(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left")

    with LineFile.create(path, HEADER) as file:
        for value in range(3):
            file.append(line(value))
            with monkeypatch.context() as patched:
                patched.setattr(os, "fsync", full)
                for _ in range(2):
                    with pytest.raises(OutputError, match="No space left; free space there"):
                        file.append(line(1000))
        assert path.read_bytes() == HEADER + line(0) + line(1) + line(2)


def test_a_file_is_let_go_of_when_it_cannot_be_begun(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        LineFile.create(path, HEADER)
    assert not open_files(path.parent) and not path.exists()


def test_a_file_is_let_go_of_when_it_cannot_be_gone_on_with(path: Path) -> None:
    path.write_bytes(b"damaged\n")
    with pytest.raises(RunFileError):
        RunWriter.resume(path)
    assert not open_files(path.parent)
    check_free(path)


def test_a_file_that_is_in_use_is_let_go_of(path: Path) -> None:
    with LineFile.create(path, HEADER):
        before = open_files(path.parent)
        assert before
        for attempt in (
            lambda: LineFile.open(path),
            lambda: LineFile.create(path, HEADER, overwrite=True),
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
    LineFile.create(path, HEADER).close()
    assert path.read_bytes() == HEADER
    with pytest.raises(OutputError, match="exists; add --overwrite"):
        LineFile.create(path, HEADER)


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
        LineFile.create(path, HEADER, overwrite=True)
    assert path.read_bytes() == HEADER
