"""The data of plots: sizes, lines, panels and figures."""

import pytest

from opperf.errors import UsageError
from opperf.instruments.times import FORWARD
from opperf.model import Status
from opperf.results.plots.data import Point, has_sizes, is_geometric, make_plot
from opperf.results.plots.dimensions import MOST_LINES, linear_ticks, log_ticks
from opperf.results.projection import Source
from opperf.results.rates import BANDWIDTH
from tests.results.conftest import summary


def plotted(records, *metrics, x=None, by=()):
    return make_plot([Source("run", records)], metrics, x, by)


def names(plot):
    return [(panel.title, [line.name for line in panel.lines]) for panel in plot.panels]


def test_a_line_has_medians_and_intervals_by_size_in_one_unit(make_point):
    plot = plotted([make_point(n=n, time=1000.0 * n) for n in (256, 128)])
    assert (plot.x_title, plot.sizes, plot.notes) == ("n", (128.0, 256.0), ())
    (panel,) = plot.panels
    assert (panel.title, panel.metric, panel.unit.name) == ("relu", FORWARD, "us")
    (line,) = panel.lines
    assert line.points == (
        pytest.approx(Point(128.0, 128.0, 121.6, 134.4)),
        pytest.approx(Point(256.0, 256.0, 243.2, 268.8)),
    )
    assert plot.has_intervals and line.is_function


def test_the_rate_is_beside_the_time_where_bytes_are_known(make_point):
    records = [make_point(n=n, moved=4000) for n in (128, 256)] + [make_point("exp", n=128)]
    time, rate = plotted(records).panels
    assert (time.metric, rate.metric, rate.unit.name) == (FORWARD, BANDWIDTH.metric, "GB/s")
    assert [line.name for line in rate.lines] == ["relu"]
    assert [point.y for point in rate.lines[0].points] == [4.0, 4.0]
    assert time.is_log and not rate.is_log
    # The rate alone, on request.
    (only,) = plotted(records, "bandwidth").panels
    assert only.metric is BANDWIDTH.metric


def test_a_records_own_metric_of_a_rates_name_is_drawn_as_it_is(make_point):
    own = {"forward": summary(1000.0), "flop_rate": summary(7.0, "x")}
    records = [make_point(n=n, summaries=own) for n in (128, 256)]
    counted = own | {"flops": summary(5e3, "count")}
    records.append(make_point(n=512, summaries=counted))
    (panel,) = plotted(records, "flop_rate").panels
    assert [point.y for point in panel.lines[0].points] == [7.0, 7.0, 7.0]


def test_metrics_without_noise_have_no_interval(make_point):
    memory = {"memory": summary(4096.0, "B")}
    records = [make_point(n=n, summaries=memory) for n in (128, 256)]
    plot = plotted(records)
    assert [panel.metric.name for panel in plot.panels] == ["memory"]
    assert plot.panels[0].lines[0].points[0] == Point(128.0, 4.096) and not plot.has_intervals


def test_what_differs_distinguishes_the_lines(make_point):
    records = [
        make_point(name, n=n, dtype=dtype)
        for dtype in ("float32", "float64")
        for name in ("relu", "exp")
        for n in (128, 256)
    ]
    lines = ["relu, float32", "exp, float32", "relu, float64", "exp, float64"]
    assert names(plotted(records)) == [("", lines)]
    by_dtype = [("relu", ["float32", "float64"]), ("exp", ["float32", "float64"])]
    assert names(plotted(records, by=("dtype",))) == by_dtype
    # A setting in which the records do not differ distinguishes none.
    assert [title for title, _ in names(plotted(records, by=("threads",)))] == lines


def test_where_lines_are_too_many_each_operator_has_a_panel(make_point):
    records = [
        make_point(f"f{i}", n=n, dtype=dtype)
        for i in range(MOST_LINES)
        for dtype in ("float32", "float64")
        for n in (128, 256)
    ]
    assert names(plotted(records)) == [(f"f{i}", ["float32", "float64"]) for i in range(MOST_LINES)]
    # So have the first of the dimensions that are named.
    assert len(plotted(records, by=("operator", "dtype")).panels) == MOST_LINES


def test_metrics_of_one_panel_are_beside_each_other(make_point):
    records = [make_point(name, n=n, moved=8) for name in ("relu", "exp") for n in (128, 256)]
    plot = plotted(records, by=("dtype",))
    assert [(panel.title, panel.metric.name) for panel in plot.panels] == [
        ("relu", "forward"),
        ("relu", "bandwidth"),
        ("exp", "forward"),
        ("exp", "bandwidth"),
    ]


def test_the_variable_with_the_most_values_is_the_size_and_the_others_distinguish(make_point):
    records = [make_point(n=n, m=m) for n in (128, 256) for m in (1, 2, 3)]
    plot = plotted(records)
    assert (plot.x_title, names(plot)) == ("m", [("relu", ["n=128", "n=256"])])
    plot = plotted(records, x="n")
    assert (plot.x_title, names(plot)) == ("n", [("relu", ["m=1", "m=2", "m=3"])])
    assert names(plotted(records, x="n", by=("operator",)))[0] == ("relu, m=1", [""])


