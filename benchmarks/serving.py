"""Latency of the dashboard's API under clients that ask at once, beside its smallest answer.

A store of so many series and commits is served by a process of its own; each client, a thread with
a connection of its own, asks for lists, series and events in turn. Prints the median and the 95th
and 99th percentiles of each kind of answer.
Run: python benchmarks/serving.py [CLIENTS [SERIES [COMMITS [STORE]]]]
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

from opperf.history.model import (
    Commit,
    Entry,
    Point,
    SeriesFacts,
    SeriesKey,
    Submission,
)
from opperf.history.store.adding import add_runs
from opperf.history.store.opening import Store
from opperf.model import MetricKind

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


def make_run(number: int, series: int) -> Submission:
    """Returns the run of the commit of this number, with a figure of each series."""
    generator = np.random.default_rng(number)
    entries = tuple(
        Entry(
            SeriesKey(f"case{index}", "forward", "e0"),
            SeriesFacts(f"op{index}", "ns", MetricKind.WALL, inputs=f"x: ({index},)"),
            Point(n=20, median=median, low=0.99 * median, high=1.01 * median),
        )
        for index, median in enumerate((1000.0 * generator.lognormal(0.0, 0.01, series)).tolist())
    )
    commit = Commit(f"{number:040x}", "", number, DAY * number)
    return Submission(f"run{number}", commit, "main", DAY * number, entries)


def fill(store: str, series: int, commits: int) -> None:
    """Adds the runs of so many commits, each with a figure of each series."""
    with Store(store) as opened:
        for number in range(1, commits + 1):
            add_runs(opened, "p", [make_run(number, series)])


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
