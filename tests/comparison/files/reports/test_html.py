"""A comparison as a fragment of HTML."""

from html.parser import HTMLParser

import pytest

from opperf.instruments.times import FORWARD
from opperf.machine.environment import Difference
from opperf.statistics.data import Verdict
from tests.writing import compared


def html_report(found):
    return compared(found, "html-fragment")


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


@pytest.mark.parametrize("which", ["everything", "hostile", "nothing"])
def test_the_html_fragment_is_whole_and_has_no_script(everything, hostile, comparison, which):
    found = {"everything": everything, "hostile": hostile, "nothing": comparison()}[which]
    tags = Tags()
    tags.feed(compared(found, "html-fragment"))
    tags.close()
    assert tags.open == []
    assert not {"script", "link", "img", "html", "body", "head", "iframe"} & tags.seen
    assert tags.attributes <= {"class", "scope", "title"}


def test_the_html_fragment_has_every_row(row, comparison):
    rows = [row(f"quiet{n}", Verdict.NO_CLEAR_CHANGE, 1.0) for n in range(100)]
    assert compared(comparison(*rows), "html-fragment").count("quiet") == 100


def test_a_row_has_its_cells_in_the_order_of_their_titles(comparison, row):
    text = html_report(comparison(row(note="a < b")))
    titles = ("Operator", "Inputs", "Ratio", "95 % interval", "Verdict", "Base ms", "New ms")
    assert "".join(f'<th scope="col">{title}</th>' for title in titles) in text
    assert (
        "<tr><td>relu</td><td>data: (1024, 1024)</td>"
        '<td class="number">1.500</td><td class="number">1.485 to 1.515</td>'
        '<td class="worse" title="a &lt; b">suspect</td>'
        '<td class="number">1.000</td><td class="number">1.500</td></tr>'
    ) in text
    assert html_report(comparison(row())).count("title=") == 1


def test_a_metric_is_described_where_its_name_is(comparison, row):
    assert f'<caption title="{FORWARD.description}">forward: 1 case' in html_report(
        comparison(row())
    )


@pytest.mark.parametrize(
    ("verdict", "ratio", "shade"),
    [
        (Verdict.REGRESSED, 2.0, "worse"),
        (Verdict.IMPROVED, 0.5, "better"),
        (Verdict.SUSPECT, 2.0, "worse"),
        (Verdict.SUSPECT, 0.5, "better"),
        (Verdict.SAME, 1.1, ""),
        (Verdict.NO_CLEAR_CHANGE, 0.9, ""),
        (Verdict.AMBIGUOUS, 2.0, "open"),
        (Verdict.AMBIGUOUS, 0.5, "open"),
    ],
)
def test_a_verdict_has_a_shade(comparison, row, verdict, ratio, shade):
    text = html_report(comparison(row(verdict=verdict, ratio=ratio)))
    attribute = f' class="{shade}"' if shade else ""
    assert f"<td{attribute}>{verdict.value}</td>" in text


def test_the_html_fragment_tells_what_there_is(everything, comparison, row):
    text = html_report(everything)
    assert "<tr><td>versions.mxnet</td><td>1.9.1</td><td>2.0.0</td></tr>" in text
    assert "<summary>In base only: 2 cases</summary>" in text
    assert "<li>dot (lhs: (2, 2))</li>\n<li>dot (lhs: (3, 3))</li>\n</ul>" in text
    assert "Measured now" not in text
    assert f"<pre>{everything.confirm}</pre>" in text
    nothing = html_report(comparison(row(ratio=None)))
    assert "<p>No difference between the environments in the files.</p>" in nothing
    for words in ("To confirm", "Geometric means", "<caption>Environment", "<details>", "[]"):
        assert words not in nothing


def test_the_html_fragment_has_every_difference(comparison, row):
    some = tuple(Difference(f"features.{n:02d}", True, False) for n in range(60))
    text = html_report(comparison(row(), differences=some))
    assert text.count("features.") == 60 and "do not differ" not in text
