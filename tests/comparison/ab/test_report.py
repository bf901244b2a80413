"""The report of a session on a terminal, in a file and on a page."""

import csv
import html
import io
import json
import math
import xml.etree.ElementTree as ET
from collections import Counter

import msgspec
import pytest

from opperf.comparison.ab.figures import weigh_session
from opperf.comparison.ab.judging import INTERVAL, NOT_IN_BOTH, NOT_IN_SOME, comparison_of
from opperf.comparison.ab.process import key
from opperf.comparison.ab.telling import MAX_SAME
from opperf.comparison.compared import CoarseReport, ComparedRow, Comparison, SessionFacts, Side
from opperf.comparison.results import MOST as MAX_ROWS
from opperf.comparison.results import ResultsRow
from opperf.model import Difference, Note, NoteCode, Place, ProcessLine
from opperf.reports.formats import REPORT, formats_of
from opperf.statistics.data import Shift, Thresholds, Verdict
from opperf.statistics.verdicts import analyse
from tests.comparison.ab.sessions import add_replicates, at, case, ok, session_of
from tests.statistics.conftest import constant_blocks
from tests.writing import judged

LONG = "measured in one arm only, as the other one's operator does not take these inputs at all"


def changed(comparison, **fields):
    """A comparison with other fields, those of its session among them."""
    own = {name: fields.pop(name) for name in SessionFacts.__struct_fields__ if name in fields}
    if lost := fields.pop("lost", None):
        fields["reasons"] = {**comparison.reasons, NOT_IN_SOME: lost}
    session = msgspec.structs.replace(comparison.session, **own)
    return msgspec.structs.replace(comparison, session=session, **fields)


def compared_session():
    """A comparison of a session, made by hand."""
    rows = tuple(
        ComparedRow(
            id=str(number),
            operator="broadcast_add",
            inputs="lhs: (64, 64), rhs: (64, 64)",
            metric="forward",
            verdict=verdict,
            unit="ns",
            ratio=1.0 + number / 10,
            low=1.0,
            high=1.5,
            detectable=0.05 + number / 100,
            blocks=6,
        )
        for number, verdict in enumerate((Verdict.REGRESSED, Verdict.REGRESSED, Verdict.AMBIGUOUS))
    )
    return Comparison(
        command="ab",
        sides=(Side("ops:nd.add"), Side("ops:np.add")),
        labels=("A", "B"),
        threshold=0.02,
        same_within=0.04,
        detectable=0.06,
        interval=INTERVAL,
        rows=rows,
        reasons={NOT_IN_BOTH: {"relu (data: (2, 2))": LONG}, NOT_IN_SOME: {}},
        session=SessionFacts(
            framework="mxnet 1.9.1",
            cases=3,
            processes=32,
            blocks=6,
            block_cap=12,
            first_look=4,
            detectable_with_four_times=0.04,
            explained=0.92,
            shift=Shift(Verdict.AMBIGUOUS, 0.01, -0.01, 0.03, 0.2, 4),
        ),
    )


@pytest.fixture
def report():
    return compared_session()


def test_a_file_has_whole_lines(report):
    lines = judged(report).splitlines()
    assert f"relu (data: (2, 2))  {LONG}" in lines
    assert any(line.endswith("Measured by 32 processes.") for line in lines)
    (row,) = [line for line in lines if "7.0%" in line]
    assert "  1.200  1.000 to 1.500        7.0%       6  lhs: (64, 64)" in row


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_is_not_exceeded_and_reasons_are_whole(report, width):
    lines = judged(report, width=width).splitlines()
    assert max(map(len, lines)) <= width
    told = " ".join(" ".join(lines).split())
    assert "Measured by 32 processes." in told and told.count("7.0%") == 1
    assert (
        "The smallest change that could have been found in the median figure is 6.0%; smaller "
        "ones cannot be told from noise. With four times the blocks it would be 4.0%."
    ) in told
    words = set(LONG.split())
    assert words <= set(told.split())


@pytest.fixture
def with_coarse(report):
    """Makes a report with a coarse look in which these figures changed."""

    def made(*changes):
        rows = tuple(
            ComparedRow(
                id=str(number),
                operator="batch_norm",
                inputs="data: (64, 64, 56, 56), gamma: (64,), beta: (64,)",
                metric="backward",
                verdict=change or Verdict.NO_CLEAR_CHANGE,
                ratio=2.0 + number if change is Verdict.REGRESSED else 0.25,
                low=1.25,
                high=3.25,
                blocks=4,
            )
            for number, change in enumerate(changes)
        )
        return changed(report, coarse=CoarseReport(4, 0.2, rows))

    return made


