"""What a comparison looks like in each format, whatever is in the names and the messages."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import msgspec
import pytest

from opperf.compare.files.comparison import (
    Change,
    ChangeKind,
    Comparison,
    Difference,
    Row,
    Side,
    geometric_means,
)
from opperf.compare.files.reports import FORMATS
from opperf.compare.files.reports.cells import SHOWN_QUIET, SHOWN_ROWS, shortened
from opperf.compare.files.reports.text import text_report
from opperf.compare.statistics.data import Verdict

NASTY = "a|b<script>alert('x')</script>&amp;*bold*_em_`code`\\ \x07"
"""Everything that means something to some format."""


def row(operator="relu", verdict=Verdict.SUSPECT, ratio=1.5, metric="forward", **changed):
    return Row(
        **(
            {
                "id": f"id-{operator}",
                "operator": operator,
                "inputs": "data: (1024, 1024)",
                "category": "unary",
                "metric": metric,
                "unit": "ns",
                "base": 1e6,
                "new": 1e6 * (ratio or 1.0),
                "verdict": verdict,
                "ratio": ratio,
                "low": ratio and ratio * 0.99,
                "high": ratio and ratio * 1.01,
            }
            | changed
        )
    )


def comparison(*rows, **changed):
    metrics = tuple(dict.fromkeys(one.metric for one in rows))
    found = Comparison(
        base=Side("base.jsonl", "2025-01-02T03:04:05+00:00", 4),
        new=Side("new.jsonl", "2025-01-03T03:04:05+00:00", 4),
        threshold=0.02,
        metrics=metrics,
        rows=rows,
        means=geometric_means(rows),
    )
    return msgspec.structs.replace(found, **changed)


MEMORY = {"metric": "memory", "unit": "B", "low": None, "high": None}

FOUND = comparison(
    row("relu", ratio=1.5),
    row("exp", Verdict.UNSUSPICIOUS, 1.0),
    row("log", Verdict.AMBIGUOUS, None, note="3 and 3 samples, and 6 of each are the fewest"),
    row("FullyConnected", Verdict.REGRESSED, 2.0, **MEMORY),
    row("relu", Verdict.SAME, 1.0, **MEMORY),
    differences=(
        Difference("versions.mxnet", "1.9.1", "2.0.0"),
        Difference("settings.threads", None, 4),
    ),
    changes=(
        Change(ChangeKind.BROKEN, "1", "svd", "A: (4, 4)", reason="crashed: signal 11"),
        Change(ChangeKind.DISAPPEARED, "2", "dot", "lhs: (2, 2)"),
        Change(ChangeKind.DISAPPEARED, "3", "dot", "lhs: (3, 3)"),
        Change(ChangeKind.APPEARED, "4", "gelu", ""),
    ),
    unmeasured=2,
    notes=("Of a time no more can be said.",),
    confirm="opperf ab relu --a python:/path/to/base/python",
)

HOSTILE = comparison(
    row(NASTY, inputs=NASTY, note=NASTY),
    differences=(Difference(NASTY, NASTY, NASTY),),
    changes=tuple(
        Change(kind, "1", NASTY, NASTY, reason=NASTY if kind is ChangeKind.BROKEN else "")
        for kind in ChangeKind
    ),
    confirm=f"opperf ab '{NASTY}'",
    fail_on=("suspect", "missing"),
)


def test_text():
    # Whatever the widths of the columns are.
    text = re.sub(r"  +", "  ", text_report(FOUND))
    order = [
        "base  base.jsonl",
        "versions.mxnet  1.9.1  2.0.0",
        "settings.threads  not set  4",
        "forward: 3 cases in common: 1 ambiguous, 1 suspect (1 slower), 1 unsuspicious; geometric",
        "relu  1.500  [1.485, 1.515]  suspect  1.000000  1.500000  data: (1024, 1024)",
        "1 ambiguous: 3 and 3 samples",
        "memory: 2 cases in common: 1 regressed, 1 same",
        "FullyConnected  2.000  regressed  1000.000  2000.000",
        "unary  1.225 (2)  1.414 (2)",
        "all  1.225 (2)  1.414 (2)",
        "Measured before, not now: 1 case:",
        "  svd (A: (4, 4)): crashed: signal 11",
        "Not in the new file: 2 cases: dot (2)",
        "Not in the base: 1 case: gelu",
        "Of a time no more can be said.",
        "2 cases measured in neither run.",
        "  opperf ab relu --a python:/path/to/base/python",
    ]
    places = [text.find(words) for words in order]
    assert -1 not in places, order[places.index(-1)]
    assert places == sorted(places)


@pytest.mark.parametrize("width", [60, 80, 120, 160])
def test_text_fits_the_terminal(width):
    long = row("_contrib_interleaved_matmul_selfatt_qk_and_more", inputs="data: (1, 2), " * 9)
    found = comparison(long, row("exp"), changes=FOUND.changes, notes=FOUND.notes * 5)
    text = text_report(found, width)
    assert max(map(len, text.splitlines())) <= width
    assert ("Base ms" in text) == (width >= 120)
    assert "Inputs" in text or width < 80


def test_the_command_is_never_cut():
    command = "opperf ab " + " ".join(f"operator{number}" for number in range(20))
    assert f"  {command}\n" in text_report(comparison(row(), confirm=command), 60)


def test_a_long_name_keeps_both_its_ends():
    assert shortened("relu", 24) == "relu"
    short = shortened("_contrib_interleaved_matmul_selfatt_qk", 24)
    assert len(short) == 24
    assert short.startswith("_contrib_") and short.endswith("selfatt_qk")


@pytest.mark.parametrize("name", ["text", "md"])
def test_of_many_rows_the_findings_are_shown(name):
    quiet = [row(f"quiet{n}", Verdict.UNSUSPICIOUS, 1.001 + n / 1e6) for n in range(200)]
    found = comparison(row("slow"), *quiet, row("fast", ratio=0.5))
    text = FORMATS[name](found)
    assert "slow" in text and "fast" in text and "quiet" not in text
    assert "200 unsuspicious not shown; csv and json have all" in text
    text = FORMATS[name](comparison(*quiet))
    assert text.count("quiet") == SHOWN_QUIET and "quiet199" in text
    many = FORMATS[name](comparison(*(row(f"slow{n}", ratio=1.1 + n / 1e4) for n in range(200))))
    assert len(re.findall(r"slow\d", many)) == SHOWN_ROWS
    assert "slow199" in many and f"{200 - SHOWN_ROWS} suspect not shown" in many
    assert len(many) < 65536, "what a comment may hold"


@pytest.mark.parametrize("name", ["text", "md"])
def test_the_most_frequent_reasons_are_told(name):
    notes = ["few", "few", "few", "none", "none", "odd", "even", "zero"]
    rows = [row(f"op{n}", Verdict.AMBIGUOUS, note=note) for n, note in enumerate(notes)]
    text = FORMATS[name](comparison(*rows))
    assert "3 ambiguous: few" in text and "2 ambiguous: none" in text
    assert "2 ambiguous for other reasons" in text


def test_markdown():
    text = FORMATS["md"](FOUND)
    lines = [re.sub(r" +", " ", line) for line in text.splitlines()]
    assert lines[0] == "## Operators: `new.jsonl` against `base.jsonl`"
    assert "| `versions.mxnet` | 1.9.1 | 2.0.0 |" in lines
    assert (
        "| `relu` | data: (1024, 1024) | **suspect** | 1.500 | [1.485, 1.515] "
        "| 1.000000 | 1.500000 |" in lines
    )
    assert "### memory" in lines
    assert "- svd (A: (4, 4)): crashed: signal 11" in lines
    assert text.count("<details>") == text.count("</details>") == 4
    assert text.endswith("```sh\nopperf ab relu --a python:/path/to/base/python\n```\n")
    quiet = FORMATS["md"](comparison(row(verdict=Verdict.UNSUSPICIOUS, ratio=1.0)))
    assert "<details><summary>forward: no finding</summary>" in quiet


def test_markdown_of_hostile_names_has_no_markup_of_theirs():
    text = FORMATS["md"](HOSTILE)
    # Code spans and fences show what is in them as it is.
    outside = re.sub(r"```sh\n.*?\n```|``.*?``(?!`)", "", text, flags=re.DOTALL)
    assert "<script" not in re.sub(r"\\<", "", outside)
    table = [line for line in text.splitlines() if line.startswith("|")]
    bars = {len(re.findall(r"(?<!\\)\|", line)) for line in table}
    assert bars == {4, 8, 3}, "one number of columns for each of the three tables"


def test_json_has_every_key_and_every_row():
    content = json.loads(FORMATS["json"](FOUND))
    assert {len(case) for case in content["cases"]} == {14}
    relu = content["cases"][0]
    assert (relu["verdict"], relu["ratio"], relu["unit"]) == ("suspect", 1.5, "ns")
    assert content["cases"][2]["ratio"] is None
    assert content["environment"][1] == {"field": "settings.threads", "base": None, "new": 4}
    assert content["changes"][0]["kind"] == "broken"
    assert content["geometric_means"][-1]["category"] == "all"
    assert content["confirm"] == FOUND.confirm
    odd = comparison(row(base=float("nan"), new=float("inf"), ratio=None))
    assert json.loads(FORMATS["json"](odd))["cases"][0]["base"] is None


def test_csv_has_every_row():
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"](FOUND))))
    assert [one["operator"] for one in rows] == ["relu", "exp", "log", "FullyConnected", "relu"]
    assert rows[0]["verdict"] == "suspect" and float(rows[0]["ratio"]) == 1.5
    assert rows[2]["ratio"] == rows[3]["ratio_low"] == ""
    (odd,) = csv.DictReader(io.StringIO(FORMATS["csv"](HOSTILE)))
    assert odd["operator"] == odd["inputs"] == NASTY


def junit(found):
    (suite,) = ET.fromstring(FORMATS["junit"](found))
    return suite


def test_junit_has_a_test_for_each_case_and_metric():
    suite = junit(FOUND)
    assert [test.get("name") for test in suite] == [
        "relu (data: (1024, 1024)) forward",
        "exp (data: (1024, 1024)) forward",
        "log (data: (1024, 1024)) forward",
        "FullyConnected (data: (1024, 1024)) memory",
        "relu (data: (1024, 1024)) memory",
        "svd (A: (4, 4))",
        "dot (lhs: (2, 2))",
        "dot (lhs: (3, 3))",
        "gelu",
    ]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("9", "0", "5")
    assert "ratio 1.500, interval [1.485, 1.515]" in suite[0].find("system-out").text


@pytest.mark.parametrize(
    ("fail_on", "failing"),
    [
        (("regressed",), ["FullyConnected"]),
        (("suspect",), ["relu"]),
        (("missing",), ["svd", "dot", "dot"]),
        (("regressed", "suspect"), ["relu", "FullyConnected"]),
    ],
)
def test_junit_fails_what_is_looked_for(fail_on, failing):
    suite = junit(msgspec.structs.replace(FOUND, fail_on=fail_on))
    assert [t.get("classname") for t in suite if t.find("failure") is not None] == failing
    assert suite.get("failures") == str(len(failing))


def test_junit_fails_nothing_that_became_faster():
    suite = junit(comparison(row(ratio=0.5), fail_on=("suspect",)))
    assert suite.get("failures") == "0"


def test_junit_names_are_unique():
    twice = junit(comparison(row(id="1"), row(id="2"), row("exp")))
    endings = [test.get("name").rpartition("forward")[2] for test in twice]
    assert endings == [" 1", " 2", ""]


def test_junit_of_hostile_names_is_xml():
    suite = junit(HOSTILE)
    assert suite[0].get("classname") == NASTY.replace("\x07", "\ufffd")
    assert suite.get("failures") == "3"


class Tags(HTMLParser):
    """The tags of a fragment: those open, and all that there were."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.attributes = [], set(), set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("found", [FOUND, HOSTILE, comparison()])
def test_the_html_fragment_is_whole_and_has_no_script(found):
    tags = Tags()
    tags.feed(FORMATS["html-fragment"](found))
    tags.close()
    assert tags.open == []
    assert not {"script", "link", "img", "html", "body", "head", "iframe"} & tags.seen
    assert tags.attributes <= {"class", "scope", "title"}


def test_the_html_fragment_has_every_row():
    rows = [row(f"quiet{n}", Verdict.UNSUSPICIOUS, 1.0) for n in range(100)]
    assert FORMATS["html-fragment"](comparison(*rows)).count("quiet") == 100


@pytest.mark.parametrize("name", FORMATS)
def test_a_comparison_without_rows_has_a_report(name):
    found = comparison(changes=FOUND.changes[:1])
    assert "base.jsonl" in FORMATS[name](found) or name in ("csv", "junit")
