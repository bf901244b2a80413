"""Comments on pull requests: findings first, no longer than GitHub takes, and with a mark."""

from opperf.reports.fields import texts_table
from opperf.reports.markdown import LONGEST_COMMENT, write_markdown
from opperf.reports.model import Report, Section

MARK = "<!-- opperf ab -->"


def section(title, rows, word, is_folded=False):
    """A section with a table of so many rows, of some 230 characters each."""
    cells = [(f"operator_{index}", f"{word}: {'x' * 200}") for index in range(rows)]
    return Section(title, table=texts_table(("Operator", "Inputs"), cells), is_folded=is_folded)


def written(*sections):
    return write_markdown(Report("ab", "A against B", sections, None, comment="ab"))


def test_a_comment_ends_with_its_mark():
    text = written(section("Slower", 3, "slow"))
    assert text.endswith(f"\n{MARK}\n") and "Omitted" not in text and text.count("slow:") == 3


def test_findings_have_the_room_before_what_is_folded():
    quiet, slower = section("Same", 200, "same", is_folded=True), section("Slower", 200, "slow")
    text = written(quiet, slower, quiet)
    assert LONGEST_COMMENT // 2 < len(text) <= LONGEST_COMMENT
    assert text.count("slow:") == 200 and 0 < text.count("same:") < 200
    assert text.index("same:") < text.index("slow:"), "in the report's order"
    assert text.count("<details>") == text.count("</details>") == 1
    (line,) = (line for line in text.splitlines() if line.startswith("Omitted"))
    left = 200 - text.count("same:")
    assert f"Same ({left} rows); Same (200 rows)" in line and text.endswith(f"\n{MARK}\n")


def test_findings_that_are_too_many_are_cut_themselves():
    text = written(section("Slower", 1000, "slow"), Section("After", prose=["short"]))
    assert LONGEST_COMMENT * 0.9 < len(text) <= LONGEST_COMMENT
    assert f"Slower ({1000 - text.count('slow:')} rows)" in text and "short" in text


def test_a_page_is_not_cut():
    report = Report("run", "A run", (section("Results", 1000, "slow"),), None)
    assert write_markdown(report).count("slow:") == 1000
