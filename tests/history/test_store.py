"""The store of a history: what is added is there once, whole, and in order."""

import math
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from benchmarks.history.store import postgresql
from opperf.errors import UsageError
from opperf.history.events import Event, Kind, State, Update
from opperf.history.store.adding import add_runs, remove_runs
from opperf.history.store.events import (
    add_alias,
    decide_by_verdicts,
    read_events,
    read_states,
    update_events,
)
from opperf.history.store.figures import Columns, finite
from opperf.history.store.opening import Store, StoreError, make_engine
from opperf.history.store.reading import (
    count_figures,
    find_project,
    read_environments,
    read_failures,
    read_figures,
    read_points,
    read_runs,
    read_series,
    read_verdicts,
)
from opperf.history.timelines import read_history
from opperf.statistics.data import Verdict
from tests.history.sessions import judge, verdict
from tests.history.submissions import entry, failure, sha, submission


@pytest.fixture(scope="module")
def server():
    """The URL of a server's database; skips where there is none, or no user that may run one."""
    with postgresql() as url:
        if not url:
            pytest.skip("no PostgreSQL is installed")
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def name(request, tmp_path):
    """An empty store of each kind."""
    if request.param == "sqlite":
        yield str(tmp_path / "history.sqlite")
        return
    url = request.getfixturevalue("server")
    yield url
    engine = make_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE")
        connection.exec_driver_sql("CREATE SCHEMA public")
    engine.dispose()


@pytest.fixture
def store(name):
    with Store(name) as opened:
        yield opened


def medians(store, **more):
    """By operator and environment, the figures in the order of the commits."""
    history = read_history(store, find_project(store), **more)
    return {
        (one.facts.name, one.key.metric, one.key.environment): one.median.tolist()
        for one in history.timelines
    }


def test_what_is_added_is_read(store):
    samples = (99.0, 100.0, 102.5)
    add_runs(store, "p", [submission(1, entry(samples=samples), failure("no kernel", case="c1"))])
    project = find_project(store)
    (run,) = read_runs(store, project)
    assert (run.commit.sha, run.commit.position) == (sha(1), 1)
    assert count_figures(store, [run.id]) == {run.id: 1}
    one, whole = sorted(read_series(store, project), key=lambda one: one.key.case)
    assert one.facts == entry().facts and one.key == entry().key
    (point,) = (
        point
        for series, of, point in read_points(store, project)
        if (series, of) == (one.id, run.id)
    )
    assert (point.median, point.low, point.high, point.samples) == (100.0, 99.0, 101.0, samples)
    (failed,) = read_failures(store, project)
    assert (failed.series, failed.status, failed.reason) == (whole.id, "failed", "no kernel")


def test_figures_are_numbers_by_series_and_run_and_unknown_bounds_are_none(store):
    for number in (2, 1):
        known = entry(100.0 + number, width=2.5)
        unknown = entry(7.25, case="c1", width=math.nan)
        add_runs(store, "p", [submission(number, unknown, known, failure("none", case="c2"))])
    project = find_project(store)
    columns = read_figures(store, project)
    pairs = list(zip(columns.series.tolist(), columns.run.tolist(), strict=True))
    assert pairs == sorted(pairs) and len(pairs) == 4
    cases = {one.id: one.key.case for one in read_series(store, project)}
    found = sorted(
        (cases[series], *figures)
        for series, *figures in zip(columns.series, *columns[2:], strict=True)
    )
    assert found[:2] == [("c0", 101.0, 98.5, 103.5), ("c0", 102.0, 99.5, 104.5)]
    assert [case for case, *_ in found[2:]] == ["c1", "c1"]
    for _, median, low, high in found[2:]:
        assert median == 7.25 and math.isnan(low) and math.isnan(high)
    (one,) = {number for number, case in cases.items() if case == "c1"}
    assert read_figures(store, project, [one]).median.tolist() == [7.25, 7.25]


