"""Sessions of `opperf ab` in a history: from the file to the state of a change."""

import json

import msgspec
import pytest

from opperf.comparison.ab.arms import ArmSpec
from opperf.comparison.ab.pairs import usual_id
from opperf.comparison.ab.session_file import read_session
from opperf.errors import OpperfError
from opperf.history.bisection.results import Bisection, State, Step
from opperf.history.builds import Recipe
from opperf.history.events import Event, Kind, Update
from opperf.history.model import CommitsOf
from opperf.history.store.adding import add_runs
from opperf.history.store.events import update_events
from opperf.history.store.opening import Store
from opperf.history.store.reading import find_project, read_series
from opperf.opperf import cli
from opperf.reports.writing import write
from opperf.repository import Commit
from opperf.requests.bisecting import running
from tests.comparison.ab.sessions import ENVIRONMENT
from tests.history.sessions import CASES, COUNTED, KEY, write_counts, write_session
from tests.history.submissions import entry, submission
from tests.repositories import git

COMMITS = 6

RATIOS = {"softmax": 1.08, "conv2d": 1.0}


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repositories") / "kernels"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for number in range(1, COMMITS + 1):
        git(folder, "commit", "-q", "--allow-empty", "-m", f"change {number}")
    return folder


@pytest.fixture(scope="module")
def shas(repository):
    return git(repository, "rev-list", "--reverse", "HEAD").split()


@pytest.fixture
def store(tmp_path, shas):
    """A run of each commit, and at the fourth one a suspicion of each operator."""
    path = str(tmp_path / "history.sqlite")
    with Store(path) as opened:
        for number, sha in enumerate(shas, 1):
            entries = [
                entry(108.0 if number > 3 else 100.0, case=case, name=name, environment=KEY)
                for name, case in CASES.items()
            ]
            run = submission(number, *entries)
            commit = msgspec.structs.replace(run.commit, sha=sha)
            add_runs(opened, "kernels", [msgspec.structs.replace(run, commit=commit)])
        of = find_project(opened)
        events = [suspicion(series, shas) for series in read_series(opened, of)]
        update_events(opened, of, "main", lambda known: map(Update, events))
    return path


def suspicion(series, shas):
    levels = {"before": 100.0, "after": 108.0, "ratio": 1.08}
    return Event(Kind.SERIES, "main", KEY, shas[2], shas[3], series.id, **levels)


@pytest.fixture
def opperf(store, monkeypatch, capsys, repository):
    """Calls `opperf history` in the repository, and returns what it prints."""
    monkeypatch.chdir(repository)
    monkeypatch.setenv("OPPERF_HISTORY", store)

    def called(*words):
        cli.main(["history", *map(str, words)], standalone_mode=False)
        return capsys.readouterr().out

    return called


@pytest.fixture
def session(tmp_path):
    return write_session(tmp_path / "ab.jsonl", RATIOS)


BETWEEN = ("--commit-a", "HEAD~4", "--commit-b", "HEAD")


def states(opperf):
    report = json.loads(opperf("check", "--dry-run", "-f", "json"))
    return {event["operator"]: event for event in report["events"]}


def test_a_session_confirms_one_change_and_refutes_another(opperf, session, shas):
    said = opperf("add", session, *BETWEEN)
    assert f"2 verdicts added to kernels, {shas[5][:10]} against {shas[1][:10]}" in said
    # Whatever the points say, its states stay.
    found = states(opperf)
    softmax, conv = found["softmax"], found["conv2d"]
    assert (softmax["state"], conv["state"]) == ("confirmed", "noise")
    assert (softmax["verdict"], conv["verdict"]) == ("regressed", "same")
    assert softmax["verdict_low"] < 1.08 < softmax["verdict_high"]
    (verdict,) = softmax["verdicts"]
    assert (verdict["a"], verdict["b"], verdict["session"]) == (shas[1], shas[5], "session1")
    assert "is in kernels already" in opperf("add", session, *BETWEEN)


