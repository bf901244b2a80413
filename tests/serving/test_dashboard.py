"""The dashboard in a browser."""

import shutil
import threading
import time

import pytest
import uvicorn

from opperf.serving.application import make_application
from tests.serving.conftest import NASTY, PROJECT

sync_api = pytest.importorskip("playwright.sync_api")

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def address(store):
    server = uvicorn.Server(uvicorn.Config(make_application(store), port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def browser():
    with (
        sync_api.sync_playwright() as playwright,
        playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        ) as browser,
    ):
        yield browser


def _error(message):
    # A browser also writes down each answer 404, which a test may ask for.
    if message.type == "error" and "status of 404" not in message.text:
        yield message.text


@pytest.fixture
def page(browser, address):
    """A page on which no error was raised, and nothing was asked elsewhere."""
    page = browser.new_page()
    errors, asked = [], []
    page.on("pageerror", lambda error: errors.append(error))
    page.on("console", lambda message: errors.extend(_error(message)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    yield page
    assert errors == [] and all(url.startswith((address, "data:")) for url in asked)
    page.close()


def test_a_change_leads_to_its_series_and_the_command(page):
    page.get_by_role("link", name="softmax").click()
    page.get_by_role("heading", name="softmax").wait_for()
    assert page.locator("canvas").count() == 1
    assert page.get_by_text("opperf run relu").count() == 1
    assert page.get_by_role("row").filter(has_text="+10.0 %").count() >= 1
    verdict = "regressed 1.100 (1.090 to 1.110)"
    assert page.get_by_role("table").filter(has_text="Verdicts").count() == 1
    assert page.get_by_role("row").filter(has_text=verdict).count() >= 1
    page.go_back()
    page.get_by_role("link", name="1", exact=True).click()
    page.get_by_text("opperf history bisect 1 -- BUILD").wait_for()
    assert page.get_by_role("row").filter(has_text="1.090 to 1.110").count() == 2


def test_series_are_searched_and_names_are_texts(page):
    page.get_by_role("link", name="Series").click()
    page.get_by_role("table").wait_for()
    box = page.get_by_role("searchbox")
    box.fill("memory")
    box.press("Enter")
    page.get_by_text("1 in all").wait_for()
    link = page.get_by_role("link", name=NASTY)
    assert link.count() == 1 and page.title() == f"{PROJECT}: Series"
    link.click()
    page.locator("canvas").wait_for()
    assert page.title() == f"{PROJECT}: Series" and page.locator("#content script").count() == 0


def test_all_can_be_reached_by_the_keyboard(page):
    page.get_by_role("table").wait_for()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent").startswith("softmax"):
            break
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="softmax").wait_for()


def test_what_is_not_there_is_said(page, address):
    page.goto(f"{address}#/{PROJECT}/main/series/999")
    page.get_by_text("has no series 999").wait_for()
