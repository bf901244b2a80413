"""Pages on a phone."""

import shutil

import pytest

from opperf.reports.hotspots.data import find_hotspots
from opperf.reports.hotspots.ranking_report import recording_of
from tests.recordings import transformer
from tests.writing import ranked

sync_api = pytest.importorskip("playwright.sync_api")

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

PHONE = {"width": 390, "height": 844}

SCROLLS = """() => [...document.querySelectorAll('.scroll')].map(
  (found) => [found.ariaLabel, found.scrollWidth - found.clientWidth,
    found.scrollHeight - found.clientHeight, getComputedStyle(found).backgroundImage])"""


def test_the_step_is_whole_and_what_is_wider_shows_that_it_goes_on(tmp_path):
    run = transformer()
    found = find_hotspots([run])
    file = tmp_path / "report.html"
    file.write_text(ranked(found, None, "html", recording=recording_of(found, [run])))
    with (
        sync_api.sync_playwright() as playwright,
        playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        ) as browser,
    ):
        page = browser.new_page(viewport=PHONE)
        page.goto(file.as_uri())
        scrolls = {label: own for label, *own in page.evaluate(SCROLLS)}
    assert scrolls["Time of a step"][:2] == [0, 0]
    wider = [shadow for across, _, shadow in scrolls.values() if across > 0]
    assert wider and all("linear-gradient" in shadow for shadow in wider)