def test_verdicts_are_listed_shown_and_exported(opperf, session, shas, tmp_path):
    opperf("add", session, *BETWEEN)
    (verdict,) = json.loads(opperf("list", "softmax", "--what", "verdicts", "-f", "json"))[
        "verdicts"
    ]
    text = f"{verdict['low']:.3f} to {verdict['high']:.3f}"
    assert (verdict["verdict"], verdict["id"]) == ("regressed", CASES["softmax"])
    assert text in opperf("list", "--what", "verdicts")
    series = json.loads(opperf("list", "-f", "json"))["series"]
    assert {row["operator"]: row["verdict"] for row in series} == {
        "softmax": "regressed",
        "conv2d": "same",
    }
    for words in (("softmax",), ("--event", verdict_event(opperf))):
        assert text in opperf("show", *words)
    shown = json.loads(opperf("show", "--event", verdict_event(opperf), "-f", "json"))
    assert [state["who"] for state in shown["event"]["states"]][1] == "opperf ab session1"
    for format in ("md", "html"):
        page = tmp_path / f"check.{format}"
        opperf("check", "--dry-run", "-o", page)
        assert text in page.read_text()
    opperf("export", "--to", "pytorch", "-o", tmp_path / "v3.json")
    verdicts = [
        record["metric"]["extra_info"]["verdicts"][0]
        for record in json.loads((tmp_path / "v3.json").read_text())
        if "verdicts" in record["metric"]["extra_info"]
    ]
    assert {one["verdict"]: one["against"] for one in verdicts} == {
        "regressed": shas[1],
        "same": shas[1],
    }


def verdict_event(opperf):
    return states(opperf)["softmax"]["event"]


def test_what_has_no_place_for_verdicts_says_so(opperf, session, tmp_path, capsys):
    opperf("add", session, *BETWEEN)
    words = ["history", "export", "--to", "asv", "-o", str(tmp_path / "asv")]
    cli.main(words, standalone_mode=False)
    assert "excluded: 2 verdicts of sessions" in capsys.readouterr().err


def test_a_bisection_leaves_the_verdicts_that_it_ends_with(
    opperf, monkeypatch, session, shas, repository, tmp_path
):
    other = tmp_path / "open.jsonl"
    write_session(other, RATIOS, id="session2", closed=False)
    step = Step(0, ())
    found = Bisection(
        outcome="found",
        state=State(
            version=1,
            repository=str(repository),
            commits=tuple(map(Commit, shas)),
            recipe=Recipe(("make",)),
            confirmed={str(session): step, str(other): step},
        ),
        ends=(),
        before=2,
        first=3,
        last=3,
    )
    asked = []
    monkeypatch.setattr(running, "run", lambda request, *_: asked.append(request) or found)
    number = verdict_event(opperf)
    said = opperf("bisect", number, "--no-confirm", "--", "make", "-j")
    assert f"event {number} is confirmed" in said and "Bisection of" in said
    (request,) = asked
    assert (request.good, request.bad) == (shas[2], shas[3])
    assert (request.no_confirm, request.build) == (True, ("make", "-j"))
    found = json.loads(opperf("list", "--what", "verdicts", "-f", "json"))["verdicts"]
    assert {(one["operator"], one["a"], one["b"], one["session"]) for one in found} == {
        (name, shas[2], shas[3], "session1") for name in RATIOS
    }
    (state,) = json.loads(opperf("show", "--event", number, "-f", "json"))["event"]["states"][1:]
    assert state["who"] == "opperf history bisect"


def test_runs_and_sessions_are_added_together_or_not_at_all(opperf, session, tmp_path, run):
    path = tmp_path / "run.jsonl"
    write(run, path, "jsonl")
    other = write_session(tmp_path / "open.jsonl", RATIOS, id="session2", closed=False)
    before = opperf("list", "--what", "runs", "-f", "json")
    with pytest.raises(OpperfError, match="unfinished"):
        opperf("add", path, session, other, *BETWEEN)
    assert opperf("list", "--what", "runs", "-f", "json") == before
    assert "0 verdicts" in opperf("list", "--what", "verdicts")
    opperf("add", path, session, *BETWEEN)
    assert "2 verdicts" in opperf("list", "--what", "verdicts")


