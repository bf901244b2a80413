"""A chart of every command that draws charts, with names that are markup."""

from opperf.experiments.charts import CHARTS, ChartShape
from opperf.experiments.speedups import collect, compare, oldest
from opperf.experiments.tables import SpeedupComparison
from opperf.history.events import Event, Kind
from opperf.history.plots import chart
from opperf.history.store.adding import add_runs
from opperf.history.store.opening import Store
from opperf.history.store.reading import find_project
from opperf.history.timelines import read_history
from opperf.results.plots.bars import make_bars
from opperf.results.plots.data import make_plot
from opperf.results.plots.drawing import bar_picture, legend_lines
from opperf.results.plots.images import image
from opperf.results.projection import Source
from tests.experiments.lines import DAY, MONDAY, record
from tests.history.submissions import entry, submission


def hostile_charts(name, make_point, make_record, folder):
    """The charts by what they are of."""
    return {
        **_of_plot(name, make_point, make_record),
        "history plot": _of_history(name.replace("\x07", ""), folder),
        **{f"aggregate {kind}": _of_aggregate(name, kind) for kind in CHARTS},
    }


def _of_plot(name, make_point, make_record):
    names = [name, f"{name}!", *(f"{name}{place}" for place in range(3))]
    lines = [make_point(one, n=n) for one in names for n in (128, 256, 512)]
    bars = [make_record(one, why=name) for one in names]
    made = make_bars([Source(name, bars), Source(f"{name}!", bars)])
    return {
        "plot": image(make_plot([Source(name, lines[:6])]), name, [name]),
        "plot, grid": image(make_plot([Source(name, lines)], by=("dtype",)), name, [name]),
        "plot, bars": bar_picture(made, name, [name, *legend_lines(made)]),
    }


def _of_history(name, folder):
    with Store(str(folder / "charts.sqlite")) as store:
        runs = [
            submission(number, entry(100.0 * number, name=name), branch=name)
            for number in (1, 2, 3)
        ]
        add_runs(store, name, runs)
        history = read_history(store, find_project(store))
    change = {"branch": name, "environment": "e0", "ratio": 1.1, "method": name}
    bad = history.runs[1].commit.sha
    event = Event(
        Kind.SERIES, last_good=name, first_bad=bad, series=history.timelines[0].id, id=1, **change
    )
    labels = {line.key.environment: name for line in history.timelines}
    return chart(history, [event], labels, name)


def _of_aggregate(name, kind):
    backends = ("inductor", "openxla+dynamo")
    records = [
        record(f"{name}{model}", backend, (9, 9, 9, 4, 4.2 + day / 10, 4.4), at=MONDAY + day * DAY)
        for model in range(2)
        for backend in backends
        for day in range(3)
    ]
    times = collect(records, "exec")
    compared = SpeedupComparison(
        compare(times, backends, oldest(times, "inductor")), backends, "oldest"
    )
    return CHARTS[kind](compared, ChartShape(title=name))
