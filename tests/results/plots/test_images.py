"""Images and pages: valid files with all of the data."""

import re
import struct
import xml.etree.ElementTree as xml

import pytest

from opperf.model import TensorSpec
from opperf.results.plots.data import make_plot
from opperf.results.plots.dimensions import MOST_LINES
from opperf.results.plots.text import MARKS
from opperf.results.projection import Source

pytest.importorskip("altair")
pytest.importorskip("vl_convert")

from opperf.results.plots.images import GRID_COLUMNS, MOST_ROWS, PALETTE, SHAPES, WRITERS, image  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def chart(make_point):
    records = [
        make_point(name, n=n, time=1000.0 * n, moved=4000)
        for name in ("relu", "exp")
        for n in (128, 256, 512)
    ]
    return image(make_plot([Source("run", records)]), "relu, exp", ["below the title"])


def test_the_specification_has_the_points_and_their_scales(chart):
    spec = chart.to_dict()
    time, rate = spec["vconcat"][0]["hconcat"]
    points = time["layer"][-1]
    rows = (
        points["data"]["values"]
        if "values" in points["data"]
        else spec["datasets"][points["data"]["name"]]
    )
    assert [(row["line"], row["x"], row["y"]) for row in rows] == [
        (name, n, n) for name in ("relu", "exp") for n in (128.0, 256.0, 512.0)
    ]
    assert [row["low"] for row in rows[:3]] == pytest.approx([121.6, 243.2, 486.4])
    assert points["encoding"]["x"]["scale"]["type"] == "log"
    assert points["encoding"]["y"]["scale"]["type"] == "log"
    assert points["encoding"]["y"]["title"] == "Forward (us)"
    assert rate["layer"][-1]["encoding"]["y"]["title"] == "Bandwidth (GB/s)"
    assert rate["layer"][-1]["encoding"]["y"]["scale"] == {"zero": True}
    assert points["encoding"]["color"]["scale"]["domain"] == ["relu", "exp"]
    assert points["encoding"]["color"]["legend"] is not None


def test_a_png_is_one(chart):
    data = WRITERS[".png"](chart)
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR"
    width, height = struct.unpack(">II", data[16:24])
    assert width > 1000 and height > 500


def test_an_svg_has_titles_units_sizes_and_a_legend(chart):
    root = xml.fromstring(WRITERS[".svg"](chart))
    assert root.tag == f"{SVG}svg"
    texts = [element.text for element in root.iter(f"{SVG}text")]
    wanted = {
        "relu, exp",
        "below the title",
        "Forward (us)",
        "Bandwidth (GB/s)",
        "n",
        "relu",
        "exp",
    }
    assert wanted | {"128", "256", "512"} <= set(texts)


def test_a_page_needs_no_network(chart):
    page = WRITERS[".html"](chart).decode()
    assert page.lstrip().startswith("<!DOCTYPE html>") and "</html>" in page
    assert not re.search(r"<(script|link)[^>]+(src|href)=", page)
    assert '"relu"' in page and "Forward (us)" in page


def test_a_line_alone_has_no_legend(make_point):
    plot = make_plot([Source("run", [make_point(n=n) for n in (128, 256)])])
    spec = image(plot, "relu", []).to_dict()
    (panel,) = spec["vconcat"][0]["hconcat"]
    assert panel["layer"][-1]["encoding"]["color"]["legend"] is None
    assert "title" not in panel


def test_more_lines_than_colours_differ_in_colour_or_mark():
    marks = [(PALETTE[i % len(PALETTE)], SHAPES[i % len(SHAPES)]) for i in range(len(PALETTE) + 1)]
    assert len(set(marks)) == len(marks)


def test_a_long_name_takes_several_lines_of_the_legend(make_point):
    details = {f"mask_{place}": TensorSpec((64, 128), strides=(256, 2)) for place in range(3)}
    records = [
        make_point(n=n, configuration=len(own), arguments=own)
        for own in ({}, details)
        for n in (128, 256)
    ]
    drawn = WRITERS[".svg"](image(make_plot([Source("run", records)]), "relu", []))
    texts = [element.text or "" for element in xml.fromstring(drawn).iter(f"{SVG}tspan")]
    shown = " ".join(texts)
    assert shown.count("strides (256, 2)") == len(details) and "…" not in shown


def test_panels_of_other_lines_have_titles(make_point):
    records = [make_point(name, n=n) for name in ("relu", "exp") for n in (128, 256)]
    plot = make_plot([Source("run", records)], by=("dtype",))
    rows = image(plot, "relu, exp", []).to_dict()["vconcat"]
    assert [row["hconcat"][0]["title"]["text"] for row in rows] == ["relu", "exp"]


def test_many_panels_are_small_ones_that_share_an_axis(make_point):
    times = [10.0**place for place in range(MOST_ROWS + 4)]
    records = [
        make_point(f"f{place}", n=n, time=time, moved=4000)
        for place, time in enumerate(times)
        for n in (128, 256, 512)
    ]
    time, rate = image(make_plot([Source("run", records)]), "", []).to_dict()["vconcat"]
    assert len(time["concat"]) == len(rate["concat"]) == len(times)
    assert time["columns"] == GRID_COLUMNS
    scales = [panel["layer"][-1]["encoding"]["y"]["scale"] for panel in time["concat"]]
    assert all(scale == scales[0] for scale in scales)
    low, high = scales[0]["domain"]
    assert low < high / 1e6


def test_every_line_has_a_colour_and_a_mark_of_its_own():
    for choices in (PALETTE, SHAPES, MARKS):
        assert len(set(choices)) == len(choices) >= MOST_LINES


def test_every_extension_has_a_writer():
    assert set(WRITERS) == {".png", ".svg", ".html"}
