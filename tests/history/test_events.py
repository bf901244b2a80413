"""Events over several detections: what is known keeps its state, and nothing is there twice."""

import msgspec
import numpy as np
import pytest

from opperf.comparison.project_file import Blessing, ProjectFile, read_project_file
from opperf.errors import UsageError
from opperf.history.checking import add_blessing, find_blessing
from opperf.history.events import DETECTION, Event, Kind, State, Update, reconcile
from opperf.history.store.adding import add_runs
from opperf.history.store.events import (
    find_event,
    read_events,
    read_states,
    set_state,
    update_events,
)
from opperf.history.store.opening import Store
from opperf.history.store.reading import find_project
from opperf.history.timelines import Timeline
from tests.history.submissions import entry, sha, submission

ORDER = {sha(number): number for number in range(100)}


def event(first_bad=50, ratio=1.1, series=1, **more):
    return Event(
        Kind.SERIES,
        "main",
        "e0",
        sha(first_bad - 1),
        sha(first_bad),
        series,
        before=100.0,
        after=100.0 * ratio,
        ratio=ratio,
        **more,
    )


def changed(known, found, is_back=False, gone=()):
    state = State.FIXED if is_back else State.NEW
    by_points = [Update(msgspec.structs.replace(one, state=state), "back") for one in found]
    updates = reconcile(known, by_points, ORDER, gone=gone)
    return [(one.event.id, one.event.state, one.event.first_bad) for one in updates]


def test_a_change_is_stored_once_and_its_figures_follow_the_points():
    assert changed([], [event()]) == [(0, State.NEW, sha(50))]
    known = event(id=7)
    assert changed([known], [event()]) == []
    # Later points place it a run earlier.
    assert changed([known], [event(49)]) == [(7, State.NEW, sha(49))]


@pytest.mark.parametrize("other", [event(60), event(ratio=0.9), event(series=2)])
def test_another_change_is_another_event(other):
    assert changed([event(id=7, state=State.BLESSED)], [event(), other]) == [
        (0, State.NEW, other.first_bad)
    ]


@pytest.mark.parametrize("state", State)
def test_only_a_new_event_that_is_not_found_any_more_is_noise(state):
    is_new = state is State.NEW
    assert changed([event(id=7, state=state)], []) == [(7, State.NOISE, sha(50))] * is_new


def test_what_other_settings_found_is_not_noise_where_these_find_nothing():
    known = event(id=7, settings="likelihood, from 0.02")
    others, same = ("likelihood, from 0.2", "tolerance"), (known.settings, "tolerance")
    assert reconcile([known], [], ORDER, settings=others) == []
    (withdrawn,) = reconcile([known], [], ORDER, settings=same)
    assert withdrawn.event.state is State.NOISE
    # The settings of an event are those that found it last.
    (moved,) = reconcile([known], [Update(event(settings=others[0]))], ORDER, settings=others)
    assert (moved.event.id, moved.event.settings) == (7, others[0])


@pytest.mark.parametrize("kind, series", [(Kind.SERIES, 1), (Kind.MACHINE, None)])
@pytest.mark.parametrize("state", State)
def test_an_event_is_closed_and_opened_by_the_points_unless_somebody_decided(state, kind, series):
    one = msgspec.structs.replace(event(), kind=kind, series=series)
    known = msgspec.structs.replace(one, id=7, state=state, by=DETECTION)
    is_decided = state is State.BLESSED
    fixed = [(7, State.FIXED, sha(50))]
    assert changed([known], [one], is_back=True) == (
        [] if is_decided or state is State.FIXED else fixed
    )
    stays = is_decided or state in (State.NEW, State.CONFIRMED)
    assert changed([known], [one]) == ([] if stays else [(7, State.NEW, sha(50))])
    # Without its change, an open one alone is another.
    is_gone = [(7, State.GONE, sha(50))] * known.is_open
    assert changed([known], [], gone=[(series, "e0")]) == is_gone
    assert changed([known], [one], gone=[(series, "e0")]) == (
        [] if is_decided or state is State.GONE else [(7, State.GONE, sha(50))]
    )


@pytest.mark.parametrize("by, updates", [(DETECTION, [(7, State.NEW, sha(50))]), ("someone", [])])
def test_what_detection_withdrew_is_new_when_it_is_found_again(by, updates):
    assert changed([event(id=7, state=State.NOISE, by=by)], [event()]) == updates
    assert changed([event(id=7, state=State.NOISE, by=by)], []) == []