@pytest.mark.parametrize(
    "words, changed, message",
    [
        ((), {}, "does not say which commits A and B are of; name them with --commit-a and"),
        (("--commit-a", "v9", "--commit-b", "HEAD"), {}, "the repository has no commit v9"),
        (("--commit-a", "HEAD", "--commit-b", "main"), {}, "a verdict is of two commits"),
        ((*BETWEEN, "--commit", "HEAD"), {}, "--commit is of runs"),
        ((*BETWEEN, "--project", "kernel"), {}, "unknown project 'kernel'; did you mean kernels?"),
        ((*BETWEEN, "--project", "others"), {}, "others has no figure of any case of this session"),
        (BETWEEN, {"blocks": 2}, "the session has no verdict; there is nothing to add"),
        (BETWEEN, {"closed": False}, "unfinished.*--resume"),
        (BETWEEN, {"control": 1.3}, "no verdict; there is nothing to add: A differs"),
    ],
)
def test_what_is_no_verdict_of_the_project_is_one_line(
    opperf, store, tmp_path, words, changed, message
):
    with Store(store) as opened:
        add_runs(opened, "others", [submission(1, entry(case="c9"))])
    path = write_session(tmp_path / "ab.jsonl", RATIOS, **changed)
    words = words if "--project" in words else (*words, "--project", "kernels")
    with pytest.raises(OpperfError, match=message) as caught:
        opperf("add", path, *words)
    assert "\n" not in str(caught.value)
    said = json.loads(opperf("list", "--what", "verdicts", "--project", "kernels", "-f", "json"))
    assert said["verdicts"] == []


@pytest.mark.parametrize(
    "count, verdict", [(1080.0, "regressed"), (1001.0, "same"), (900.0, "improved")]
)
def test_counts_have_exact_verdicts(opperf, store, tmp_path, count, verdict):
    path = write_counts(tmp_path / "counts.jsonl", (1000.0, count))
    with pytest.raises(OpperfError, match="kernels has no figure of any case of this session"):
        opperf("add", path, *BETWEEN)
    with Store(store) as opened:
        counted = entry(1000.0, case=usual_id(COUNTED), name="softmax", metric="instructions")
        add_runs(opened, "kernels", [submission(1, counted, id="counted")])
    opperf("add", path, *BETWEEN)
    (found,) = json.loads(opperf("list", "--what", "verdicts", "-f", "json"))["verdicts"]
    assert (found["metric"], found["verdict"]) == ("instructions", verdict)
    assert found["ratio"] == found["low"] == found["high"] == count / 1000.0


def test_of_a_framework_the_session_says_its_commits(opperf, store, tmp_path, shas):
    environments = {
        arm: msgspec.structs.replace(ENVIRONMENT, commit=shas[place], versions={"fake": str(place)})
        for arm, place in (("A", 1), ("B", 4))
    }
    path = write_session(tmp_path / "ab.jsonl", RATIOS, environments=environments)
    with Store(store) as opened:
        runs = [submission(1, entry(case=CASES["softmax"]))]
        add_runs(opened, "framework", runs, CommitsOf.FRAMEWORK)
    said = opperf("add", path, "--project", "framework")
    assert f"added to framework, {shas[4][:10]} against {shas[1][:10]}" in said
    # Of the user's own code they are builds that nobody may compare.
    with pytest.raises(OpperfError, match="A and B differ in versions, commit, so that"):
        opperf("add", path, "--project", "kernels", *BETWEEN)


def test_arms_that_differ_by_more_than_commits_are_refused(opperf, session):
    found, _ = read_session(session)
    arms = (ArmSpec(name="A"), ArmSpec(name="B", settings={"dtype": "float16"}))
    plan = msgspec.to_builtins(msgspec.structs.replace(found.plan, arms=arms))
    lines = session.read_bytes().splitlines()
    header = msgspec.json.decode(lines[0])
    header["session"] = plan
    session.write_bytes(b"\n".join([msgspec.json.encode(header), *lines[1:]]) + b"\n")
    with pytest.raises(OpperfError, match="A and B differ in dtype, so that its verdicts are not"):
        opperf("add", session, *BETWEEN)


def test_commits_are_of_sessions_and_an_event_of_a_series(opperf, tmp_path, run, store):
    path = tmp_path / "run.jsonl"
    write(run, path, "jsonl")
    with Store(store) as opened:
        machine = Event(Kind.MACHINE, "main", KEY, "a", "b", ratio=1.1)
        update_events(opened, find_project(opened), "main", lambda known: [Update(machine)])
    for words, message in (
        (("add", path, "--commit-a", "HEAD"), "--commit-a and --commit-b are of sessions"),
        (("show", "--event", 99), "no event 99"),
        (("show", "softmax", "--event", 1), "--event shows the series of the event; name no other"),
        (("show", "--event", 3), "is of a machine, and of no series"),
    ):
        with pytest.raises(OpperfError, match=message):
            opperf(*words)
