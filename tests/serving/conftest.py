"""A store whose names are markup, and the application that serves it."""

import pytest
from starlette.testclient import TestClient

from opperf.history.events import Event, Kind, Update
from opperf.history.store.adding import add_runs
from opperf.history.store.events import update_events
from opperf.history.store.opening import Store
from opperf.history.store.reading import find_project
from opperf.serving.application import make_application
from opperf.statistics.data import Verdict
from tests.history.sessions import judge, verdict
from tests.history.submissions import entry, sha, submission

NASTY = "</script><script>document.title = 'owned'</script>"

PROJECT = "kernels"

RUNS = 12

CHANGED = 7
"""Run from which on softmax is slower."""


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("serving") / "history.sqlite")
    with Store(path) as opened:
        runs = []
        for number in range(1, RUNS + 1):
            factor = 1.1 if number >= CHANGED else 1.0
            entries = (
                entry(100.0 * factor, name="softmax"),
                entry(200.0, case="c1", name=NASTY),
                entry(4096.0, case="c1", name=NASTY, metric="memory"),
            )
            runs.append(submission(number, *entries))
        add_runs(opened, PROJECT, runs)
        project = find_project(opened)
        change = {"branch": "main", "environment": "e0", "ratio": 1.1, "before": 100.0}
        between = (sha(CHANGED - 1), sha(CHANGED))
        events = [
            Event(Kind.SERIES, last_good=between[0], first_bad=between[1], series=1, **change),
            Event(Kind.MACHINE, last_good=between[0], first_bad=between[1], count=3, **change),
        ]
        update_events(opened, project, "main", lambda known: map(Update, events))
        judge(opened, verdict(Verdict.REGRESSED, 1.1, a=3, b=9), project=PROJECT)
        yield opened


@pytest.fixture(scope="session")
def client(store):
    with TestClient(make_application(store), base_url="http://localhost") as client:
        yield client
