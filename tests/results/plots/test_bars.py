"""The data of bar charts: rows, series, panels, ratios, and how they are drawn."""

import xml.etree.ElementTree as xml

import msgspec
import pytest

from opperf.errors import UsageError
from opperf.instruments.times import FORWARD
from opperf.model import Status, TensorSpec
from opperf.results.plots.bars import ALL_INPUTS, make_bars
from opperf.results.plots.dimensions import MOST_LINES
from opperf.results.plots.text import bar_text
from opperf.results.projection import Source
from tests.results.conftest import summary


@pytest.fixture
def make_bar(make_record):
    """Returns a record with settings and a category."""

    def made(name="relu", time=1000.0, category="unary", shape=(64, 64), **settings):
        one = make_record(name, shape=shape, summaries={"forward": summary(time)})
        case = msgspec.structs.replace(
            one.case,
            settings=msgspec.structs.replace(one.case.settings, **settings),
            category=category,
            # A tensor of the case's own dtype.
            arguments={"data": TensorSpec(shape, settings.get("dtype", "float32"))},
        )
        return msgspec.structs.replace(one, case=case, id=case.id)

    return made


def drawn(records, **options):
    return make_bars([Source("run", records)], **options)


def both_modes(make_bar, **options):
    return [make_bar(mode=mode, **options) for mode in ("eager", "hybrid")]


def test_modes_and_dtypes_are_the_bars_of_an_operators_row_with_ratios_to_the_first(make_bar):
    records = [
        make_bar(name, time=time * factor, mode=mode, dtype=dtype)
        for name, time in (("relu", 1000.0), ("exp", 8000.0))
        for mode, factor in (("eager", 1.0), ("hybrid", 0.5))
        for dtype in ("float32", "float16")
    ]
    plot = drawn(records)
    (panel,) = plot.panels
    assert (panel.title, panel.metric, panel.unit.name) == ("", FORWARD, "us")
    # The largest first.
    assert [(row.operator, row.inputs) for row in panel.rows] == [
        ("exp", "data: (64, 64)"),
        ("relu", "data: (64, 64)"),
    ]
    assert plot.series == tuple(
        f"{dtype}, mode {mode}" for mode in ("eager", "hybrid") for dtype in ("float32", "float16")
    )
    bars = panel.rows[1].bars
    assert [bar.ratio for bar in bars] == [None, 1.0, 0.5, 0.5]
    assert (bars[0].value, bars[0].low, bars[0].high) == pytest.approx((1.0, 0.95, 1.05))
    # What is not named has a panel each.
    named = drawn(records, by=("mode",))
    assert named.series == ("mode eager", "mode hybrid")
    assert sorted(panel.title for panel in named.panels) == ["float16", "float32"]
    assert len({panel.unit for panel in named.panels}) == 1


def test_too_many_bars_of_a_row_are_panels(make_bar):
    records = [
        make_bar(threads=threads, mode=mode)
        for threads in range(1, MOST_LINES + 1)
        for mode in ("eager", "hybrid")
    ]
    plot = drawn(records)
    assert plot.series == ("mode eager", "mode hybrid")
    assert [panel.title for panel in plot.panels] == [f"threads {n}" for n in range(1, 7)]


def test_files_and_categories_can_be_the_bars(make_bar):
    files = [Source(name, [make_bar(time=time)]) for name, time in (("base", 1.0), ("new", 3.0))]
    (row,) = make_bars(files).panels[0].rows
    assert [(bar.name, bar.ratio) for bar in row.bars] == [("base", None), ("new", 3.0)]
    records = [make_bar(), make_bar("dot", category="linalg")]
    assert drawn(records, by=("category",)).series == ("unary", "linalg")


def test_many_rows_have_a_panel_for_each_category_and_inputs_where_they_differ(make_bar):
    records = [
        make_bar(f"{category}{place}", category=category)
        for category in ("unary", "linalg")
        for place in range(ALL_INPUTS)
    ]
    plot = drawn([*records, make_bar("unary0", time=9000.0, category="unary", shape=(8,))])
    assert [panel.title for panel in plot.panels] == ["unary", "linalg"]
    shown = {(row.operator, row.inputs) for row in plot.panels[0].rows}
    assert {("unary0", "data: (8,)"), ("unary0", "data: (64, 64)"), ("unary1", "")} <= shown


