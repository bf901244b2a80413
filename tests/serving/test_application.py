"""The server of a dashboard: what it answers, and what it refuses."""

import re

import pytest
from starlette.testclient import TestClient

from opperf.history.events import Event, Kind, Update
from opperf.history.store.adding import add_runs
from opperf.history.store.events import add_alias, update_events
from opperf.history.store.opening import Store
from opperf.history.store.reading import find_project
from opperf.serving import application
from opperf.serving.application import HEADERS, make_application
from opperf.serving.assets import ASSETS, SERVED
from opperf.serving.queries import Queries
from opperf.serving.routes import ROUTES
from opperf.statistics.data import Verdict
from tests.history.sessions import judge, verdict
from tests.history.submissions import DAY, entry, sha, submission
from tests.serving.conftest import CHANGED, NASTY, PROJECT, RUNS

API = f"/api/projects/{PROJECT}"


def get(client, path, status=200):
    response = client.get(path)
    assert response.status_code == status, response.text
    return response.json()


def test_it_answers_with_what_is_in_the_store(client):
    (project,) = get(client, "/api/projects")["items"]
    assert (project["name"], project["branches"], project["runs"]) == (PROJECT, ["main"], RUNS)
    runs = get(client, f"{API}/runs?limit=2&offset=1")
    assert runs["total"] == RUNS
    assert [run["commit"]["sha"] for run in runs["items"]] == [sha(RUNS - 1), sha(RUNS - 2)]
    (series,) = get(client, f"{API}/series?text=soft+forw&branch=main")["items"]
    assert (series["latest"], series["latest_commit"]) == (pytest.approx(110.0), sha(RUNS))
    found = get(client, f"{API}/series/{series['id']}")
    assert [point["median"] for point in found["points"]] == pytest.approx(
        [100.0] * (CHANGED - 1) + [110.0] * (RUNS - CHANGED + 1)
    )
    assert {event["kind"] for event in found["events"]} == {"series", "machine"}
    events = get(client, f"{API}/events?state=open")["items"]
    # The commit of this number is as many days old, in seconds since 1970.
    assert {(event["machine"], event["committed"]) for event in events} == {("e0", CHANGED * DAY)}
    assert series["machine"] == "e0"
    assert events[-1]["is_worse"] and events[-1]["ratio"] == 1.1 and events[-1]["low"] is None
    detail = get(client, f"{API}/events/{events[-1]['id']}")
    (verdict,) = detail["event"]["verdicts"]
    assert (verdict["verdict"], verdict["ratio"], verdict["b"]["sha"]) == ("regressed", 1.1, sha(9))
    assert [verdict] == found["verdicts"] and not events[0]["verdicts"]
    assert [state["state"] for state in detail["states"]] == ["new"]
    (environment,) = get(client, "/api/environments")["items"]
    assert environment["facts"] == {"hostname": "e0"}


@pytest.mark.parametrize(
    "path, status, message",
    [
        ("/api/nothing", 404, "nothing is here"),
        ("/api/projects/none/runs", 404, "no project 'none'"),
        (f"{API}/series/999", 404, "has no series 999"),
        (f"{API}/events/999", 404, "has no event 999"),
        (f"{API}/series/one", 400, "number: 'one' is no number"),
        (f"{API}/series/{2**40}", 400, "is no number from 0 to"),
        (f"{API}/runs?limit=0", 400, "limit: '0' is no number from 1 to 1000"),
        (f"{API}/runs?limit=1001", 400, "from 1 to 1000"),
        (f"{API}/runs?limit={'9' * 5000}", 400, "99...' is no number from 1 to 1000"),
        (f"{API}/series/{'9' * 5000}", 400, "99...' is no number from 0 to"),
        (f"{API}/runs?ofset=1", 400, "there is no parameter 'ofset'; did you mean offset?"),
        (f"{API}/runs?limit=1&limit=2", 400, "limit is given several times"),
        (f"{API}/events?state=opn", 400, "state: 'opn'; did you mean open?"),
    ],
)
def test_what_is_wrong_is_said(client, path, status, message):
    assert message in get(client, path, status)["error"]


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
@pytest.mark.parametrize("path", ["/", "/api/projects", f"{API}/events/1"])
def test_it_only_reads(client, method, path):
    assert getattr(client, method)(path).status_code == 405


@pytest.mark.parametrize(
    "path",
    ["/../pyproject.toml", "/%2e%2e/%2e%2e/etc/passwd", "/static/dashboard.js", "//etc/passwd"],
)
def test_no_path_of_a_request_is_one_of_the_machine(client, path):
    assert client.get(path).status_code == 404


def test_every_response_has_the_headers(client):
    files = ASSETS | SERVED
    for path in ("/", *files, "/api/projects", "/nothing", "/api/projects?x=1"):
        response = client.get(path)
        assert headers_of(response) == HEADERS
    # What is loaded is of this server alone.
    page = client.get("/").text
    assert "http" not in page and set(re.findall(r'(?:src|href)="([^#"]+)"', page)) <= {
        "data:,",
        *files,
    }


