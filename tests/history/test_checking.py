"""Checks of a history: changes become events, once, and somebody decides about them."""

import json
from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np
import pytest

from opperf.commands import bisect
from opperf.errors import INCONCLUSIVE, OpperfError
from opperf.history.bisection.results import VERSION, Bisection, Figure
from opperf.history.bisection.results import State as BisectionState
from opperf.history.builds import Recipe
from opperf.history.checking import check_history
from opperf.history.detection.findings import Rate
from opperf.history.events import Kind, State
from opperf.history.store.adding import add_runs
from opperf.history.store.events import read_events, update_events
from opperf.history.store.opening import Store
from opperf.history.store.reading import find_project
from opperf.history.timelines import read_history
from opperf.opperf import cli
from opperf.repository import Commit
from opperf.results.output import STDOUT
from opperf.statistics.data import Verdict
from tests.history.sessions import judge, verdict
from tests.history.submissions import entry, sha, submission

RUNS, CHANGED = 60, 41


def noisy(number, factors, seed=0, **more):
    """The run of a commit: a figure of 100 ns for each series, times its factor."""
    generator = np.random.default_rng([seed, number])
    return submission(
        number,
        *(
            entry(100.0 * factor * generator.lognormal(0.0, 0.01), case=f"c{index}", name=name)
            for index, (name, factor) in enumerate(factors.items())
        ),
        **more,
    )


def factors(number):
    late = number >= CHANGED
    return {
        "softmax": 1.08 if late else 1.0,
        "conv2d": 0.9 if late else 1.0,
        **{f"same{index}": 1.0 for index in range(20)},
    }


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A store with a loss and a gain of time at one commit, and of memory at another."""
    path = tmp_path_factory.mktemp("checking") / "history.sqlite"
    with Store(str(path)) as store:
        runs = []
        for number in range(1, RUNS + 1):
            run = noisy(number, factors(number))
            memory = entry(1e6 if number < 55 else 1.2e6, metric="memory", name="softmax")
            runs.append(msgspec.structs.replace(run, entries=(*run.entries, memory)))
        add_runs(store, "p", runs)
    return path


@pytest.fixture
def path(filled, tmp_path):
    copy = tmp_path / "history.sqlite"
    copy.write_bytes(filled.read_bytes())
    return copy


@pytest.fixture
def opperf(path, tmp_path, monkeypatch, capsys):
    """Calls opperf on the store, and returns the exit code and what it prints."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def called(*words):
        first, *others = map(str, words)
        called_with = ["history", first, "--store", str(path), *others]
        code = cli.main(called_with, standalone_mode=False)
        return code, capsys.readouterr().out

    return called


def found(opperf, *words):
    code, out = opperf("check", "-f", "json", *words)
    return code, {(one["operator"], one["metric"]): one for one in json.loads(out)["events"]}


def test_losses_are_found_where_they_are_and_end_with_1(opperf):
    code, events = found(opperf)
    assert code == 1 and set(events) == {
        ("softmax", "forward"),
        ("conv2d", "forward"),
        ("softmax", "memory"),
    }
    loss = events["softmax", "forward"]
    assert (loss["last_good"], loss["first_bad"]) == (sha(CHANGED - 1), sha(CHANGED))
    assert loss["low"] < 1.08 < loss["high"] and loss["is_loss"] and loss["state"] == "new"
    assert not events["conv2d", "forward"]["is_loss"]
    memory = events["softmax", "memory"]
    assert (memory["first_bad"], memory["ratio"]) == (sha(55), 1.2)


def test_other_settings_leave_what_they_do_not_find(opperf):
    first = found(opperf)[1]
    code, said = opperf("check", "--smallest", "80%")
    assert code == 1
    assert "2 events of other settings (likelihood, 1 false alarms in 365 days" in said
    assert opperf("check", "--method", "asv")[0] == 1
    again = found(opperf)[1]
    assert again.keys() == first.keys()
    assert {event["state"] for event in again.values()} == {"new"}
    assert not any(event["is_new"] for event in again.values())


