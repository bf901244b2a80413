"""Every page and image, with names that try to be markup or a script: read, and in a browser."""

import shutil
import xml.etree.ElementTree as ET

import pytest

from opperf.comparison.explaining.difference import compare_dumps
from opperf.comparison.explaining.flame import WRITERS as FLAMES
from opperf.comparison.explaining.paths import make_graph
from opperf.reports.formats import BUILT_IN, REPORT, RUN
from opperf.results.plots import images
from opperf.results.plots.images import WRITERS
from tests.comparison.explaining.conftest import dump_of, make_body, text_of  # noqa: F401
from tests.comparison.files.reports.conftest import NASTY, everything, hostile  # noqa: F401
from tests.hostile_charts import hostile_charts
from tests.reports.test_format_conformance import found, odd_run, session  # noqa: F401
from tests.web_pages import read_page

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

CONTENT = {"svg", "g", "defs", "clipPath", "style", "title", "rect", "path", "line"}
CONTENT |= {"text", "tspan"}
"""Elements of images, of which none is a script, a link or loaded from elsewhere."""


@pytest.fixture
def charts(make_point, make_record, tmp_path):
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    return hostile_charts(NASTY, make_point, make_record, tmp_path)


@pytest.fixture
def flame(dump_of, make_body):  # noqa: F811
    """Returns the flame graph of two dumps, as the extension has it."""
    name = NASTY.partition("\n")[0]
    call = [(("main", name), (name, name), 300)]
    base, new = (
        dump_of(make_body({("main", name): 100, (name, name): own}, call), side)
        for side, own in (("base", 300), ("new", 400))
    )
    graph, difference = make_graph(base, new, "Ir"), compare_dumps(base, new)
    return lambda suffix: FLAMES[suffix](graph, difference, NASTY)


def chart_pages(charts):
    return {f"chart: {name}": WRITERS[".html"](chart).decode() for name, chart in charts.items()}


@pytest.fixture
def pages(found, odd_run, flame):  # noqa: F811
    """The text of every page in HTML but those of charts, by what it is of."""
    made = {"flame graph": flame(".html")}
    for format in BUILT_IN:
        if format.extension != ".html":
            continue
        written = {
            f"{command} {place}": format.write_report(report)
            for command, reports in found.items()
            if format.writes(REPORT)
            for place, report in enumerate(reports)
        }
        if format.writes(RUN):
            written[RUN] = format.write_run(odd_run)[0]
        # A part of a page has no head.
        made |= {
            f"{format.name}: {name}": text
            for name, text in written.items()
            if text.startswith("<!DOCTYPE html>")
        }
    return made


def test_only_scripts_of_opperf_are_in_a_page(pages, charts, monkeypatch):
    # It takes seconds to make.
    monkeypatch.setattr(images, "_bundle", lambda: "vega;")
    assert any(name.startswith("html: ") for name in pages)
    for name, text in {**pages, **chart_pages(charts)}.items():
        page = read_page(text)
        assert "alert(" not in "".join(page.scripts), name
        assert "unsafe" not in page.policy["script-src"], name
        assert all("<" not in one for one in page.data), name


def labelled(root):
    """The number of axes that have labels."""
    groups = [one for one in root.iter() if "role-axis-label" in one.get("class", "")]
    return sum(any("".join(one.itertext()).strip() for one in group) for group in groups)


def test_an_image_has_texts_only(charts, flame):
    images = {name: WRITERS[".svg"](chart).decode() for name, chart in charts.items()}
    for name, text in {**images, "flame graph": flame(".svg")}.items():
        for element in ET.fromstring(text).iter():
            assert element.tag.rpartition("}")[2] in CONTENT, name
            assert not [key for key in element.attrib if key.startswith("on") or "href" in key]


def _errors(said):
    # Vega warns of scales without data.
    return [said.text] if said.type == "error" else []


@pytest.mark.sweep  # Of some forty pages, those of charts with a megabyte of scripts.
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_browser_runs_no_script_of_a_name_and_draws_every_page(pages, charts, tmp_path):
    sync_api = pytest.importorskip("playwright.sync_api")
    faults = []
    with (
        sync_api.sync_playwright() as playwright,
        playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        ) as browser,
    ):
        for place, (name, text) in enumerate({**pages, **chart_pages(charts)}.items()):
            file = tmp_path / f"{place}.html"
            file.write_text(text)
            page = browser.new_page()
            page.on("dialog", lambda dialog: (faults.append("a dialog"), dialog.dismiss()))
            page.on("pageerror", lambda error: faults.append(str(error)))
            page.on("console", lambda said: faults.extend(_errors(said)))
            asked = []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.goto(file.as_uri())
            if name.startswith("chart: "):
                page.locator("#chart svg.marks").wait_for()
                shown = page.locator("#chart svg.marks").evaluate(
                    "element => new XMLSerializer().serializeToString(element)"
                )
                image = WRITERS[".svg"](charts[name.removeprefix("chart: ")])
                assert labelled(ET.fromstring(shown)) == labelled(ET.fromstring(image)) > 0, name
            elif read_page(text).scripts:
                page.locator("table, .uplot").first.wait_for()
            assert not faults, f"{name}: {faults}"
            assert [url for url in asked if not url.startswith("data:")] == [file.as_uri()], name
            assert page.locator("img, iframe, a[href*='//']").count() == 0, name
            page.close()