def test_a_reason_may_have_a_zero_character(store):
    add_runs(store, "p", [submission(1, failure("no\0kernel", name="a\0b"))])
    project = find_project(store)
    (failed,) = read_failures(store, project)
    (series,) = read_series(store, project)
    assert (failed.reason, series.facts.name) == ("no\ufffdkernel", "a\ufffdb")


def test_adding_again_changes_nothing_and_more_of_a_run_is_added(store):
    (first,) = add_runs(store, "p", [submission(1, entry())])
    assert (first.figures, first.series) == (1, 1)
    (again,) = add_runs(store, "p", [submission(2, entry(999.0), id="run1")])
    assert (again.figures, again.series, again.sha) == (0, 0, sha(1))
    (more,) = add_runs(store, "p", [submission(1, entry(999.0), entry(case="c1", name="exp"))])
    assert (more.figures, more.series) == (1, 1)
    assert medians(store) == {("relu", "forward", "e0"): [100.0], ("exp", "forward", "e0"): [100.0]}


def test_points_are_in_the_order_of_commits_whenever_they_come(store):
    for number in (3, 1, 2):
        add_runs(store, "p", [submission(number, entry(100.0 + number), time=False)])
    assert medians(store) == {("relu", "forward", "e0"): [101.0, 102.0, 103.0]}


def test_without_positions_the_times_of_commits_are_the_order(store):
    for number, has_position in ((3, True), (1, True), (2, False)):
        add_runs(store, "p", [submission(number, entry(100.0 + number), position=has_position)])
    assert medians(store) == {("relu", "forward", "e0"): [101.0, 102.0, 103.0]}


def test_environments_branches_and_dirty_trees_are_kept_apart(store):
    add_runs(
        store,
        "p",
        [
            submission(1, entry(1.0)),
            submission(2, entry(2.0, environment="e1")),
            submission(3, entry(3.0), branch="feature"),
            submission(4, entry(4.0), is_dirty=True),
        ],
    )
    assert medians(store, branch="main") == {
        ("relu", "forward", "e0"): [1.0],
        ("relu", "forward", "e1"): [2.0],
    }
    assert medians(store)["relu", "forward", "e0"] == [1.0, 3.0]
    assert medians(store, with_dirty=True)["relu", "forward", "e0"] == [1.0, 3.0, 4.0]


def test_a_renamed_case_goes_on(store):
    add_runs(store, "p", [submission(1, entry(1.0)), submission(2, entry(2.0))])
    both = (entry(3.5), entry(3.0, case="c9", name="relu2"))
    add_runs(store, "p", [submission(3, *both), submission(4, entry(4.0, case="c9", name="relu2"))])
    project = find_project(store)
    add_alias(store, project, "c0", "c9", "renamed")
    # Of the run that has both, the new name counts.
    assert medians(store) == {("relu2", "forward", "e0"): [1.0, 2.0, 3.0, 4.0]}
    with pytest.raises(UsageError, match="goes on as"):
        add_alias(store, project, "c9", "c0", "back")
    # Nor where the alias that closes the circle replaces another one.
    add_alias(store, project, "c8", "c0", "renamed before")
    with pytest.raises(UsageError, match="goes on as"):
        add_alias(store, project, "c9", "c8", "back")
    add_alias(store, project, "c0", "c7", "renamed otherwise")
    with pytest.raises(UsageError, match="goes on as"):
        add_alias(store, project, "c0", "c8", "back")


def test_the_beginning_of_a_commits_id_is_that_commit(store):
    whole = "ab" * 20
    short = submission(1, entry())
    short = type(short)(**{**_fields(short), "commit": _commit(short, whole[:8])})
    add_runs(store, "p", [short])
    full = submission(2, entry())
    add_runs(store, "p", [type(full)(**{**_fields(full), "commit": _commit(full, whole)})])
    assert {run.commit.sha for run in read_runs(store, find_project(store))} == {whole}


def _fields(one):
    return {name: getattr(one, name) for name in one.__struct_fields__}


def _commit(one, sha):
    return type(one.commit)(sha, "", 2, one.commit.time)