def test_a_change_beside_a_known_one_does_not_take_its_state():
    known = event(52, id=7, state=State.BLESSED)
    assert changed([known], [event(50), event(52)]) == [(0, State.NEW, sha(50))]


def test_an_event_whose_runs_were_deleted_stays():
    assert changed([event(200, id=7)], []) == []


def test_a_change_over_the_budget_is_no_new_event_and_a_known_one_stays():
    known = [event(id=7)]
    assert reconcile([], [], ORDER, [Update(event())]) == []
    assert reconcile(known, [], ORDER, [Update(event())]) == []


@pytest.fixture
def store(tmp_path):
    with Store(str(tmp_path / "history.sqlite")) as opened:
        add_runs(opened, "p", [submission(1, entry()), submission(2, entry(110.0))])
        yield opened


def test_states_are_kept_with_who_and_why(store):
    project = find_project(store)

    def detect(state, why=""):
        found = Update(event(2, state=state), why)
        return update_events(store, project, "main", lambda known: reconcile(known, [found], ORDER))

    assert detect(State.NEW) == []
    (stored,) = read_events(store, project)
    assert (stored.state, stored.ratio, stored.p) == (
        State.NEW,
        1.1,
        pytest.approx(np.nan, nan_ok=True),
    )
    # The same again changes nothing.
    assert detect(State.NEW) == [stored] == read_events(store, project)
    for _ in range(2):
        set_state(store, project, stored, State.CONFIRMED, "measured again", who="someone")
    detect(State.FIXED, "back at its old level")
    stored = find_event(store, project, stored.id)
    states = [(one.state, one.who, one.why) for one in read_states(store, project)[stored.id]]
    assert states[0][0] is State.NEW and states[1] == (State.CONFIRMED, "someone", "measured again")
    assert states[2][0] is stored.state is State.FIXED and "old level" in states[2][2]
    assert len(states) == 3
    with pytest.raises(UsageError, match="no event 99"):
        find_event(store, project, 99)


LINE = Timeline(1, entry().key, entry().facts, np.array([0]), *np.ones((3, 1)))


@pytest.mark.parametrize(
    "blessing, is_found",
    [
        (Blessing("abcdef1", "wanted"), True),
        (Blessing("1234567", "wanted"), True),
        (Blessing("abcdef1", "wanted", operator="re*", metric="forward", case="c"), True),
        (Blessing("abcdef2", "another commit"), False),
        (Blessing("abc", "too short to be a commit"), False),
        (Blessing("abcdef1", "wanted", operator="softmax"), False),
        (Blessing("abcdef1", "wanted", metric="memory"), False),
        (Blessing("abcdef1", "wanted", case="c1"), False),
    ],
)
def test_an_entry_blesses_the_change_that_it_names(blessing, is_found):
    between = ("1234567" + "0" * 33, "abcdef1" + "0" * 33)
    found = find_blessing(LINE, between, ProjectFile(blessed=(blessing,)))
    assert found == (blessing if is_found else None)


@pytest.mark.parametrize("name", ["opperf.toml", "pyproject.toml"])
def test_an_entry_is_added_and_the_rest_stays(tmp_path, name):
    path = tmp_path / name
    head = {
        "opperf.toml": 'threshold = "5%"  # ours',
        "pyproject.toml": "[tool.opperf]\nthreshold = 0.05",
    }
    path.write_text(head[name])
    entries = (Blessing("abcdef1", 'a "reason"', operator="relu"), Blessing("abcdef2", "é"))
    for entry_ in entries:
        for _ in range(2):
            add_blessing(path, entry_)
    assert path.read_text().startswith(head[name])
    read = read_project_file(path)
    assert read.blessed == entries and read.threshold == 0.05


@pytest.mark.parametrize(
    "text, message",
    [
        ("blessed = 3", r"blessed is a list of tables"),
        ("[[blessed]]\nwhy = 'x'", r"blessed\[0\].*commit"),
        ("[[blessed]]\ncommit = 'abc'\nwhy = ''", r"blessed\[0\] needs a commit and a reason"),
        ("[[blessed]]\ncommit = 'abc'\nwhy = 'x'\nwho = 'me'", r"blessed\[0\].*who"),
        ("[[blessed]]\ncommit = 'abc'\nwhy = 'x'\noperator = 're:('", r"blessed\[0\].*re:\("),
    ],
)
def test_a_wrong_entry_is_one_line(tmp_path, text, message):
    path = tmp_path / "opperf.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message) as caught:
        add_blessing(path, Blessing("abcdef1", "x"))
    assert "\n" not in str(caught.value) and path.read_text() == text
