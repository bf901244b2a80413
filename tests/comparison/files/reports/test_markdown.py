"""A comparison as Markdown."""

import re

import pytest

from opperf.comparison.compared import Change, ChangeKind
from opperf.reports.markdown import code, in_cell, plain
from opperf.statistics.data import Verdict
from tests.web_pages import read_markdown
from tests.writing import compared


def test_markdown(everything, row, comparison):
    text = compared(everything, "md")
    lines = [re.sub(r" +", " ", line) for line in text.splitlines()]
    assert lines[0] == "## Operators: `new.jsonl` against `base.jsonl`"
    assert "| `versions.mxnet` | 1.9.1 | 2.0.0 |" in lines
    assert (
        "| `relu` | data: (1024, 1024) | **suspect** | 1.500 | 1.485 to 1.515 "
        "| 1.000 | 1.500 |" in lines
    )
    assert any(line.startswith("### memory: 2 cases in common: 1 regressed") for line in lines)
    assert "- svd (A: (4, 4)): crashed: signal 11" in lines
    assert text.count("<details>") == text.count("</details>") == 3
    assert "### Measured in base, not in new: 1 case\n" in text
    # The answer comes first.
    assert lines[2].startswith("**1 figure (memory) got worse.** Find the cause")
    assert "**1 figure (forward) may have got worse.**" in lines[2]
    assert "**3 cases no longer measured**" in lines[2]
    assert text.endswith(
        "```sh\nopperf ab relu --a python:/path/to/base/python\n```\n\n<!-- opperf compare -->\n"
    )
    quiet = compared(comparison(row(verdict=Verdict.NO_CLEAR_CHANGE, ratio=1.0)), "md")
    assert "\n\n**Nothing got worse**, as far as these files can tell.\n" in quiet
    assert "<details><summary>forward: 1 case in common: 1 no clear change" in quiet


def test_markdown_of_hostile_names_has_no_markup_of_theirs(hostile):
    text = compared(hostile, "md")
    assert "script" not in read_markdown(text).seen
    table = [line for line in text.splitlines() if line.startswith("|")]
    bars = {len(re.findall(r"(?<!\\)\|", line)) for line in table}
    assert bars == {4, 8, 3}, "one number of columns for each of the three tables"


def lines(found):
    return [re.sub(r" +", " ", line) for line in compared(found, "md").splitlines()]


def test_what_there_is_none_of_is_not_told(comparison, row):
    told = compared(comparison(row(ratio=None)), "md")
    assert "No difference between the environments in the files." in told
    for words in ("To confirm", "details", "more", "ambiguous", "mean"):
        assert words not in told
    assert told.endswith("count as none: forward 2%.\n\n<!-- opperf compare -->\n")


def test_only_findings_are_bold(comparison, row):
    found = comparison(*(row(verdict=one, ratio=2.0) for one in Verdict))
    cells = [line.split(" | ")[2] for line in lines(found) if line.startswith("| `relu`")]
    quiet = ["same", "ambiguous", "invalid", "no clear change", "instructions same"]
    found = ("regressed", "different", "missing", "improved", "suspect")
    assert sorted(cells) == sorted([*(f"**{word}**" for word in found), *quiet])


def test_without_an_interval_there_is_no_column_of_them(comparison, row):
    none = row("exp", low=None, high=None)
    told = lines(comparison(none))
    assert "| Operator | Inputs | Verdict | Ratio | Base (ms) | New (ms) |" in told
    some = lines(comparison(row(), none))
    assert any("| 1.500 | | 1.000 |" in line for line in some)


def test_words_are_aligned_to_the_left_and_numbers_to_the_right(everything, comparison, row):
    aligned = [
        ["right" if cell.endswith(":") else "left" for cell in line.strip("|").split("|")]
        for line in compared(everything, "md").splitlines()
        if line.startswith("|:") or line.startswith("|-")
    ]
    left, right = ["left"], ["right"]
    environment, forward, memory, means = aligned
    assert environment == left * 3
    assert forward == left * 3 + right * 4 and memory == left * 3 + right * 3
    assert means == left + right * 2


def test_inputs_have_a_width(comparison, row):
    told = compared(comparison(row("a", inputs="i" * 120), row("b", inputs="j" * 121)), "md")
    assert "i" * 120 in told and "j" * 119 + "…" in told and "j" * 120 not in told


@pytest.mark.parametrize(
    ("number", "more"), [(20, ""), (21, "- and 1 more\n"), (25, "- and 5 more\n")]
)
def test_twenty_cases_that_broke_are_named(comparison, row, number, more):
    changes = tuple(
        Change(ChangeKind.BROKEN, "", f"op{n}", "", reason="crashed") for n in range(number)
    )
    told = compared(comparison(row(), changes=changes), "md")
    assert f"not in new: {number} cases\n" in told
    assert f"- op19: crashed\n{more}\n" in told


def test_changes_without_reasons_are_on_one_line(comparison, row):
    changes = tuple(Change(ChangeKind.APPEARED, "", "gelu", f"{n}") for n in range(2))
    told = compared(comparison(row(), changes=changes), "md")
    assert "In new only: 2 cases</summary>\n\ngelu (2)\n\n</details>" in told
    some = (*changes, Change(ChangeKind.APPEARED, "", "new", "", reason="failed: no"))
    assert "- gelu (0)\n- gelu (1)\n- new: failed: no\n" in compared(
        comparison(row(), changes=some), "md"
    )


@pytest.mark.parametrize(
    ("text", "shown"), [("relu", "`relu`"), ("a  b\nc", "`a b c`"), ("a`b", "``a`b``")]
)
def test_code_shows_what_is_in_it(text, shown):
    assert code(text) == shown


def test_text_and_cells_have_no_markup():
    assert plain("a_b _e_ *c*\n<d>") == r"a_b \_e\_ \*c\* \<d\>"
    assert in_cell("a_b _c_ <d> *e* `f` & g") == (
        "a_b &#95;c&#95; &#60;d> &#42;e&#42; &#96;f&#96; &#38; g"
    )
