"""Series without figures: a failure, a series that is missing, a value that cannot be."""

import json
import math
import re

import numpy as np
import pytest

from opperf.errors import OpperfError
from opperf.formats.model import SeriesFacts, SeriesKey
from opperf.history.checking import check_history
from opperf.history.detection.detecting import LIKELIHOOD
from opperf.history.detection.findings import Rate
from opperf.history.events import Kind, State
from opperf.history.stopped import find_stopped
from opperf.history.store.adding import add_runs
from opperf.history.store.events import read_events
from opperf.history.store.opening import Store
from opperf.history.store.reading import find_project
from opperf.history.timelines import possible, read_history, read_outcomes
from opperf.model import MetricKind
from opperf.opperf import cli
from opperf.serving.queries import Queries
from tests.history.submissions import entry, failure, sha, submission

CASES = tuple(f"c{number}" for number in range(6))


def run(number, *changes, lacking=(), cases=CASES, **more):
    """A run of some cases, each 100 ns, without those that lack, and with other entries."""
    entries = [entry(case=case, name=case) for case in cases if case not in lacking]
    return submission(number, *entries, *changes, **more)


def fails(case="c0", reason="no kernel", **more):
    return failure(reason, case=case, name=case, **more)


def valued(value, case="c0", kind=MetricKind.WALL, **more):
    made = entry(value, case=case, name=case, width=0.0, **more)
    facts = SeriesFacts(**{**{name: getattr(made.facts, name) for name in FACTS}, "kind": kind})
    return type(made)(made.key, facts, made.point)


FACTS = SeriesFacts.__struct_fields__


@pytest.fixture
def path(tmp_path):
    return tmp_path / "history.sqlite"


@pytest.fixture
def stops(path):
    """Adds runs, and returns the stops: name, how, last good and first bad commit, and whether it
    stands."""

    def found(*runs):
        with Store(str(path)) as store:
            add_runs(store, "p", runs)
            project = find_project(store)
            history = read_history(store, project)
            outcomes = read_outcomes(store, project, history)
        names = {line.id: line.facts.name for line in history.timelines}
        return sorted(
            (
                names[event.series],
                event.method,
                int(event.last_good, 16),
                int(event.first_bad, 16),
                event.is_open,
            )
            for event, *_ in find_stopped(history, outcomes, "main")
        )

    return found


def ran(*numbers, **more):
    return [run(number, **more) for number in numbers]


GONE = {"lacking": ("c0",)}
ALL, FEW = {"command": "opperf run -o 1.jsonl"}, {"command": "opperf run c0 c1 c5 -o 1.jsonl"}


