"""Streams: whole lines, whatever happens."""

import os

import pytest

from opperf.errors import OutputError
from opperf.formats.milabench.streams import decode_event
from opperf.programs.streams import StreamWriter, new_path


def read_events(path):
    return [decode_event(line) for line in path.read_bytes().splitlines()]


def test_an_event_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "new" / "a.jsonl"
    writer = StreamWriter(path)
    writer.write("data", {"loss": float("nan"), "text": "ä\n"}, "data")
    writer.write("stop")
    # Before it is closed.
    first, second = read_events(path)
    assert first.pipe == "data" and first.data["text"] == "ä\n"
    assert first.data["loss"] != first.data["loss"]
    assert (second.event, second.data, second.pipe) == ("stop", None, None)
    writer.close()


@pytest.mark.parametrize(
    "line", [b"", b"[1]", b'{"event": 3}', b"\xff", b'{"event": "da', b"[" * 9**6]
)
def test_what_is_no_event_is_none(line):
    assert decode_event(line) is None


def test_a_full_disk_is_counted():
    writer = StreamWriter(None)
    writer._file = os.open("/dev/full", os.O_WRONLY)
    writer.write("data", {})
    writer.write("data", {})
    writer.close()
    assert writer.lost == 2 and "space" in writer.error


def test_a_part_of_a_line_is_taken_back(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    writer = StreamWriter(path)
    writer.write("data", 1)
    write = os.write
    calls = []

    def full(file, content):
        calls.append(content)
        if len(calls) == 1:
            return write(file, content[:5])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    writer.write("data", 2)
    monkeypatch.setattr(os, "write", write)
    writer.write("data", 3)
    writer.close()
    events = list(read_events(path))
    assert [event.data for event in events if event.event == "data"] == [1, 3]
    assert [event.data for event in events if event.event == "message"] == [
        "1 events are not here: No space left on device"
    ]
    assert path.read_bytes().count(b"\n") == 3


def test_a_stream_that_cannot_be_created_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        StreamWriter(tmp_path / "file" / "a.jsonl")


def test_a_path_is_new(tmp_path):
    assert new_path(tmp_path, "a").name == "a.jsonl"
    (tmp_path / "a.jsonl").write_text("")
    assert new_path(tmp_path, "a").name == "a.R1.jsonl"
