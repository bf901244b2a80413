"""Sessions are kept and called by name; those under the default name make room for the next one."""

import fcntl
from pathlib import Path

import pytest

from opperf.errors import UsageError
from opperf.requests.ab.keeping import can_make_room, locate_report, make_room
from opperf.requests.ab.request import AbRequest
from opperf.requests.declaring import build
from opperf.results.kept import keep, kept_runs
from opperf.results.kept_facts import read_facts
from opperf.results.run_files import check_is_run
from opperf.results.run_files import locate as locate_run

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


def locate(**fields):
    fields = {name: Path(text) if name == "report" else text for name, text in fields.items()}
    return locate_report(build(AbRequest, fields))


@pytest.mark.parametrize(
    "fields, path",
    [
        ({"resume": ""}, "opperf_ab.jsonl"),
        ({"resume": "@aa11"}, None),
        ({"resume": "@last"}, None),
        ({"resume": "s.jsonl"}, "s.jsonl"),
        ({"resume": "", "report": "@aa11"}, None),
    ],
)
def test_a_session_is_resumed_by_its_name_or_path(session, fields, path):
    kept = keep(session)
    _, report, resumes, given = locate(**fields)
    assert resumes and str(report) == str(path or kept.path)
    assert ("report" in given) is (path != "opperf_ab.jsonl")


def test_a_session_is_begun_and_the_flag_alone_takes_no_operator():
    assert locate() == (AbRequest(), Path("opperf_ab.jsonl"), False, frozenset())
    request, _, resumes, _ = locate(resume="relu")
    assert (request.operators.names, resumes) == (("relu",), True)


@pytest.mark.parametrize(
    "fields, words",
    [
        ({"report": "@aa11"}, "--resume @aa11 goes on with it"),
        ({"resume": "@aa11", "report": "b.jsonl"}, "name the session once"),
        ({"resume": "@cc33"}, "@cc33: no kept run has this id"),
    ],
)
def test_a_name_that_cannot_be_meant_is_refused(session, fields, words):
    keep(session)
    with pytest.raises(UsageError, match=words):
        locate(**fields)


@pytest.mark.parametrize("name", ["@aa11", "@last", "s.jsonl"])
def test_a_session_is_read_as_a_run_and_is_not_resumed_as_one(session, name):
    kept = keep(session)
    path = locate_run(name)
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
        locate(resume="@dd44")