def headers_of(response):
    return {name: response.headers.get(name) for name in HEADERS}


def test_an_answer_of_an_error_has_the_headers(store, monkeypatch):
    def fail(queries):
        raise ZeroDivisionError

    routes = [route._replace(query=fail) for route in ROUTES if route.path == "/api/projects"]
    monkeypatch.setattr(application, "ROUTES", routes)
    with TestClient(make_application(store), "http://localhost", False) as client:
        response = client.get("/api/projects")
        elsewhere = client.get("/api/projects", headers={"host": "elsewhere.example"})
    assert response.status_code == 500 and "the server failed" in response.json()["error"]
    assert headers_of(response) == headers_of(elsewhere) == HEADERS


def test_a_page_elsewhere_cannot_ask_by_a_name_of_its_own(client):
    response = client.get("/api/projects", headers={"host": "elsewhere.example"})
    assert response.status_code == 400


def test_with_a_token_nothing_is_answered_without_it(store):
    token = "0123456789abcdef"
    application = make_application(store, token, ("*",))
    with TestClient(application, base_url="http://perf.example.org") as client:
        for path in (
            "/",
            "/dashboard.js",
            "/api/projects",
            "/openapi.json",
            f"/api/projects?token={token}",
        ):
            response = client.get(path)
            assert response.status_code == 401 and PROJECT not in response.text
        assert client.get("/?token=wrong").status_code == 401
        right = {"authorization": f"Bearer {token}"}
        assert client.get("/api/projects", headers=right).status_code == 200
        assert (
            client.get("/api/projects", headers={"authorization": f"Basic {token}"}).status_code
            == 401
        )
        opened = client.get(f"/?token={token}", follow_redirects=False)
        assert opened.status_code == 303 and opened.headers["location"] == "/"
        assert "httponly" in opened.headers["set-cookie"].lower()
        assert client.get("/api/projects").status_code == 200


def test_new_runs_are_there_at_once(tmp_path):
    with Store(str(tmp_path / "history.sqlite")) as store:
        client = TestClient(make_application(store), base_url="http://localhost")
        assert get(client, "/api/projects")["items"] == []
        for number in (1, 2):
            add_runs(store, "p", [submission(number, entry(float(number)))])
            (series,) = get(client, "/api/projects/p/series")["items"]
            assert series["latest"] == number
        # So are verdicts.
        assert not get(client, "/api/projects/p/series/1")["verdicts"]
        judge(store, verdict(Verdict.SAME, 1.0, a=1, b=2))
        assert len(get(client, "/api/projects/p/series/1")["verdicts"]) == 1
        # More of a run that is there as well.
        add_runs(store, "p", [submission(2, entry(3.0, case="c1", name="exp"))])
        assert get(client, "/api/projects/p/series")["total"] == 2


def test_a_renamed_case_is_one_series_with_its_events(tmp_path):
    with Store(str(tmp_path / "history.sqlite")) as store:
        client = TestClient(make_application(store), base_url="http://localhost")
        add_runs(store, "p", [submission(1, entry(1.0)), submission(2, entry(2.0))])
        project = find_project(store)
        change = Event(Kind.SERIES, "main", "e0", sha(1), sha(2), 1, ratio=2.0)
        update_events(store, project, "main", lambda known: [Update(change)])
        add_runs(store, "p", [submission(3, entry(3.0, case="c9", name="relu2"))])
        add_alias(store, project, "c0", "c9", "renamed")
        (series,) = get(client, "/api/projects/p/series")["items"]
        assert (series["name"], series["latest"]) == ("relu2", 3.0)
        assert get(client, "/api/projects")["items"][0]["series"] == 1
        # The old number still names it.
        for number in (1, series["id"]):
            found = get(client, f"/api/projects/p/series/{number}")
            assert [point["median"] for point in found["points"]] == [1.0, 2.0, 3.0]
            assert [event["series"] for event in found["events"]] == [series["id"]]


def test_nothing_is_kept_of_branches_that_are_not_there(store):
    queries = Queries(store)
    for branch in ("main", "none", "nowhere"):
        queries.series(PROJECT, branch, "", "", "", "", 10, 0)
    assert set(queries._content(PROJECT).latest) == {"main"}


def test_the_document_describes_every_route(client):
    document = get(client, "/openapi.json")
    assert set(document["paths"]) == {route.path for route in ROUTES}
    assert NASTY not in str(document)


def test_the_answers_are_as_the_document_says(store):
    schemathesis = pytest.importorskip("schemathesis")
    schema = schemathesis.openapi.from_asgi("/openapi.json", make_application(store, hosts=("*",)))
    from hypothesis import HealthCheck, given, settings

    found = 0
    for operation in schema.get_all_operations():
        operation = operation.ok()

        @settings(
            max_examples=15,
            database=None,
            derandomize=True,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def holds(case):
            case.call_and_validate()

        holds()
        found += 1
    assert found == len(ROUTES)