@pytest.mark.parametrize("width", [80, 120])
def test_what_changed_with_all_threads_is_a_table(with_coarse, width):
    text = judged(with_coarse(Verdict.REGRESSED, None, Verdict.IMPROVED), width=width)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    assert (
        "With all threads (4 blocks of 4): 2 figures changed by more than 20%; this does not "
        "affect the exit code."
    ) in words
    table = text[text.index("\n\nChanged by more than 20% with all threads\n\n") :]
    table = table[: table.index("Not measured in both")]
    assert table.index("improved") < table.index("regressed") and "1.250 to 3.250" in table
    assert table.count("batch_norm") == 2 and text.count("batch_norm") == 2
    assert text.index("Ambiguous") < text.index("Changed by more than 20% with all threads")


def test_without_a_change_with_all_threads_there_is_one_line(with_coarse):
    for name in ("text", "md"):
        text = judged(with_coarse(None, None), name)
        assert "With all threads (4 blocks of 4): no figure changed by more than 20%.\n" in text
        assert text.count("all threads") == 1 and "batch_norm" not in text


def test_a_page_and_json_have_the_coarse_look(with_coarse):
    report = with_coarse(Verdict.REGRESSED, None)
    assert "## Changed by more than 20% with all threads\n\n| Operator" in judged(report, "md")
    rows = json.loads(judged(report, "json"))["session"]["coarse"]["rows"]
    assert [row["verdict"] for row in rows] == ["regressed", "no clear change"]


def test_the_largest_change_is_first(report):
    text = judged(report)
    assert text.index("1.100") < text.index("Ambiguous") < text.index("1.200")
    assert text.index("1.100 ") < text.index(" 1.000  1.000 to 1.500")


def test_the_interval_is_named_for_its_level():
    assert f"{1 - 2 * Thresholds().same_level:.0%}".replace("%", " % interval") == INTERVAL


def test_figures_that_are_the_same_come_last_and_most_of_them_are_counted(report):
    same = msgspec.structs.replace(report.rows[0], verdict=Verdict.SAME, operator="copy")
    many = changed(report, rows=(*report.rows, *[same] * (MAX_SAME + 7)))
    words = (("Ambiguous", "Same"), ("Not clear (", "No change ("))
    for text, (ambiguous, unchanged) in zip((judged(many), judged(many, "md")), words, strict=True):
        assert text.index(ambiguous) < text.index(unchanged) < text.index("copy")
        assert text.count("copy") == MAX_SAME and "and 7 more; --format json has all" in text


@pytest.mark.parametrize(
    "blocks, words",
    [
        (0, "Unfinished: no verdicts before 4 blocks; --resume continues."),
        (6, "Unfinished: verdicts after 6 of at most 12 blocks; --resume continues."),
    ],
)
def test_an_unfinished_session_names_its_latest_look(report, blocks, words):
    unfinished = changed(report, complete=False, blocks=blocks)
    assert words in judged(unfinished)
    invalid = changed(unfinished, valid=False, reason="A differs from itself")
    assert "Unfinished" not in judged(invalid) and "Invalid: A differs" in judged(invalid)


def test_without_an_estimate_nothing_could_be_found(report):
    none = changed(report, detectable=None, detectable_with_four_times=None)
    assert "could have been found" not in judged(none)


def test_no_percentage_is_above_100(report):
    rows = [msgspec.structs.replace(row, detectable=1.01, note="") for row in report.rows]
    wide = changed(report, detectable=2.5, rows=tuple(rows))
    text = " ".join(judged(wide).split())
    assert "median figure is over 100%;" in text and "101.0%" not in text and "250.0%" not in text
    unclear = msgspec.structs.replace(wide.rows[0], verdict=Verdict.AMBIGUOUS)
    page = judged(changed(wide, rows=(unclear,)), "html")
    assert "<strong>over 100%</strong>" in page and "that shows is over 100%)" in page
    assert "250" not in page.partition("<main")[0]
    exact = changed(report, detectable=1.0)
    assert "median figure is 100.0%;" in " ".join(judged(exact).split())


