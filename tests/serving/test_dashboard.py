"""The dashboard in a browser: of a server, and as files without one."""

import shutil
import threading
import time

import pytest
import uvicorn

from opperf.history.store.reading import read_projects
from opperf.serving.application import make_application
from opperf.serving.publishing import publish
from tests.serving.conftest import CHANGED, NASTY, PROJECT

sync_api = pytest.importorskip("playwright.sync_api")

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def served(store):
    server = uvicorn.Server(uvicorn.Config(make_application(store), port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def published(store, tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    publish(store, read_projects(store), folder)
    return f"{folder.as_uri()}/"


@pytest.fixture(params=["served", "published"])
def address(request):
    return request.getfixturevalue(request.param) + (
        "index.html" if request.param == "published" else ""
    )


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
    folder = address.removesuffix("index.html")
    assert errors == [] and all(url.startswith((folder, "data:")) for url in asked)
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
    # What is typed is found without a key more, stands in the address, and the box stays.
    box = page.get_by_role("searchbox")
    box.press_sequentially("memory")
    page.get_by_text("1 in all").wait_for()
    assert page.url.endswith(f"#/{PROJECT}/main/series?text=memory")
    assert page.evaluate("document.activeElement.id") == "search"
    link = page.get_by_role("link", name=NASTY)
    assert link.count() == 1 and page.title() == f"{PROJECT}: Series"
    link.click()
    page.locator("canvas").wait_for()
    assert page.title() == f"{PROJECT}: Series" and page.locator("#content script").count() == 0
    page.go_back()
    page.get_by_text("1 in all").wait_for()
    assert box.input_value() == "memory"
    page.go_back()
    page.get_by_role("table", name="Changes").wait_for()


def test_an_address_has_what_is_looked_for(page, address):
    page.goto(f"{address}#/{PROJECT}/main/series?text=soft")
    page.get_by_text("1 in all").wait_for()
    assert page.get_by_role("searchbox").input_value() == "soft"
    page.goto(f"{address}#/{PROJECT}/main/events?state=noise")
    page.get_by_text("No change in this state").wait_for()
    page.get_by_label("State").select_option("")
    page.get_by_role("table", name="Changes").wait_for()
    assert page.url.endswith("events?state=")
    page.go_back()
    page.get_by_text("No change in this state").wait_for()


def test_a_change_has_its_machine_and_both_dates(page):
    row = page.get_by_role("row").filter(has_text="all of e0")
    # Of the commit in the table of a store that was made today.
    assert f"commit 1970-01-0{CHANGED + 1}" in row.inner_text()
    assert time.strftime("check %Y-", time.gmtime()) in row.inner_text()


PATHS = (
    ["projects", {}],
    [f"projects/{PROJECT}/runs", {"branch": "main", "limit": 5, "offset": 3}],
    [f"projects/{PROJECT}/runs", {"branch": "none", "limit": 5, "offset": 0}],
    *(
        [f"projects/{PROJECT}/series", {"branch": branch, "text": text, "limit": 2, "offset": 0}]
        for branch, text in (("main", "MEM script"), ("", ""), ("none", ""))
    ),
    *(
        [f"projects/{PROJECT}/series/{number}", {"branch": branch}]
        for number in (1, 2, 3)
        for branch in ("main", "", "none")
    ),
    *(
        [f"projects/{PROJECT}/events", {"branch": "main", "state": state, "limit": 1, "offset": 1}]
        for state in ("open", "new", "fixed", "")
    ),
    *([f"projects/{PROJECT}/events/{number}", {}] for number in (1, 2)),
)


def test_a_publication_answers_as_the_server_does(browser, served, published):
    found = []
    for address in (served, f"{published}index.html"):
        page = browser.new_page()
        page.goto(address)
        found.append(
            page.evaluate("(all) => Promise.all(all.map((one) => ask(...one)))", list(PATHS))
        )
        page.close()
    assert found[0] == found[1] and len(found[0][1]["items"]) == 5


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