def test_a_second_check_finds_nothing_new(opperf, path, tmp_path):
    told = tmp_path / "told.json"
    notify = ("--notify", f"cat > {told}; exit 7")
    seen = found(opperf, "--dry-run", *notify)[1]
    assert not told.exists()
    code, first = found(opperf, "--fail-on", "new", *notify)
    message = json.loads(told.read_text())
    assert code == 1 and seen.keys() == first.keys()
    assert message["events"] == list(first.values()) and "losses" in message["headline"]
    told.unlink()
    opperf("check", *notify)
    assert not told.exists()
    with Store(str(path)) as store:
        before = read_events(store, find_project(store))
    code, events = found(opperf, "--fail-on", "new")
    assert code == 0 and not any(event["is_new"] for event in events.values())
    with Store(str(path)) as store:
        assert read_events(store, find_project(store)) == before
    assert opperf("check", "--fail-on", "nothing")[0] == 0
    assert ", 0 of them new" in opperf("check")[1]


def test_a_command_that_cannot_be_told_is_named_and_changes_no_exit_code(opperf, path, capsys):
    code = cli.main(
        ["history", "check", "--store", str(path), "--notify", "exit 7"], standalone_mode=False
    )
    assert code == 1
    assert "warning: --notify: 'exit 7' ended with 7" in capsys.readouterr().err


def test_what_is_decided_is_open_no_more(opperf, tmp_path):
    _, events = found(opperf)
    number = {key: event["event"] for key, event in events.items()}
    opperf("bless", number["softmax", "forward"], "--why", "exact now")
    written = (tmp_path / "opperf.toml").read_text()
    assert sha(CHANGED)[:10] in written and 'operator = "softmax"' in written
    code, events = found(opperf)
    assert events["softmax", "forward"]["state"] == "blessed" and code == 1
    opperf("confirm", number["softmax", "memory"], "--noise", "--why", "not again")
    code, events = found(opperf)
    assert events["softmax", "memory"]["state"] == "noise" and code == 0
    opperf("confirm", number["conv2d", "forward"], "--why", "ab: 10 % faster")
    _, events = found(opperf)
    assert events["conv2d", "forward"]["state"] == "confirmed"


def test_a_verdict_that_came_before_its_event_decides_it(opperf, path):
    with Store(str(path)) as store:
        judge(store, verdict(Verdict.REGRESSED, a=CHANGED - 5, b=CHANGED + 5))
    for words in (("--dry-run",), (), ()):
        _, events = found(opperf, *words)
        loss = events["softmax", "forward"]
        assert (loss["state"], loss["verdict"], loss["verdict_ratio"]) == (
            "confirmed",
            "regressed",
            1.08,
        )
    assert not loss["is_new"] and not events["conv2d", "forward"]["verdicts"]


def test_a_series_that_is_back_is_fixed(opperf, path):
    found(opperf)
    with Store(str(path)) as store:
        back = [noisy(n, {**factors(n), "softmax": 1.0}) for n in range(RUNS + 1, RUNS + 13)]
        add_runs(store, "p", back)
    opperf("check")
    with Store(str(path)) as store:
        loss, *_, gain = sorted(
            (
                event
                for event in read_events(store, find_project(store))
                if event.method == "likelihood" and event.first_bad in (sha(CHANGED), sha(RUNS + 1))
                if event.ratio > 1 or event.first_bad == sha(RUNS + 1)
            ),
            key=lambda event: event.first_bad,
        )
    assert (loss.first_bad, loss.state, loss.is_rise) == (sha(CHANGED), State.FIXED, True)
    assert (gain.first_bad, gain.state, gain.is_rise) == (sha(RUNS + 1), State.NEW, False)


def test_a_count_that_leaves_zero_is_one_event(opperf, path):
    with Store(str(path)) as store:
        breaks = {"metric": "memory", "name": "breaks", "width": 0.0}
        runs = [submission(n, entry(float(n > 5), **breaks)) for n in range(1, 9)]
        add_runs(store, "counts", runs)
    for is_new in (True, False):
        code, events = found(opperf, "--project", "counts")
        (event,) = events.values()
        assert code == 1 and event["is_loss"] and event["is_new"] is is_new
        assert (event["first_bad"], event["before"], event["ratio"]) == (sha(6), 0.0, None)


