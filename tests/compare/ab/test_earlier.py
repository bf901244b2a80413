"""Sessions under the default name make room for the next one, and are not lost."""

import fcntl

import pytest

from opperf.compare.ab import earlier
from opperf.compare.ab.earlier import can_make_room, make_room, sessions_folder

SESSION = '{"line":"ab","schema":3}\n'


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("OPPERF_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_session_is_kept_with_its_profiles(data):
    (data / "s.jsonl").write_text(SESSION)
    (data / "s.callgrind").mkdir()
    (data / "s.callgrind" / "one").write_text("profile")
    (line,) = make_room([data / "s.jsonl", data / "missing.jsonl"])
    assert not (data / "s.jsonl").exists() and not (data / "s.callgrind").exists()
    (kept,) = sessions_folder().glob("*-s.jsonl")
    assert kept.read_text() == SESSION and line.endswith(f"is kept as {kept}")
    assert (kept.with_suffix(".callgrind") / "one").read_text() == "profile"


def test_the_oldest_are_removed(data, monkeypatch):
    monkeypatch.setattr(earlier, "MOST_KEPT", 2)
    for text in "abc":
        (data / "s.jsonl").write_text(SESSION + text)
        list(make_room([data / "s.jsonl"]))
    left = sorted(path.read_text()[-1] for path in sessions_folder().glob("*.jsonl"))
    assert left == ["b", "c"]


def test_only_sessions_make_room(data):
    path = data / "s.jsonl"
    assert not can_make_room(path)
    path.write_text("a user's own text\n")
    assert not can_make_room(path)
    path.write_text(SESSION)
    assert can_make_room(path)
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert not can_make_room(path)