def suite_of(report):
    (suite,) = ET.fromstring(judged(report, "junit"))
    return suite


def test_csv_has_every_figure_and_empty_cells_for_what_is_missing(report):
    rows = list(csv.DictReader(io.StringIO(judged(report, "csv"))))
    assert [(row["operator"], row["verdict"], row["ratio"]) for row in rows] == [
        ("broadcast_add", one.verdict.value, str(one.ratio)) for one in report.rows
    ]
    assert {row["p"] for row in rows} == {""}


@pytest.mark.parametrize(
    "fail_on, failing, skipped",
    [
        ((Verdict.REGRESSED,), {"regressed": 2}, 2),
        ((Verdict.AMBIGUOUS,), {"ambiguous": 1}, 1),
        ((Verdict.IMPROVED,), {}, 2),
    ],
)
def test_junit_fails_on_what_is_looked_for(report, fail_on, failing, skipped):
    suite = suite_of(changed(report, fail_on=fail_on))
    found = Counter(one.get("type") for one in suite.findall("testcase/failure"))
    assert found == failing
    assert suite.get("failures") == str(sum(failing.values()))
    # Among them the case that one arm lacks.
    assert suite.get("skipped") == str(skipped)
    assert suite.get("tests") == "4"


def test_junit_of_an_invalid_session_is_one_error(report):
    suite = suite_of(changed(report, valid=False, reason="A differs from A"))
    (error,) = suite.findall("testcase/error")
    assert error.get("message") == "A differs from A"
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")


def test_html_escapes_and_has_all_rows_where_others_say_how_many_they_lack(report):
    (row, *_) = report.rows
    many = [msgspec.structs.replace(row, id=str(i), operator="<b>") for i in range(MAX_ROWS + 1)]
    page = judged(changed(report, rows=tuple(many)), "html-fragment")
    assert page.count("&lt;b&gt;") == MAX_ROWS + 1 and "<b>" not in page
    assert "and 1 more; --format json has all" in judged(changed(report, rows=tuple(many)), "md")