def test_the_order_in_which_runs_came_makes_no_difference(tmp_path):
    results = []
    for order in (range(1, RUNS + 1), np.random.default_rng(0).permutation(RUNS) + 1):
        with Store(str(tmp_path / f"{len(results)}.sqlite")) as store:
            add_runs(store, "p", [noisy(int(n), factors(int(n))) for n in order])
            history = read_history(store, find_project(store))
            names = {line.id: line.facts.name for line in history.timelines}
            checked = check_history(history, "main", Rate(), "likelihood")
            results.append(
                sorted(
                    (names[event.series], event.first_bad, round(event.ratio, 9))
                    for event, *_ in checked.found
                )
            )
    assert results[0] == results[1] and len(results[0]) == 2


def test_all_series_of_a_machine_at_once_are_one_event(tmp_path):
    with Store(str(tmp_path / "history.sqlite")) as store:
        shifts = [1.06 if number >= CHANGED else 1.0 for number in range(1, RUNS + 1)]
        names = [f"op{index}" for index in range(30)]
        runs = [noisy(n, dict.fromkeys(names, shift)) for n, shift in enumerate(shifts, 1)]
        add_runs(store, "p", runs)
        history = read_history(store, find_project(store))
        checked = check_history(history, "main", Rate(), "likelihood")
    assert [(event.kind, event.first_bad) for event, *_ in checked.found] == [
        (Kind.MACHINE, sha(CHANGED))
    ]


@pytest.mark.parametrize(
    "slower, code, title",
    [
        (10, 1, "part, main: 10 losses open, 10 of them new"),
        (24, 1, "part, main: 1 loss open, 1 of them new"),
        (40, 0, "part, main: No open loss"),
    ],
)
def test_a_part_of_the_series_at_one_commit_ends_a_check_with_1(path, opperf, slower, code, title):
    """A part may be a commit's doing; all of them are the machine's, until both commits are
    measured in turn and differ."""
    with Store(str(path)) as store:
        runs = []
        for number in range(1, RUNS + 1):
            factor = 1.2 if number >= CHANGED else 1.0
            changed = {f"op{index}": factor if index < slower else 1.0 for index in range(40)}
            runs.append(noisy(number, changed))
        add_runs(store, "part", runs)
    words = ("check", "--project", "part")
    found_code, text = opperf(*words)
    text = " ".join(text.split())
    assert found_code == code and title in text
    assert ("one cause, most likely" in text) == (slower == 10)
    assert ("moved together, and the others did not" in text) == (slower == 24)
    assert ("Measure the last commit before again" in text) == (slower == 40)
    if slower >= 24:
        opperf("confirm", "1", "--why", "both commits in turn", "--project", "part")
        assert opperf(*words)[0] == 1
        opperf("bless", "1", "--why", "another machine", "--project", "part")
        assert opperf(*words)[0] == 0


@pytest.mark.parametrize(
    "words, message",
    [
        (("bless", "99", "--why", "x"), "p has no event 99; opperf history check lists them"),
        (("bless", "1", "--why", " "), "--why: write a reason"),
        (("confirm", "99", "--why", "x"), "no event 99"),
        (("check", "--project", "q"), "unknown project 'q'"),
        (("check", "--branch", "mian"), "unknown branch 'mian'.*did you mean main?"),
    ],
)
def test_wrong_words_are_one_line(opperf, words, message):
    with pytest.raises(OpperfError, match=message) as caught:
        opperf(*words)
    assert "\n" not in str(caught.value)


COMMITS = (Commit("00" * 20), Commit("ab" * 20, subject="rounds"))
SAME = Figure(*("c", "sum", "x", "forward", Verdict.SAME), ratio=1.0, error=0.01, freedom=6)


