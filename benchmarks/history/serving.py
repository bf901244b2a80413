"""Latency of the dashboard's API under clients that ask at once, beside its smallest answer.

A store of so many series and commits is served by a process of its own; each client, a thread with
a connection of its own, asks for lists, series and events in turn. Prints the median and the 95th
and 99th percentiles of each kind of answer; then what `opperf history publish` writes of the
same store, and what a browser loads of it.
Run: python benchmarks/history/serving.py [CLIENTS [SERIES [COMMITS [STORE]]]]
"""

from __future__ import annotations

import http.client
import itertools
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from opperf.formats.model import Entry, Point, SeriesFacts, SeriesKey, Submission
from opperf.history.model import StoredSeries
from opperf.history.store import reading
from opperf.history.store.adding import add_runs
from opperf.history.store.figures import FIGURE, pack
from opperf.history.store.opening import Store
from opperf.model import MetricKind
from opperf.repository import Commit
from opperf.serving.publishing import publish

CLIENTS, SERIES, COMMITS = 50, 5000, 100

DAY = 86_400.0
"""Seconds between two commits."""

REQUESTS = 20
"""Of each client: a thousand answers, of which the 95th percentile is of fifty."""

KINDS = {
    "the document": "/openapi.json",
    "projects": "/api/projects",
    "series, a page": "/api/projects/p/series?text=op{number}&branch=main",
    "one series": "/api/projects/p/series/{number}?branch=main",
    "runs": "/api/projects/p/runs?branch=main",
    "changes": "/api/projects/p/events?branch=main&state=open",
}


LOADED = {"a list of series": ("series", "latest/b0"), "one series": ("series/1", "runs", "events")}
"""Files of data that are loaded for a page, beside those of the page before."""


def make_run(number: int, series: int) -> Submission:
    """Returns the run of the commit of this number, with a figure of each series."""
    entries = tuple(
        Entry(
            SeriesKey(f"case{index}", "forward", "e0"),
            SeriesFacts(f"op{index}", "ns", MetricKind.WALL, inputs=f"x: ({index},)"),
            Point(n=20, median=median, low=0.99 * median, high=1.01 * median),
        )
        for index, median in enumerate(make_medians(number, series))
    )
    commit = Commit(f"{number:040x}", "", number, DAY * number)
    return Submission(f"run{number}", commit, "main", DAY * number, entries)


def make_medians(number: int, series: int) -> list[float]:
    """Returns the figures of the commit of this number, in ns."""
    drawn = np.random.default_rng(number).lognormal(0.0, 0.01, series)
    return [1000.0 * value for value in drawn.tolist()]


def fill(store: str, series: int, commits: int) -> None:
    """Adds the runs of so many commits, each with a figure of each series: the first as a user's,
    which makes the series, the points of the others in bulk."""
    with Store(store) as opened:
        add_runs(opened, "p", [make_run(1, series)])
        rest = [make_run(number, 1) for number in range(2, commits + 1)]
        add_runs(opened, "p", rest)
        project = reading.find_project(opened)
        ids = [one.id for one in sorted(reading.read_series(opened, project), key=_case_number)]
        runs = [run.id for run in reading.read_runs(opened, project)]
        with opened.writing() as connection:
            for number, run in enumerate(runs[1:], 2):
                medians = np.array(make_medians(number, series))
                figures = np.zeros(series, FIGURE)
                figures["series"], figures["n"], figures["median"] = ids, 20, medians
                figures["low"], figures["high"] = 0.99 * medians, 1.01 * medians
                pack(connection, run, figures)


def _case_number(one: StoredSeries) -> int:
    return int(one.key.case.removeprefix("case"))


def ask(port: int, client: int, series: int) -> list[tuple[str, float]]:
    """Returns the kind and the seconds of each answer that a client had."""
    generator = random.Random(client)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    found = []
    for _ in range(REQUESTS):
        kind = generator.choice(list(KINDS))
        path = KINDS[kind].format(number=generator.randrange(1, series))
        begin = time.perf_counter()
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        found.append((kind, time.perf_counter() - begin))
        assert response.status == 200, path
    return found


def size_publication(store: str, folder: Path) -> None:
    """Publishes a store, and prints the seconds and the sizes of what is written."""
    begin = time.perf_counter()
    with Store(store) as opened:
        publish(opened, reading.read_projects(opened), folder)
    took = time.perf_counter() - begin
    files = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    sizes = {"/".join(name.parts[2:]): path.stat().st_size for name, path in files.items()}
    total = sum(path.stat().st_size for path in files.values())
    print(f"published in {took:.1f} s: {len(files)} files, {total / 1e6:.1f} MB")
    for kind, names in LOADED.items():
        print(f"{kind:16} {sum(sizes[f'p0/{name}.js'] for name in names) / 1e3:8.1f} kB")


def main(clients: int, series: int, commits: int, store: str = "") -> None:
    """Prints the latencies by kind of answer."""
    with tempfile.TemporaryDirectory() as folder:
        name = store or str(Path(folder) / "history.sqlite")
        fill(name, series, commits)
        words = [sys.executable, "-m", "opperf", "serve", "--store", name, "--port", "0"]
        server = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        try:
            assert server.stderr is not None
            port = int(server.stderr.readline().partition("127.0.0.1:")[2].partition("/")[0])
            # The first answers read the store.
            ask(port, 0, series)
            begin = time.perf_counter()
            with ThreadPoolExecutor(clients) as threads:
                found = list(threads.map(lambda one: ask(port, one, series), range(clients)))
            took = time.perf_counter() - begin
        finally:
            server.terminate()
            server.wait()
        size_publication(name, Path(folder) / "public")
    times = defaultdict(list)
    for kind, seconds in itertools.chain.from_iterable(found):
        times[kind].append(seconds)
    every = list(itertools.chain.from_iterable(times.values()))
    print(
        f"{clients} clients, {series} series, {commits} commits: {len(every) / took:.0f} answers/s"
    )
    print(f"{'answer':16} {'p50 ms':>8} {'p95 ms':>8} {'p99 ms':>8}")
    for kind, seconds in {**times, "all": every}.items():
        cuts = statistics.quantiles(seconds, n=100)
        print(f"{kind:16} " + " ".join(f"{1e3 * cuts[cut - 1]:8.1f}" for cut in (50, 95, 99)))


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:4]]
    main(*(numbers + [CLIENTS, SERIES, COMMITS][len(numbers) :]), *sys.argv[4:5])
