"""The report of a check."""

import msgspec
import pytest

from opperf.history.checking import Checked, Noted
from opperf.history.detection.findings import NoteKind, SeriesNote
from opperf.history.events import Event, Kind
from opperf.history.reports.checked import check_report, rows_of
from opperf.history.store.adding import add_runs
from opperf.history.store.opening import Store
from opperf.history.store.reading import (
    StoredEnvironment,
    find_project,
    machine_names,
    read_environments,
)
from opperf.history.timelines import read_history
from opperf.history.verdicts import NOTHING
from tests.history.submissions import entry, sha, submission
from tests.writing import told


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report on a case of two machines, the second of which moved as a whole."""
    with Store(str(tmp_path_factory.mktemp("reports") / "history.sqlite")) as store:
        entries = [entry(environment="cd12"), entry(environment="ef34")]
        given = submission(1, *entries)
        facts = {"cd12": {"hostname": "desk"}, "ef34": {"hostname": "rack"}}
        add_runs(store, "p", [msgspec.structs.replace(given, environments=facts)])
        project = find_project(store)
        history = read_history(store, project)
        machines = machine_names(read_environments(store))
    change = {"branch": "main", "last_good": sha(1), "first_bad": sha(2), "ratio": 1.2}
    events = [
        Event(Kind.SERIES, environment=line.key.environment, series=line.id, id=line.id, **change)
        for line in history.timelines
    ]
    events.append(Event(Kind.MACHINE, environment="ef34", count=9, id=3, **change))
    notes = [
        Noted(None, SeriesNote("", NoteKind.DRIFT, "ef34", 1, "a drift"), sha(1)),
        Noted(1, SeriesNote("k", NoteKind.BREAK, "ef34", 1, "goes on", "cd12"), sha(1)),
    ]
    checked = Checked([], [], [], [], notes, {sha(1): 1}, [], "")
    lines = {line.id: line for line in history.timelines}
    rows = rows_of(events, lines, [], NOTHING, machines, {})
    return check_report(rows, checked, history, project, "main", machines)


def test_events_and_notes_name_their_machines(report):
    events = {event["event"]: event for event in report.data["events"]}
    assert [events[number]["machine"] for number in (1, 2, 3)] == ["desk", "rack", "rack"]
    assert events[3]["operator"] == "9 series of rack" and events[3]["environment"] == "ef34"
    drift, broken = report.data["notes"]
    assert drift["machine"] == "rack"
    assert broken["message"] == "goes on: rack in place of desk"
    text = told(report)
    assert "9 series of rack" in text and "all series of rack: a drift" in text
    assert "goes on: rack in place of desk" in text
    assert "ef34" not in text and "cd12" not in text


def test_a_case_of_several_machines_says_which(report):
    (losses,) = [part for part in report.sections if part.title.startswith("Slower")]
    assert losses.table.columns[-1].heading() == "Machine"
    assert list(losses.table.columns[-1].whole()) == ["desk", "rack"]


def test_machines_of_one_label_are_told_apart_by_their_keys():
    labels = {"0123456789": "desk", "abcdefabcd": "desk", "9999999999": "rack", "8888888888": ""}
    names = machine_names({key: StoredEnvironment(key, label, {}) for key, label in labels.items()})
    assert list(map(names.get, labels)) == ["desk, 012345", "desk, abcdef", "rack", "8888888888"]
