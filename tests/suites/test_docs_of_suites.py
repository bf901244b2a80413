"""The page on suites: its example resolves, and its table has all keys."""

import re
from pathlib import Path

from opperf.suites.benches import KEYS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "suites.md").read_text()
FILE = PAGE.partition("## The file")[2].partition("\n## ")[0]

OF_MILABENCH = {"url", "name", "config_base", "config_file"}
"""Keys that its files have and opperf does not use."""


def test_the_example_resolves(suite):
    example = re.search(r"```yaml\n(.*?)```", FILE, re.DOTALL)[1]
    found = suite(example, files={"base.yaml": "_net: {weight: 3}\n"})
    names = [bench.name for bench in found.benches]
    assert names[0] == "resnet" and names[-1] == "products" and len(names) == 7
    assert found.benches[1].argv[-4:] == ("--batch-size", "1", "--dtype", "float32")
    assert found.benches[1].weight == 2


def test_the_table_of_keys_has_all():
    rows = re.search(r"^\| key \|.*\n\|[ |-]+\n((?:\|.*\n)+)", FILE, re.MULTILINE)[1]
    written = {
        key for row in rows.splitlines() for key in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    assert written == set(KEYS) - OF_MILABENCH