def test_writers_at_once_lose_nothing(name):
    def add(writer):
        with Store(name) as own:
            for run in range(5):
                entries = [entry(case=f"c{case}") for case in range(20)]
                add_runs(own, "p", [submission(run + 1, *entries, id=f"{writer}-{run}")])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(add, range(4)))
    with Store(name) as store:
        assert len(read_runs(store, find_project(store))) == 20
        assert len(read_figures(store, find_project(store)).median) == 20 * 20


def test_writers_of_one_run_at_once_lose_nothing(name):
    def add(writer):
        with Store(name) as own:
            for case in range(5):
                add_runs(own, "p", [submission(1, entry(case=f"c{writer}-{case}"))])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(add, range(4)))
    with Store(name) as store:
        (run,) = read_runs(store, find_project(store))
        assert len(read_figures(store, find_project(store)).median) == 4 * 5
        assert count_figures(store, [run.id]) == {run.id: 4 * 5}


KILLED = """
import os, signal, sys
from opperf.history.store import adding
from opperf.history.store.opening import Store
from tests.history.submissions import entry, submission
insert = adding.insert_missing
def die(connection, table, rows):
    count = insert(connection, table, rows)
    if table.name == "samples":
        os.kill(os.getpid(), signal.SIGKILL)
    return count
adding.insert_missing = die
with Store(sys.argv[1]) as store:
    adding.add_runs(store, "p", [submission(2, entry(), entry(case="c1"))])
"""


def test_a_writer_that_is_killed_leaves_nothing_of_its_run(name):
    with Store(name) as store:
        add_runs(store, "p", [submission(1, entry())])
    done = subprocess.run([sys.executable, "-c", KILLED, name])
    assert done.returncode == -signal.SIGKILL
    with Store(name) as store:
        project = find_project(store)
        assert [run.identity for run in read_runs(store, project)] == ["run1"]
        assert len(read_series(store, project)) == 1
        (added,) = add_runs(store, "p", [submission(2, entry(), entry(case="c1"))])
        assert added.figures == 2


def test_a_full_disk_changes_nothing(tmp_path):
    with Store(str(tmp_path / "history.sqlite")) as store:
        add_runs(store, "p", [submission(1, entry())])
        many = [entry(case=f"c{case}", samples=(1.0,) * 500) for case in range(200)]
        with pytest.raises(StoreError, match="disk is full; free space") as caught:
            with store.reading() as connection:
                pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
                connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 10}")
            add_runs(store, "p", [submission(2, *many)])
        assert "\n" not in str(caught.value)
        project = find_project(store)
        assert [run.identity for run in read_runs(store, project)] == ["run1"]
        assert len(read_series(store, project)) == 1


def test_deleted_runs_take_what_only_they_had(store):
    add_runs(store, "p", [submission(1, entry(1.0)), submission(2, entry(2.0), failure("x", "c1"))])
    project = find_project(store)
    remove_runs(store, project, [read_runs(store, project)[1].id])
    assert medians(store) == {("relu", "forward", "e0"): [1.0]}
    assert [one.key.case for one in read_series(store, project)] == ["c0"]


def test_verdicts_are_kept_once_and_those_of_more_blocks_replace_them(store):
    add_runs(store, "p", [submission(1, entry())])
    project = find_project(store)
    found = verdict(Verdict.AMBIGUOUS, None, a=1, b=2, operator="re\0lu", all_threads="slower")
    assert (judge(store, found), judge(store, found)) == (1, 0)
    (kept,) = read_verdicts(store, project)
    assert (kept.a.sha, kept.b.sha, kept.blocks, kept.operator) == (sha(1), sha(2), 8, "re\ufffdlu")
    assert (kept.id, kept.metric, kept.environment) == (found.id, found.metric, found.environment)
    assert kept.ratio is None and kept.all_threads == "slower"
    more = verdict(Verdict.REGRESSED, 1.1, a=1, b=2, blocks=12)
    assert (judge(store, more), judge(store, found)) == (1, 0)
    (kept,) = read_verdicts(store, project)
    assert (kept.verdict, kept.ratio) == (Verdict.REGRESSED, 1.1)
    # Of another session it is another one, and the case may be renamed.
    assert judge(store, verdict(Verdict.SAME, 1.0, a=1, b=2, session="s2"), id="s2") == 1
    add_alias(store, project, "c0", "c9", "renamed")
    assert [one.id for one in read_verdicts(store, project)] == ["c9", "c9"]