@pytest.mark.parametrize("width, is_whole", [(80, False), (120, False), (200, True)])
def test_inputs_use_the_width_that_there_is(report, width, is_whole):
    inputs = ", ".join(f"argument_{number}: (1024, 1024)" for number in range(4))
    (row, *_) = report.rows
    alone = changed(report, rows=(msgspec.structs.replace(row, inputs=inputs),))
    lines = judged(alone, width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert any(inputs in line for line in lines) == is_whole


WRONG = "output: largest error 0.5 (0.2 of A's): 2.5 in A and 2 in B at [3]"


@pytest.fixture
def with_results(report):
    """A report of which a case is wrong, one is the same, and one is random."""
    outcomes = {"0": ("different", WRONG), "1": ("same", ""), "2": ("not compared", "random")}
    rows = tuple(
        msgspec.structs.replace(
            row,
            verdict=Verdict.DIFFERENT if row.id == "0" else row.verdict,
            results=outcomes[row.id][0],
            difference=outcomes[row.id][1],
        )
        for row in report.rows
    )
    place, _, words = WRONG.partition(": ")
    found = Difference(place, words, (3,), 0.5, 0.2, 0.25)
    results = tuple(
        ResultsRow(
            row.id,
            row.operator,
            row.inputs,
            row.results,
            row.difference if row.results == "not compared" else "",
            (found,) if row.results == "different" else (),
            int(row.results == "different"),
        )
        for row in rows
    )
    return changed(report, rows=rows, results=results)


@pytest.mark.parametrize("output_format", formats_of(REPORT))
def test_a_faster_wrong_answer_is_not_improved_without_a_word(with_results, output_format):
    text = judged(with_results, output_format)
    found = html.unescape(text) if output_format in ("junit", "html-fragment") else text
    lines = [line for line in found.splitlines() if "error 0.5 (0.2 of A's)" in line]
    if output_format in ("text", "md", "html-fragment"):
        # In a table of its own, and in the row of the verdict.
        assert len(lines) == 2 and any("1.000 to 1.500" in line for line in lines)
        assert "different in 1 case, the same within rounding in 1 case, not compared in" in found
        assert "Results that are not compared" in found
    elif output_format == "json":
        assert json.loads(text)["results"][0]["differences"][0]["index"] == [3]
    else:
        (line,) = lines
        assert "different" in line and "improved" not in line and WRONG in line.replace('""', '"')


def test_junit_fails_on_results_that_differ(with_results):
    suite = suite_of(changed(with_results, fail_on=("different",)))
    (failure,) = suite.findall("testcase/failure")
    assert failure.get("type") == "different" and WRONG in failure.get("message")


@pytest.mark.parametrize("width", [80, 120])
def test_differences_are_whole_and_fit_a_terminal(with_results, width):
    lines = judged(with_results, width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert set(WRONG.split()) <= set(" ".join(lines).split())


def test_a_comment_says_first_what_was_found_and_what_to_do(report):
    page = judged(report, "md")
    assert page.startswith(
        "## Of 3 figures: 2 slower, 1 not clear\n\n**What to do:** 2 figures of B are"
    )
    assert (
        page.index("### Slower") < page.index("<summary>Not clear (1)") < page.index("How it was")
    )
    same = msgspec.structs.replace(report.rows[0], verdict=Verdict.SAME)
    quiet = changed(report, rows=(same,))
    assert judged(quiet, "md").startswith(
        "## Of 1 figure: 1 without change\n\nNothing to do: no figure is slower.\n"
    )
    noisy = changed(report, valid=False, reason="A differs from A")
    title, _, advice, *_ = judged(noisy, "md").splitlines()
    assert title == "## No result: A differs from itself, so the machine was too noisy"
    assert advice.startswith("**What to do:** A differs from A.")


@pytest.fixture
def session():
    """Makes a session of cases, and of the times of A and of B of a figure in nanoseconds."""

    def made(times, cases, control_b=None):
        a, b = ({name: math.log(sides[i]) for name, sides in times.items()} for i in (0, 1))
        found = session_of(*cases)
        control = constant_blocks("control", 2, a, control_b or a)
        add_replicates(found, [*control, *constant_blocks("comparison", 4, a, b)])
        return found, analyse(found.replicates, found.plan.thresholds)

    return made


def test_passes_add_up_and_counts_weight(session):
    relu, mm, gone = cases = (case("relu", count=10), case("mm", count=1), case("gone", count=3))
    times = {
        key(relu.id, "forward"): (1000.0, 2000.0),
        key(relu.id, "backward"): (3000.0, 3000.0),
        key(mm.id, "forward"): (50_000.0, 25_000.0),
    }
    found = weigh_session(*session(times, cases))
    assert (found.base_ns, found.new_ns) == pytest.approx((90_000.0, 75_000.0))
    assert [one.operator for one in found.operators] == ["mm", "relu"]
    assert found.geometric_mean == pytest.approx((1.25**10 / 2) ** (1 / 11))
    assert (found.metrics, found.unmeasured_calls) == (("forward", "backward"), 3)


def test_only_a_valid_session_has_totals(session):
    (one,) = cases = (case("relu", count=10),)
    name = key(one.id, "forward")
    sound, analysis = session({name: (1000.0, 2000.0)}, cases)
    assert comparison_of(sound, analysis, weight="count").weighted.new_ns == pytest.approx(20_000)
    assert comparison_of(sound, analysis).weighted is None


def test_a_session_without_a_look_has_empty_totals(session):
    found, analysis = session({}, (case("relu", count=2),))
    weighted = weigh_session(found, analysis)
    assert (weighted.cases, weighted.unmeasured_calls, weighted.geometric_mean) == (0, 2, None)


def test_work_that_a_compiler_removed_is_told_of_each_arm():
    session = session_of(case("relu", passes=("forward",)))
    notes = tuple(Note(name, NoteCode.DEAD_CODE, "97% is gone") for name in ("forward", "total"))
    for phase, arms in (("control", "AAAA"), ("comparison", "ABBA")):
        for position, arm in enumerate(arms):
            (planned,) = session.cases_of(arm).values()
            place = Place(phase, 0, position, arm, "ABBA"[position])
            record = ok(planned, notes=notes if arm == "B" else ())
            session.add(ProcessLine(place, "", 1.0), [at(record, place)])
    (row,) = comparison_of(session, analyse(session.replicates, session.plan.thresholds)).rows
    assert row.note.endswith("B: 97% is gone") and "A: 97%" not in row.note
