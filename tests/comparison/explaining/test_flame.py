"""The flame graph as an image and as a page."""

from xml.etree import ElementTree

import pytest

from opperf.comparison.explaining.difference import compare_dumps
from opperf.comparison.explaining.flame import BLUE, GREY, RED, WRITERS
from opperf.comparison.explaining.paths import make_graph

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def made(dump_of, make_body):
    """Writes the flame graph of two dumps: of five functions one grew, one shrank, one is new and
    one is gone."""
    lib = "liba.so"

    def body(functions):
        calls = [(("main", lib), (name, lib), own) for name, own in functions.items()]
        return make_body(
            {("main", lib): 100, **{(n, lib): own for n, own in functions.items()}}, calls
        )

    def written(suffix, title="add <4>"):
        base = dump_of(body({"f<int>": 300, "g": 400, "same": 100, "gone": 50}), "base")
        new = dump_of(body({"f<int>": 600, "g": 100, "same": 100, "fresh": 70}), "new")
        graph = make_graph(base, new, "Ir")
        return WRITERS[suffix](graph, compare_dumps(base, new), title)

    return written


def colour(rgb):
    return "#" + "".join(f"{part:02x}" for part in rgb)


def test_a_picture_has_a_box_for_each_frame(made):
    root = ElementTree.fromstring(made(".svg"))
    groups = root.findall(f"{SVG}g")
    titles = [group.find(f"{SVG}title").text for group in groups]
    rects = [group.find(f"{SVG}rect").attrib for group in groups]
    assert [title.split()[0] for title in titles] == ["all", "main", "f<int>", "g", "same", "fresh"]
    assert titles[2] == ("f<int> (liba.so)\n600 per call, 61.9 %; 300 before, +300 (+100.00 %)")
    assert titles[5].endswith("70 per call, 7.2 %; new")
    fills = {title.split()[0]: rect["fill"] for title, rect in zip(titles, rects, strict=True)}
    assert fills["f<int>"] == colour(RED) and fills["g"] == colour(BLUE)
    assert fills["same"] == colour(GREY)
    widths = [float(rect["width"]) for rect in rects]
    assert widths[0] == widths[1] == 1180 and sum(widths[2:]) == pytest.approx(1180 * 870 / 970)


def test_what_is_not_drawn_is_said(made):
    text = made(".svg")
    assert "Only in the base, not drawn: gone -50" in text
    assert "Ir per call: 950 to 970, +20 (+2.11 %)" in text


@pytest.mark.parametrize("suffix", WRITERS)
def test_names_are_escaped_and_nothing_is_loaded(made, suffix):
    text = made(suffix)
    assert "add &lt;4&gt;" in text and "f&lt;int&gt;" in text and "<4>" not in text
    assert "<script" not in text and "href" not in text and "url(" not in text


def test_a_page_holds_the_picture(made):
    page = made(".html")
    assert page.startswith("<!DOCTYPE html>") and page.rstrip().endswith("</html>")
    assert page.count("<svg ") == page.count("</svg>") == 1


def test_an_empty_graph_is_a_picture(dump_of):
    dump = dump_of("")
    graph = make_graph(dump, dump, "Ir")
    ElementTree.fromstring(WRITERS[".svg"](graph, compare_dumps(dump, dump), ""))
