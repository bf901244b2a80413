"""Runs as a history takes them, made by hand."""

from opperf.formats.model import WHOLE, Entry, Point, SeriesFacts, SeriesKey, Submission
from opperf.model import MetricKind
from opperf.repository import Commit

DAY = 86_400.0


def sha(number):
    return f"{number:040x}"


def entry(
    value=100.0, case="c0", metric="forward", environment="e0", name="relu", width=1.0, samples=()
):
    """A figure of 100 ns."""
    point = Point(n=20, median=value, low=value - width, high=value + width, samples=samples)
    kind = MetricKind.MEMORY if metric == "memory" else MetricKind.WALL
    facts = SeriesFacts(
        name, "B" if metric == "memory" else "ns", kind, inputs="x: (2,)", command="opperf run relu"
    )
    return Entry(SeriesKey(case, metric, environment), facts, point)


def failure(reason, case="c0", environment="e0", name="relu"):
    facts = SeriesFacts(name, "", MetricKind.COUNT)
    return Entry(SeriesKey(case, WHOLE, environment), facts, Point("failed", reason))


def submission(number, *entries, id="", branch="main", position=True, time=True, **more):
    """The run of the commit with this number, or of that commit's second run."""
    commit = Commit(
        sha(number),
        sha(number - 1),
        number if position else None,
        DAY * number if time else float("nan"),
        "someone",
        f"commit {number}",
    )
    environments = {one.key.environment: {"hostname": one.key.environment} for one in entries}
    return Submission(
        id or f"run{number}",
        commit,
        branch,
        DAY * number,
        entries,
        environments=environments,
        **more,
    )
