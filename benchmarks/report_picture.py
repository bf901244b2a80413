"""The picture of a report in README.md: a session of two dtypes as a page, with a case open.

Measures PyTorch's operators in float32 and bfloat16 for some two minutes, and draws the top of the
page in headless Chromium. --session draws one that was measured before.

Run: python benchmarks/report_picture.py docs/images/report.png [--session FILE.jsonl]
Needs what `report_page.py` needs, and PyTorch.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from report_page import CASE, CHROMIUM, OPTIONS

SESSION = (
    *("ab", "mm", "exp", "relu", "add", "softmax", "native_layer_norm", "--framework", "torch"),
    *("--max-configs", "1", "--size", "small", "--no-backward", "--threads", "1"),
    *("--a", "dtype:float32", "--b", "dtype:bfloat16", "--rtol", "0.05", "--blocks", "6"),
)

SIZE = {"width": 1280, "height": 1260}
"""Of the picture: up to the end of the last case's samples."""


def opperf(*words: str) -> int:
    return subprocess.run([sys.executable, "-m", "opperf", *words]).returncode


def main() -> None:
    """Writes the picture."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--session", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        page_file = Path(name, "report.html")
        session = given.session or Path(name, "dtypes.jsonl")
        if not given.session:
            opperf(*SESSION, "--report", str(session), "-o", str(Path(name, "report.txt")))
        # Its exit code says what was found.
        opperf("compare", "--from-ab", str(session), "-o", str(page_file))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(OPTIONS))
        page = browser.new_context(color_scheme="light", viewport=SIZE).new_page()
        page.goto(page_file.as_uri())
        # The last one, so that all verdicts are above it.
        page.locator(CASE).last.click()
        page.wait_for_timeout(300)
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=given.picture)
        browser.close()
    print(f"{given.picture}: {given.picture.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