def test_commits_of_verdicts_outlive_their_runs(store):
    add_runs(store, "p", [submission(1, entry()), submission(2, entry())])
    project = find_project(store)
    judge(store, verdict(Verdict.SAME, 1.0, a=1, b=2))
    remove_runs(store, project, [run.id for run in read_runs(store, project)])
    (kept,) = read_verdicts(store, project)
    assert (kept.a.position, kept.b.position) == (1, 2)


def test_verdicts_set_states_once(store):
    add_runs(store, "p", [submission(1, entry()), submission(2, entry(110.0))])
    project = find_project(store)
    (series,) = read_series(store, project)
    change = Event(Kind.SERIES, "main", "e0", sha(1), sha(2), series.id, before=1.0, after=1.1)
    update_events(store, project, "main", lambda known: [Update(change)])
    judge(store, verdict(Verdict.REGRESSED, 1.1, a=1, b=2))
    (update,) = decide_by_verdicts(store, project)
    assert decide_by_verdicts(store, project) == []
    (stored,) = read_events(store, project)
    assert (stored.state, stored.by) == (State.CONFIRMED, "opperf ab session1")
    states = [(one.state, one.why) for one in read_states(store, project)[stored.id]]
    assert states == [(State.NEW, "detected"), (State.CONFIRMED, update.why)]
    assert update.why.startswith("regressed 1.100 (1.090 to 1.110), 8 blocks")


@pytest.mark.parametrize("version", ("", "x", "null", "0000", "5"))
def test_a_version_that_no_store_has_is_damage(name, version):
    with Store(name) as store, store.writing() as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{version}'")
    with pytest.raises(StoreError, match=f"is damaged: '{version}' is no version of its tables"):
        Store(name)


@pytest.mark.parametrize(
    "version, message",
    [("9999", "a newer opperf .*upgrade opperf"), ("0001", "an older opperf .*to a new store")],
)
def test_a_store_of_another_version_is_left(name, version, message):
    with Store(name) as store:
        add_runs(store, "p", [submission(1, entry())])
        with store.writing() as connection:
            connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{version}'")
    with pytest.raises(StoreError, match=f"{message}, nothing was changed"):
        Store(name)


@pytest.mark.parametrize(
    "name, message",
    [
        ("mysql://a/b", "path of SQLite, or a URL postgresql://"),
        ("postgresql://u:secret@127.0.0.1:1/x", r"u:\*\*\*@.*start the server"),
        ("/", "is a folder"),
        ("/proc/none/h.sqlite", "cannot be made"),
    ],
)
def test_a_store_that_cannot_be_opened_is_one_line(name, message):
    with pytest.raises((UsageError, StoreError), match=message) as caught:
        Store(name)
    assert "\n" not in str(caught.value) and "secret" not in str(caught.value)


def test_reading_makes_no_store(name):
    for _ in range(2):
        if "://" not in name:
            Path(name).touch()
        advice = "`opperf history add` of a run makes one"
        with pytest.raises(UsageError, match=f"no store is there; {advice}"):
            Store(name, must_exist=True)


def test_checks_at_once_wait_for_each_other(store):
    add_runs(store, "p", [submission(1, entry()), submission(2, entry(110.0))])
    project = find_project(store)
    (series,) = read_series(store, project)
    change = Event(Kind.SERIES, "main", "e0", sha(1), sha(2), series.id, ratio=1.1)

    def decide(known):
        return [] if known else [Update(change)]

    def check(_):
        return len(update_events(store, project, "main", decide))

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(check, range(4))) == [0, 1, 1, 1]
    assert len(read_events(store, project)) == 1


