"""The one place where pages are written."""

import json
import re
from pathlib import Path

import pytest

import opperf
from opperf.results.web_page import embedded, page_text, policy
from tests.web_pages import read_page

HOSTILE = "</script><script>alert(2)</script><!-- <img src=x onerror=alert(1)> &amp; \u2028\u2029"

PACKAGE = Path(opperf.__file__).parent

WRITES = re.compile(
    r"<!DOCTYPE|<html\b|<head\b|<script\b|http-equiv|\.to_html\(|chart\w*\.save\(", re.I
)
"""What writes a page, or a part of one that runs, past the one place."""


def test_data_is_as_it_was_and_ends_no_element():
    text = embedded({HOSTILE: [HOSTILE]})
    assert json.loads(text) == {HOSTILE: [HOSTILE]}
    assert not re.search("[<>&\u2028\u2029]", text)


def test_a_page_has_its_title_data_and_scripts_and_allows_these_alone():
    text = page_text(
        HOSTILE, "<p>text</p>", styles=["p {}"], data=HOSTILE, scripts=["one();", "two();"]
    )
    page = read_page(text)
    assert page.scripts == ["one();", "two();"] and json.loads(*page.data) == HOSTILE
    assert "<title>&lt;/script&gt;" in text and page.policy["img-src"] == "data:"
    assert "unsafe" not in page.policy["script-src"]


def test_a_page_without_scripts_allows_none():
    assert read_page(page_text("title", "")).policy["script-src"] == "'none'"


def test_changes_are_of_directives():
    found = policy(changes={"script-src": "'self'", "img-src": ""}).split("; ")
    assert "script-src 'self'" in found and not [one for one in found if "img-src" in one]


@pytest.mark.parametrize("code", ["'</script>'", "'<!--'", "a();\r\n", "p::after { </STYLE> }"])
def test_a_script_that_would_end_its_element_is_refused(code):
    with pytest.raises(ValueError, match="a style or script of a page has"):
        page_text("title", "", scripts=[code])
    with pytest.raises(ValueError, match="a style or script of a page has"):
        page_text("title", "", styles=[code])


def test_nothing_else_writes_a_page():
    files = [file for kind in ("py", "jinja") for file in PACKAGE.rglob(f"*.{kind}")]
    found = {str(file.relative_to(PACKAGE)): WRITES.findall(file.read_text()) for file in files}
    # The dashboard's page loads its scripts, under a policy from here too.
    dashboard = "serving/static/dashboard.html.jinja"
    assert {name for name, hits in found.items() if hits} == {"results/web_page.py", dashboard}