@pytest.mark.parametrize(
    "runs, expected",
    (
        (ran(1, 2, 3), []),
        # A failure is one at once, whatever the status.
        ([*ran(1, 2), run(3, fails(), **GONE)], [("c0", "fails", 2, 3, True)]),
        # What never ran is no stop, and what comes back is closed.
        ([run(1, fails(), **GONE), run(2, fails(), **GONE)], []),
        ([*ran(1), run(2, fails(), **GONE), *ran(3)], [("c0", "fails", 1, 2, False)]),
        # It came back and failed again.
        (
            [*ran(1), run(2, fails(), **GONE), *ran(3), run(4, fails(), **GONE)],
            [("c0", "fails", 1, 2, False), ("c0", "fails", 3, 4, True)],
        ),
        # Another run of the commit has a figure.
        ([*ran(1), run(2, fails(), **GONE), run(2, id="again")], []),
        # Two commits in a row that lack it and have the others.
        ([*ran(1, 2), *ran(3, **GONE)], []),
        ([*ran(1, 2), *ran(3, 4, 5, **GONE)], [("c0", "missing", 2, 3, True)]),
        ([*ran(1, 2), *ran(3, 4, **GONE), *ran(5)], [("c0", "missing", 2, 3, False)]),
        # Two runs of one commit are one.
        ([*ran(1), run(2, **GONE), run(2, id="again", **GONE)], []),
        # A run of few chosen operators says nothing of the others, nor is it what is usual.
        ([*ran(1, 2, **ALL), *ran(3, 4, 5, 6, cases=("c5",), **FEW)], []),
        (
            [*ran(1, 2, **ALL), *ran(3, cases=("c0", "c1"), **FEW)]
            + ran(4, 5, cases=("c1",), command="opperf run c1"),
            [],
        ),
        # Most of the suite goes from runs that were asked for the same, whatever file they write.
        (
            [*ran(1, 2, **ALL), *ran(3, 4, cases=("c5",), command="opperf run -o 2.jsonl")],
            [(case, "missing", 2, 3, True) for case in CASES[:5]],
        ),
        # Nothing says what was asked for: two commits may be of chosen operators.
        ([*ran(1, 2), *ran(3, 4, cases=("c5",))], []),
        (
            [*ran(1, 2), *ran(3, 4, 5, cases=("c5",)), *ran(6)],
            [(case, "missing", 2, 3, False) for case in CASES[:5]],
        ),
        # That came back once, and is missing after more commits only.
        (
            [*ran(1), *ran(2, 3, 4, cases=("c5",)), *ran(5), *ran(6, 7, 8, cases=("c5",))],
            [(case, "missing", 1, 2, False) for case in CASES[:5]],
        ),
        ([*ran(1, 2), *ran(3, cases=("c5",)), *ran(4, 5, **GONE)], [("c0", "missing", 2, 4, True)]),
        # Half of the suite goes.
        (
            [*ran(1, 2), *ran(3, 4, cases=CASES[3:])],
            [(case, "missing", 2, 3, True) for case in CASES[:3]],
        ),
        # It failed, and then it was taken out.
        ([*ran(1), run(2, fails(), **GONE), *ran(3, 4, **GONE)], [("c0", "fails", 1, 2, True)]),
        # The only series of runs, of which nothing is left.
        ([*ran(1, 2, cases=("c0",)), *ran(3, 4, cases=())], [("c0", "missing", 2, 3, True)]),
        # Runs of another environment say nothing of this one.
        (
            [*ran(1, 2)]
            + [submission(n, entry(case="c1", environment="e1", name="c1")) for n in (3, 4, 5)],
            [],
        ),
        # All metrics of a case are one event; one metric alone is its own.
        (
            [run(n, entry(case="c0", metric="memory", name="c0")) for n in (1, 2)]
            + [run(3, fails(), **GONE)],
            [("c0", "fails", 2, 3, True)],
        ),
        (
            [run(n, *(entry(case=c, metric="memory", name=c) for c in CASES)) for n in (1, 2)]
            + [
                run(n, *(entry(case=c, metric="memory", name=c) for c in CASES[1:])) for n in (3, 4)
            ],
            [("c0", "missing", 2, 3, True)],
        ),
        # Runs that measured no memory lack it of nothing.
        (
            [run(n, *(entry(case=c, metric="memory", name=c) for c in CASES)) for n in (1, 2)]
            + ran(3, 4, 5),
            [],
        ),
        # Another version of a benchmark goes on with it, and its failures are its own.
        ([*ran(1, 2), *(run(n, entry(case="v2", name="c0"), **GONE) for n in (3, 4, 5))], []),
        # It fails where it never ran, as the version of the framework is another.
        ([*ran(1, 2), submission(3, fails(environment="e1"))], [("c0", "fails", 2, 3, True)]),
        # A machine on which it always failed says nothing new.
        (
            [*ran(1), submission(2, fails(environment="e1")), *ran(3)]
            + [submission(4, fails(environment="e1"))],
            [],
        ),
        # Times of 0 or less cannot be.
        *(
            ([*ran(1, 2), run(3, valued(value), **GONE)], [("c0", "impossible", 2, 3, True)])
            for value in (0.0, -5.0)
        ),
        # Bytes of 0 can.
        ([run(n, valued(float(n == 1), "c9", MetricKind.MEMORY)) for n in (1, 2, 3)], []),
        (
            [run(n, valued(2.0 - n, "c9", MetricKind.MEMORY)) for n in (1, 2, 3)],
            [("c9", "impossible", 2, 3, True)],
        ),
        # Of another tool's unit, a value of 0 cannot be where the first was above it.
        (
            [run(n, valued(value, "c9", MetricKind.DERIVED)) for n, value in ((1, 10.0), (2, 0.0))],
            [("c9", "impossible", 1, 2, True)],
        ),
        (
            [run(n, valued(value, "c9", MetricKind.DERIVED)) for n, value in ((1, 0.0), (2, 3.0))]
            + [run(3, valued(0.0, "c9", MetricKind.DERIVED))],
            [],
        ),
    ),
)
def test_stops_are_found_where_they_are(stops, runs, expected):
    assert stops(*runs) == expected