def test_events_follow_a_commit_whose_whole_id_comes_later(store):
    whole = "ab" * 20
    first = submission(1, entry())
    add_runs(store, "p", [type(first)(**{**_fields(first), "commit": _commit(first, whole[:8])})])
    project = find_project(store)
    (series,) = read_series(store, project)
    change = Event(Kind.SERIES, "main", "e0", sha(1), whole[:8], series.id, ratio=1.1)
    update_events(store, project, "main", lambda known: [Update(change)])
    full = submission(2, entry())
    add_runs(store, "p", [type(full)(**{**_fields(full), "commit": _commit(full, whole)})])
    assert [event.first_bad for event in read_events(store, project)] == [whole]


def test_a_file_that_is_no_store_is_left(tmp_path):
    (tmp_path / "notes.txt").write_text("not a store\n" * 100)
    with pytest.raises(StoreError, match="not a database; name another"):
        Store(str(tmp_path / "notes.txt"))
    assert (tmp_path / "notes.txt").read_text() == "not a store\n" * 100
    with pytest.raises(UsageError, match="no store is there"):
        Store(str(tmp_path / "none.sqlite"), must_exist=True)
    assert not (tmp_path / "none.sqlite").exists()


DAMAGED = {
    "UPDATE runs SET started = 'text'": "'text' is no value of a column FLOAT",
    "UPDATE runs SET started = 9e999": "inf is no value of a column FLOAT",
    "UPDATE failures SET reason = x'ff'": r"b'\\xff' is no value of a column VARCHAR",
    "UPDATE commits SET position = 'x'": "'x' is no value of a column INTEGER",
    "UPDATE runs SET labels = '{'": "Input data was truncated",
    "UPDATE runs SET labels = '[1]'": "Expected `object`, got `array`",
    "UPDATE environments SET facts = '[1]'": "Expected `object`, got `array`",
    "UPDATE series SET kind = 'x'": "'x' is not a valid MetricKind",
    "UPDATE figures SET content = x'00'": "buffer size must be a multiple",
    "UPDATE figures SET content = 'x'": "'x' is no value of a column BLOB",
    "UPDATE figures SET content = zeroblob(56)": "figures of a series that is not there",
}
"""Changes of a database, of whose columns SQLite does not see to the types, with what is said."""


@pytest.mark.parametrize("change", DAMAGED)
def test_a_damaged_store_is_one_line(tmp_path, change):
    name = str(tmp_path / "history.sqlite")
    with Store(name) as store:
        add_runs(store, "p", [submission(number, entry(), failure("x", "c1")) for number in (1, 2)])
        project = find_project(store)
        with store.engine.begin() as connection:
            connection.exec_driver_sql(change)
        with pytest.raises(StoreError) as caught:
            list(read_points(store, project))
            read_history(store, project)
            read_environments(store)
    assert str(caught.value).startswith(f"{name}: the store is damaged: ")
    assert re.search(DAMAGED[change], str(caught.value)) and caught.value.exit_code == 2


def test_infinite_figures_are_none_and_infinite_bounds_unknown():
    inf = math.inf
    columns = Columns(
        *map(np.array, ([1, 1, 2], [1, 2, 1], [inf, 2, 3.0], [1, -inf, 2], [1, 3, inf]))
    )
    found = finite(columns)
    assert (found.series.tolist(), found.median.tolist()) == ([1, 2], [2.0, 3.0])
    assert np.isnan([found.low[0], found.high[1]]).all() and found.low[1] == 2


def test_a_store_is_a_database(tmp_path):
    (tmp_path / "notes").write_text("notes")
    for path, said in ((tmp_path / "notes", "file is not a database"), ("/dev/zero", "a device")):
        with pytest.raises(StoreError, match=f"{path} cannot be opened: .*{said}"):
            Store(str(path))
