"""Charts as text."""

import pytest

from opperf.results.plots.data import make_plot
from opperf.results.projection import Source

pytest.importorskip("plotext")

from opperf.results.plots.text import HEIGHT, INTERVALS, MARKS, plot_text  # noqa: E402


@pytest.fixture
def plot(make_point):
    records = [
        make_point(name, n=n, time=factor * 1000.0 * n, moved=4000)
        for factor, name in ((1, "relu"), (4, "exp"))
        for n in (128, 256, 512, 1024)
    ]
    return make_plot([Source("run", records)])


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_charts_fit_the_terminal_and_have_titles_sizes_and_a_legend(plot, width):
    text = plot_text(plot, width, color=False)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert "Forward (us)" in text and "Bandwidth (GB/s)" in text
    labels = next(line.split() for line in lines if line.split()[:1] == ["128"])
    assert labels[-1] == "1024" and set(labels) <= {"128", "256", "512", "1024"}
    assert lines.count("o relu   x exp") == 2 and lines[-1] == INTERVALS
    assert "\x1b" not in text


def test_each_point_has_the_mark_of_its_line(plot):
    time = plot._replace(panels=plot.panels[:1])
    chart = plot_text(time, 80, color=False).partition("o relu")[0].partition("┌")[2]
    assert [chart.count(mark) for mark in MARKS[:2]] == [4, 4]
    rows = [row for row in chart.splitlines() if "o" in row or "x" in row]
    # The line rises, and the first operator, which is faster, is below the other.
    columns = [row.index("o") for row in rows if "o" in row]
    assert columns == sorted(columns, reverse=True) and len(rows) <= HEIGHT
    assert "x" in rows[0] and "x" not in rows[-1]


def test_a_terminal_has_colours(plot):
    assert "\x1b[" in plot_text(plot, 80, color=True)


def test_a_line_alone_needs_no_legend(make_point):
    plot = make_plot([Source("run", [make_point(n=n) for n in (128, 256)])])
    text = plot_text(plot, 80, color=False)
    assert "Forward (us), relu" in text and f"{MARKS[0]} " not in text.splitlines()[-2]


def test_equal_values_have_an_axis_too(make_point):
    memory = [make_point(n=n, threads=1) for n in (1, 2, 4)]
    for record in memory:
        assert record.summaries["forward"].median == 1000.0
    assert "1" in plot_text(make_plot([Source("run", memory)]), 60, color=False)