def test_what_is_not_drawn_is_said(make_bar, make_record):
    records = [make_bar(f"f{place}", time=1000.0 + place) for place in range(5)]
    plot = drawn([*records, make_record(status=Status.FAILED)], most=2)
    assert [row.operator for row in plot.panels[0].rows] == ["f4", "f3"]
    assert plot.notes == (
        "1 record without results not drawn",
        "the largest 2 rows are drawn, of 5; more with --top",
    )
    with pytest.raises(UsageError, match="unknown dimension for --by 'mod'; did you mean mode"):
        drawn(records, by=("mod",))


def test_cases_that_look_alike_have_a_row_each(make_bar):
    rows = drawn([make_bar(), make_bar()]).panels[0].rows
    assert [row.inputs for row in rows] == ["data: (64, 64)", "data: (64, 64) 1"]


def test_the_axis_is_logarithmic_where_bars_differ_much_and_intervals_do_not_stretch_it(make_bar):
    near = drawn([make_bar(time=1000.0), make_bar("exp", time=4000.0)])
    assert near.limits(FORWARD) == (0.0, pytest.approx(4.2), False)
    far = drawn([make_bar(time=1000.0), make_bar("exp", time=4e6)])
    low, high, is_log = far.limits(FORWARD)
    assert is_log and low < 1000.0 / far.panels[0].unit.size < high
    wide = make_bar()
    wide = msgspec.structs.replace(wide, summaries={"forward": summary(1000.0, ci_high=1e9)})
    assert drawn([wide]).limits(FORWARD).high == 2.0


@pytest.mark.parametrize("width", [40, 80, 120])
def test_bars_as_text_fit_and_have_names_values_and_ratios(make_bar, width):
    long = "a_very_long_name_of_an_operator_in_a_module"[: width - 2]
    records = [*both_modes(make_bar, name=long, time=4000.0), make_bar(time=2000.0, mode="eager")]
    text = bar_text(drawn(records), width, color=False)
    assert max(map(len, text.splitlines())) <= width
    assert long in text and "×1.00" in text and text.splitlines()[0] == "Forward (us)"
    bars = [line.count("█") for line in text.splitlines() if "█" in line]
    assert bars[0] == bars[1] and bars[2] == pytest.approx(bars[0] / 2, abs=1)
    assert "\x1b[" in bar_text(drawn(records), width, color=True)


def test_a_picture_has_whole_names_values_intervals_and_a_legend(make_bar):
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    from opperf.results.plots.drawing import bar_picture, legend_lines
    from opperf.results.plots.images import WRITERS

    long = "random.Generator.multivariate_hypergeometric"
    records = [one for name in (long, "relu") for one in both_modes(make_bar, name=name)]
    plot = drawn(records)
    root = xml.fromstring(WRITERS[".svg"](bar_picture(plot, "title", legend_lines(plot))))
    texts = ["".join(one.itertext()) for one in root.iter("{http://www.w3.org/2000/svg}text")]
    for wanted in ("Forward (us)", "mode eager", "mode hybrid", "1.00 ±5.0 % ×1.00"):
        assert any(wanted == " ".join(text.split()) for text in texts), wanted
    assert any(long in text and "data: (64, 64)" in text for text in texts)
    assert any("Bars: medians; lines: their 95 % intervals" in text for text in texts)


def test_many_rows_are_in_columns_none_of_them_lost(make_bar):
    pytest.importorskip("altair")
    from opperf.results.plots.drawing import MOST_COLUMNS, bar_picture

    plot = drawn([make_bar(f"f{place}") for place in range(100)])
    (section,) = bar_picture(plot, "", []).to_dict()["vconcat"]
    columns = section["hconcat"]
    assert len(columns) == MOST_COLUMNS
    rows = [
        len(panel["layer"][0]["encoding"]["y"]["sort"])
        for column in columns
        for panel in column["vconcat"]
    ]
    assert sum(rows) == 100 and max(rows) < 40