@pytest.mark.parametrize(
    "outcome, more, code, state, said",
    [
        ("same", {"ends": (SAME,)}, INCONCLUSIVE, "noise", "both commits are the same"),
        ("same", {}, INCONCLUSIVE, "new", ""),
        ("found", {"first": 1, "last": 1}, 0, "confirmed", "ababababab (rounds)"),
        ("inconclusive", {}, INCONCLUSIVE, "new", ""),
    ],
)
def test_bisection_measures_the_case_that_changed(
    opperf, monkeypatch, outcome, more, code, state, said
):
    asked = []
    begun = BisectionState(VERSION, "/r", COMMITS, Recipe())
    found_by = Bisection(outcome, begun, **{"ends": (), **more})
    monkeypatch.setattr(bisect, "bisected", lambda request: asked.append(request) or found_by)
    _, events = found(opperf)
    ended, out = opperf_bisect(opperf, events["softmax", "forward"]["event"])
    assert ended == code and said in out
    (request,) = asked
    assert (request.good, request.bad) == (sha(CHANGED - 1), sha(CHANGED))
    assert request.operators.ops == ("relu",) and request.build == ("make", "-j2")
    assert [request.blocks, *request.output_files] == [4, STDOUT]
    _, events = found(opperf)
    assert events["softmax", "forward"]["state"] == state


def test_memory_of_the_last_run_is_a_loss_at_once(opperf, path):
    found(opperf)
    with Store(str(path)) as store:
        add_runs(
            store,
            "p",
            [submission(RUNS + 1, entry(1.5e6, case="c0", metric="memory", name="softmax"))],
        )
    code, out = opperf("check", "--fail-on", "new", "-f", "json")
    new = [one for one in json.loads(out)["events"] if one["is_new"]]
    assert code == 1
    assert [(one["metric"], one["first_bad"], one["state"]) for one in new] == [
        ("memory", sha(RUNS + 1), "new")
    ]


def test_alerts_over_the_budget_are_counted_and_no_events(opperf, path):
    found(opperf)
    with Store(str(path)) as store:
        memory = [
            entry(size, case=f"c{index}", metric="memory", name=f"op{index}")
            for index, size in ((50, 100.0), (51, 100.0))
        ]
        larger = [
            entry(size, case=f"c{index}", metric="memory", name=f"op{index}")
            for index, size in ((50, 150.0), (51, 200.0))
        ]
        for number, entries in ((RUNS + 1, memory), (RUNS + 30, larger)):
            add_runs(store, "p", [submission(number, *entries)])
    assert "1 change less clear" in opperf("check", "--alerts-per-week", "1")[1]
    _, events = found(opperf, "--alerts-per-week", "1")
    assert len({"op50", "op51"} & {name for name, _ in events}) == 1
    # Without a budget both are.
    _, events = found(opperf)
    assert {"op50", "op51"} <= {name for name, _ in events}


def test_checks_at_once_store_a_change_once(path):
    with Store(str(path)) as store:
        of = find_project(store)
        checked = check_history(read_history(store, of), "main", Rate(), "likelihood")

        def check(_):
            with Store(str(path)) as own:
                return update_events(own, of, "main", checked.updates)

        with ThreadPoolExecutor(4) as threads:
            before = list(threads.map(check, range(4)))
        # The others found them there.
        assert sorted(map(len, before)) == [0, 3, 3, 3]
        assert len(read_events(store, of)) == 3


def test_events_of_a_renamed_case_are_those_of_the_series_that_goes_on(opperf, path):
    found(opperf)
    with Store(str(path)) as store:
        for number in range(RUNS + 1, RUNS + 6):
            renamed = entry(108.0, case="renamed", name="softmax2")
            add_runs(store, "p", [submission(number, renamed)])
    opperf("alias", "c0", "renamed", "--why", "renamed")
    _, events = found(opperf)
    loss = events["softmax2", "forward"]
    assert not loss["is_new"] and loss["first_bad"] == sha(CHANGED) and loss["state"] == "new"
    assert ("softmax", "forward") not in events


def opperf_bisect(opperf, number):
    return opperf("bisect", number, "--blocks", "4", "--", "make", "-j2")


def test_of_several_branches_one_is_named(opperf, path):
    with Store(str(path)) as store:
        add_runs(store, "q", [submission(1, entry(), branch=name, id=name) for name in "ab"])
    with pytest.raises(OpperfError, match="name a branch with --branch: a, b"):
        opperf("check", "--project", "q")
    code, out = opperf("check", "--project", "q", "--branch", "a")
    assert code == 0 and "No open loss" in out