def test_files_distinguish_lines(make_point):
    files = [Source(name, [make_point(n=n) for n in (128, 256)]) for name in ("base", "new")]
    assert names(make_plot(files)) == [("relu", ["base", "new"])]


def test_threads_can_be_the_size(make_point):
    records = [make_point(n=n, threads=threads) for n in (128, 256) for threads in (1, 2, None)]
    plot = plotted(records, x="threads")
    assert (plot.sizes, names(plot)) == ((1.0, 2.0), [("relu", ["n=128", "n=256"])])
    assert plot.notes == ("2 records without threads not drawn",)


def test_the_size_can_be_that_of_the_largest_tensor(make_record):
    records = [
        make_record("relu", shape=(8, 8), index=(4, 2)),
        make_record("relu", shape=(16, 4)),
        make_record("relu", shape=(256,)),
        make_record("exp", shape=(256,)),
    ]
    assert not has_sizes([Source("run", records)])
    plot = plotted(records, x="elements")
    assert (plot.x_title, plot.sizes) == ("elements of the largest tensor", (64.0, 256.0))
    relu, exp = plot.panels[0].lines
    (warning,) = plot.notes
    assert warning.endswith("differ in inputs (data: (8, 8), index: (4, 2), data: (16, 4))")
    assert plotted(records, x="elements", by=("operator", "inputs")).notes == ()
    # Two shapes have one size: no line joins the points.
    assert not relu.is_function and exp.is_function
    assert [point.x for point in relu.points] == [64.0, 64.0, 256.0]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"x": "k"}, "unknown size for --x 'k'; the file has: n, elements, threads, operator"),
        ({"x": "threads"}, "--x threads: no record has a value of threads; use one of n, elements"),
        ({"by": ("dtpye",)}, "unknown dimension for --by 'dtpye'; did you mean dtype"),
    ],
)
def test_what_the_records_do_not_have_is_refused(make_point, options, message):
    with pytest.raises(UsageError) as error:
        plotted([make_point(n=n) for n in (128, 256)], **options)
    assert message in str(error.value)


def test_unknown_and_absent_metrics_are_refused(make_point):
    records = [make_point(n=n) for n in (128, 256)]
    with pytest.raises(UsageError, match="--metric memory: no record has it; available: forward"):
        plotted(records, "memory")
    with pytest.raises(UsageError, match="--metric bandwidth: no record has it"):
        plotted(records, "bandwidth")
    with pytest.raises(UsageError, match="unknown metric 'forwrd'; did you mean forward"):
        plotted(records, "forwrd")


def test_a_single_size_is_nothing_to_plot_against(make_point):
    assert has_sizes([Source("run", [make_point(n=n) for n in (128, 256)])])
    assert not has_sizes([Source("run", [make_point(n=128)])])
    with pytest.raises(UsageError, match="run: n has one value, 128, .*--sweep n=128..2048:x2"):
        plotted([make_point(n=128)], x="n")


def test_a_wide_interval_leaves_room_for_the_medians(make_point):
    wide = {"forward": summary(1000.0, ci_high=1e6)}
    records = [make_point(n=128), make_point(n=256, summaries=wide)]
    assert plotted(records).panels[0].end == 2.0


def test_records_without_a_result_are_counted(make_point):
    failed = make_point(n=512, status=Status.FAILED)
    plot = plotted([make_point(n=128), make_point(n=256), failed])
    assert plot.sizes == (128.0, 256.0)
    assert plot.notes == ("1 record without results not drawn",)
    with pytest.raises(UsageError, match="run: no record has results"):
        plotted([failed])


@pytest.mark.parametrize(
    "sizes, expected",
    [
        ((128, 256, 512), True),
        ((64, 128, 192, 256), False),
        ((1, 10, 100, 1000), True),
        ((64, 100, 128), False),
        ((128, 256), False),
        ((0, 1, 2), False),
    ],
)
def test_sizes_that_grow_by_factors_suit_a_logarithmic_axis(sizes, expected):
    assert is_geometric(sizes) is expected
    sizes_in_a_plot = tuple(map(float, sizes))
    assert is_geometric(sizes_in_a_plot) is expected


def test_times_of_zero_have_no_logarithm(make_point):
    plot = plotted([make_point(n=n, time=float(n - 128)) for n in (128, 256, 512)])
    assert plot.x_is_log and not plot.panels[0].is_log


@pytest.mark.parametrize("ends", [(-1e308, 1e308), (0.0, 5e-324), (1e300, 1e308), (-2.0, -2.0)])
def test_axes_of_any_numbers_have_ticks(ends):
    for ticks in (linear_ticks, *([log_ticks] if ends[0] > 0 else [])):
        assert ticks(*ends, 7) == [*ends]
