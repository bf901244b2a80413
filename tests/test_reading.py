"""What is read of a user's file is bounded, whatever the file is."""

import os

import pytest

from opperf import reading
from opperf.opperf import main

ZERO = "/dev/zero"


@pytest.fixture
def file(tmp_path):
    """Returns a file with this content."""

    def made(content):
        path = tmp_path / "file"
        path.write_bytes(content)
        return path

    return made


def test_a_file_up_to_the_bound_is_read_and_a_larger_one_is_refused(file):
    assert reading.read_bytes(file(b"1234"), 4) == b"1234"
    with pytest.raises(OSError, match="it has more than 4 bytes, the most read of such a file"):
        reading.read_bytes(file(b"12345"), 4)


def test_text_has_the_ends_of_lines_of_unix(file):
    assert reading.read_text(file("é\r\nb\rc\n".encode())) == "é\nb\nc\n"


def test_lines_are_bounded_each_alone(file, monkeypatch):
    monkeypatch.setattr(reading, "LONGEST_LINE", 4)
    path = file(b"123\n123\nend")
    assert list(reading.lines_of(path)) == [b"123\n", b"123\n", b"end"]
    assert reading.first_line(path) == b"123\n"
    monkeypatch.setattr(reading, "LONGEST_FIRST", 2)
    assert reading.first_line(path) == b"12"
    with pytest.raises(OSError, match="a line of more than 4 bytes"):
        list(reading.lines_of(file(b"1\n1234\n")))


def test_what_is_no_file_is_refused_without_being_opened(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    # Opening a pipe would wait for a writer.
    for path, kind in ((ZERO, "a device"), (fifo, "a named pipe")):
        with pytest.raises(OSError, match=f"it is {kind}, not a file"):
            reading.open_file(path)
    with pytest.raises(IsADirectoryError):
        reading.open_file(tmp_path)
    with pytest.raises(FileNotFoundError):
        reading.open_file(tmp_path / "none")


def test_a_pipe_of_a_shell_is_read_up_to_the_bound():
    for content, most in ((b"1234", 4), (b"12345", 4)):
        read, write = os.pipe()
        os.write(write, content)
        os.close(write)
        try:
            if len(content) <= most:
                assert reading.read_bytes(f"/dev/fd/{read}", most) == content
            else:
                with pytest.raises(OSError, match="more than 4 bytes"):
                    reading.read_bytes(f"/dev/fd/{read}", most)
        finally:
            os.close(read)


SUITE = f"include: {ZERO}\n"

DOORS = {
    f"report {ZERO}": "",
    f"compare {ZERO} {ZERO}": "",
    f"merge {ZERO} -o merged.jsonl": "",
    f"aggregate {ZERO}": "",
    f"trace {ZERO}": "",
    f"history import {ZERO} --store h.sqlite": "",
    f"suite check {ZERO}": "",
    "suite check suite.yaml": "suite.yaml:1: include: ",
    f"experiment --axes {ZERO}": "",
}
"""Commands that read a file without an end, with the place that their line has."""


@pytest.mark.parametrize("command", DOORS)
def test_every_entrance_refuses_a_device_in_one_line(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.yaml").write_text(SUITE)
    with pytest.raises(SystemExit) as stop:
        main(command.split())
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith(f"opperf: {DOORS[command]}")
    assert ZERO in line and line.endswith("it is a device, not a file")