@pytest.mark.parametrize(
    "kind, values, expected",
    (
        (MetricKind.KERNEL, [1, 0, -1, math.nan, math.inf], [1, 0, 0, 0, 0]),
        (MetricKind.WALL, [0, 1], [0, 1]),
        (MetricKind.COUNT, [0, 1, -1, math.nan], [1, 1, 0, 0]),
        (MetricKind.DERIVED, [math.nan, 2, 0, -1], [0, 1, 0, 0]),
        (MetricKind.DERIVED, [-1, 0, 2], [1, 1, 1]),
        (MetricKind.DERIVED, [2, 0, 1, 0], [1, 0, 1, 0]),
        (MetricKind.DERIVED, [2, 0, 1, 0, 3, 0], [1, 1, 1, 1, 1, 1]),
    ),
)
def test_values_can_be_by_the_kind_of_metric(kind, values, expected):
    facts = SeriesFacts("x", "", kind)
    assert possible(facts, np.array(values, float)).tolist() == [bool(one) for one in expected]


def test_the_order_in_which_runs_came_makes_no_difference(tmp_path):
    results = []
    runs = [*ran(1, 2, 3), run(4, fails(), **GONE), *ran(5, 6, lacking=("c0", "c1"))]
    for order in (runs, runs[::-1]):
        with Store(str(tmp_path / f"{len(results)}.sqlite")) as store:
            add_runs(store, "p", order)
            history = read_history(store, find_project(store))
            outcomes = read_outcomes(store, find_project(store), history)
            checked = check_history(history, "main", Rate(), LIKELIHOOD, outcomes=outcomes)
        names = {line.id: line.facts.name for line in history.timelines}
        results.append({(names[one.event.series], one.event.first_bad) for one in checked.found})
    assert results[0] == results[1] == {("c0", sha(4)), ("c1", sha(5))}


