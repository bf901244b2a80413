"""Sessions are kept and called by name; those under the default name make room for the next one."""

import fcntl
from pathlib import Path

import pytest

from opperf.commands.ab.keeping import can_make_room, locate_report, make_room
from opperf.errors import UsageError
from opperf.results.kept import keep, kept_runs
from opperf.results.kept_facts import read_facts
from opperf.results.run_files import check_is_run, locate

SESSION = (
    '{"line":"header","schema":2,"started":"","id":"aa11","options":{"command":"opperf ab relu"},'
    '"session":{"groups":[]}}\n'
)


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("OPPERF_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("OPPERF_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def session(data):
    path = data / "s.jsonl"
    path.write_text(SESSION)
    return path


def test_a_session_is_kept_with_its_profiles_and_makes_room(data, session):
    (data / "s.callgrind").mkdir()
    (data / "s.callgrind" / "one").write_text("profile")
    assert list(make_room(data / "missing.jsonl")) == []
    (line,) = make_room(session)
    assert not session.exists() and not (data / "s.callgrind").exists()
    (kept,) = kept_runs()
    assert kept.path.read_text() == SESSION and line.endswith("is kept as @aa11")
    assert (kept.path.with_suffix(".callgrind") / "one").read_text() == "profile"
    assert read_facts(kept.path).kind == "ab" and not read_facts(kept.path).is_finished


def test_a_session_that_is_kept_already_stays_in_its_place(data, session):
    first = keep(session)
    other = data / "other.jsonl"
    other.write_text(SESSION.replace("aa11", "bb22"))
    keep(other)
    list(make_room(session))
    assert not session.exists() and [run.id for run in kept_runs()] == ["aa11", "bb22"]
    assert kept_runs()[0] == first
    # A later state of it is kept in place of the earlier one.
    session.write_text(SESSION + '{"line":"closing","finished":"","elapsed_s":1,"counts":{}}\n')
    list(make_room(session))
    assert [run.id for run in kept_runs()] == ["bb22", "aa11"]
    assert read_facts(kept_runs()[1].path).is_finished


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


def test_a_session_is_resumed_by_its_name_or_path(session):
    kept = keep(session)
    usual = {"report": "opperf_ab.jsonl"}
    for resume, report, path in (
        ("", "opperf_ab.jsonl", "opperf_ab.jsonl"),
        ("@aa11", "opperf_ab.jsonl", kept.path),
        ("@last", "opperf_ab.jsonl", kept.path),
        ("s.jsonl", "opperf_ab.jsonl", "s.jsonl"),
        ("", "@aa11", kept.path),
    ):
        given, changed = locate_report({**usual, "resume": resume, "report": report}, {})
        assert (given["resume"], str(given["report"])) == (True, str(path))
        assert ("report" in changed) is (path != "opperf_ab.jsonl")
    assert locate_report({**usual, "resume": None}, {})[0] == {**usual, "resume": False}


@pytest.mark.parametrize(
    "given, changed, words",
    [
        ({"resume": None, "report": "@aa11"}, ("report",), "--resume @aa11 goes on with it"),
        ({"resume": "@aa11", "report": "b.jsonl"}, ("report",), "name the session once"),
        ({"resume": "@cc33", "report": "a.jsonl"}, (), "@cc33: no kept run has this id"),
    ],
)
def test_a_name_that_cannot_be_meant_is_refused(session, given, changed, words):
    keep(session)
    with pytest.raises(UsageError, match=words):
        locate_report(given, dict.fromkeys(changed))


@pytest.mark.parametrize("name", ["@aa11", "@last", "s.jsonl"])
def test_a_session_is_read_as_a_run_and_is_not_resumed_as_one(session, name):
    kept = keep(session)
    path = locate(name)
    assert path == (Path("s.jsonl") if name == "s.jsonl" else kept.path)
    shown = "s.jsonl" if name == "s.jsonl" else "@aa11"
    with pytest.raises(UsageError, match=f"{shown} is a session .*opperf ab --resume {shown}"):
        check_is_run(path)


def test_a_run_is_no_session(data):
    header = '{"line":"header","schema":2,"started":"","id":"dd44","options":{}}'
    (data / "run.jsonl").write_text(f"{header}\n")
    keep(data / "run.jsonl")
    assert read_facts(kept_runs()[0].path).kind == "run"
    check_is_run(data / "run.jsonl")
    with pytest.raises(UsageError, match="@dd44 is a run, and no session; `opperf runs --kind ab`"):
        locate_report({"resume": "@dd44", "report": "s.jsonl"}, {})