@pytest.fixture
def opperf(path, tmp_path, monkeypatch, capsys):
    """Calls a command of history on the store, and returns the exit code and what it prints."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def called(*words):
        first, *others = map(str, words)
        code = cli.main(["history", first, "--store", str(path), *others], standalone_mode=False)
        return code, capsys.readouterr().out

    return called


def add(path, *runs):
    with Store(str(path)) as store:
        add_runs(store, "p", runs)


BROKEN = [run(3, fails(), **GONE), run(4, fails(), **GONE)]


@pytest.mark.parametrize("form", ("text", "md", "html", "json", "csv"))
def test_a_check_says_it_in_every_format_and_ends_with_1(opperf, path, form):
    add(path, *ran(1, 2), *BROKEN)
    code, out = opperf("check", "-f", form)
    assert code == 1
    if form == "json":
        (event,) = json.loads(out)["events"]
        assert (event["kind"], event["method"], event["is_loss"]) == ("stopped", "fails", True)
        assert (event["last_good"], event["first_bad"]) == (sha(2), sha(3))
        assert event["reason"] == "failed: no kernel" and event["ratio"] is None
    else:
        assert re.search("fails" if form == "csv" else "fails since", out)
        assert "failed: no kernel" in out and sha(3)[:10] in out


def test_most_of_a_suite_that_goes_at_once_is_said_in_one_sentence(opperf, path):
    many = tuple(f"k{number}" for number in range(30))
    with Store(str(path)) as store:
        add_runs(store, "q", [run(n, cases=many if n < 3 else many[:6]) for n in range(1, 6)])
    code, out = opperf("check", "--project", "q")
    assert code == 1 and "24 cases missing since 0000000000: one cause" in " ".join(out.split())


def test_it_is_open_until_it_comes_back(opperf, path):
    add(path, *ran(1, 2), *BROKEN)
    out = opperf("check")[1]
    assert "1 series stopped, 1 of them new" in out and "No open loss" not in out
    assert "1 series stopped, 0 of them new" in opperf("check")[1]
    assert opperf("check", "--fail-on", "new")[0] == 0 and opperf("check")[0] == 1
    assert opperf("check", "--fail-on", "nothing")[0] == 0
    code, out = opperf("show", "--event", "1", "-f", "json")
    assert json.loads(out)["event"]["states"][0]["why"] == "failed: no kernel"
    assert "fails at" in opperf("show", "--event", "1")[1]
    assert "fails since" in opperf("list")[1]
    add(path, *ran(5))
    code, out = opperf("check")
    assert code == 0 and "No open loss" in out
    with Store(str(path)) as store:
        (event,) = read_events(store, find_project(store))
    assert (event.kind, event.state) == (Kind.STOPPED, State.FIXED)
    assert "fails since" not in opperf("list")[1]
    # An earlier stop that no check saw is no event.
    add(path, run(6, fails("c1"), lacking=("c1",)), *ran(7))
    opperf("check")
    with Store(str(path)) as store:
        assert len(read_events(store, find_project(store))) == 1


def test_it_is_blessed_or_refuted_as_others_are(opperf, path):
    add(path, *ran(1, 2), run(3, fails(), lacking=("c0",)), *ran(4, 5, lacking=("c0", "c1")))
    code, out = opperf("check", "-f", "json")
    number = {one["operator"]: one["event"] for one in json.loads(out)["events"]}
    opperf("bless", number["c0"], "--why", "taken out")
    opperf("confirm", number["c1"], "--noise", "--why", "by hand")
    code, out = opperf("check", "-f", "json")
    states = {one["operator"]: one["state"] for one in json.loads(out)["events"]}
    assert states == {"c0": "blessed", "c1": "noise"} and code == 0


def test_a_renamed_case_is_missing_no_more(opperf, path):
    renamed = [run(n, entry(case="new", name="renamed"), **GONE) for n in (3, 4)]
    add(path, *ran(1, 2), *renamed)
    assert opperf("check")[0] == 1
    opperf("alias", "c0", "new", "--why", "renamed")
    assert opperf("check")[0] == 0


def test_what_has_no_figure_cannot_be_bisected(opperf, path):
    add(path, *ran(1, 2), *ran(3, 4, **GONE))
    opperf("check")
    with pytest.raises(OpperfError, match="is missing since .* no figure to bisect by"):
        opperf("bisect", 1, "--", "make")


def test_the_dashboard_has_it(opperf, path):
    add(path, *ran(1, 2), *BROKEN)
    opperf("check")
    with Store(str(path)) as store:
        (event,) = Queries(store).events("p", "", "open", 10, 0).items
    assert (event.kind, event.method, event.is_worse, event.ratio != event.ratio) == (
        "stopped",
        "fails",
        True,
        True,
    )


def test_figures_that_have_no_ratio_are_noted(path):
    values = (0.0, 3.0, 0.0)
    add(path, *(run(n, valued(v, "c9", MetricKind.DERIVED)) for n, v in enumerate(values, 1)))
    with Store(str(path)) as store:
        history = read_history(store, find_project(store))
    (noted,) = check_history(history, "main", Rate(), LIKELIHOOD).notes
    assert "2 figures of 0 or less" in noted.note.message and noted.commit == sha(1)
    assert [line.key.case for line in history.timelines if line.id == noted.series] == ["c9"]


def test_a_metric_alone_fails(stops):
    memory = [entry(case=case, metric="memory", name=case) for case in CASES]
    broken = failure("its value is no number", name="c0")
    broken = type(broken)(SeriesKey("c0", "memory", "e0"), broken.facts, broken.point)
    runs = [run(1, *memory), run(2, *memory), run(3, broken, *memory[1:])]
    assert stops(*runs) == [("c0", "fails", 2, 3, True)]
