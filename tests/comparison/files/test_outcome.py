"""What a comparison was asked to look for."""

import re

import msgspec
import pytest

from opperf.comparison.compared import Change, ChangeKind, ComparedRow, Comparison, Side
from opperf.comparison.files.telling import outcome
from opperf.comparison.report import ci_tests
from opperf.statistics.data import Verdict

WORDS = ("regressed", "improved", "suspect", "missing")


def row(verdict, new=2.0, metric="forward", unit="ns"):
    return ComparedRow("", "relu", "", metric, verdict, unit=unit, base=1.0, new=new)


def found(*rows, fail_on=(), gone=()):
    changes = tuple(Change(kind, "", "relu", "") for kind in gone)
    sides = (Side("a"), Side("b"))
    return Comparison("compare", sides, 0.02, rows=rows, changes=changes, fail_on=fail_on)


@pytest.mark.parametrize(
    ("verdict", "new", "failing"),
    [
        ("regressed", 2.0, {"regressed"}),
        ("improved", 0.5, {"improved"}),
        ("same", 1.0, set()),
        ("ambiguous", 2.0, set()),
        ("invalid", 2.0, set()),
        ("suspect", 2.0, {"suspect"}),
        ("suspect", 0.5, set()),
        ("no clear change", 2.0, set()),
    ],
)
def test_rows_that_are_looked_for(verdict, new, failing):
    one = row(Verdict(verdict), new)
    for word in WORDS:
        assert one.findings((word,)) == [*failing & {word}]
    assert one.findings(WORDS) == [*failing]
    assert not one.findings(())


@pytest.mark.parametrize(
    ("kind", "missing"),
    [("broken", True), ("disappeared", True), ("fixed", False), ("appeared", False)],
)
def test_what_is_missing_had_figures(kind, missing):
    gone = [ChangeKind(kind)]
    (one,) = ci_tests(found(fail_on=("missing",), gone=gone))
    assert (one.result, one.kind) == (("failure", "missing") if missing else ("skipped", ""))
    (unasked,) = ci_tests(found(fail_on=("regressed", "suspect"), gone=gone))
    assert unasked.result == "skipped"


REGRESSED, SUSPECT, FASTER, OPEN, QUIET, SAME = (
    row(Verdict.REGRESSED),
    row(Verdict.SUSPECT),
    row(Verdict.SUSPECT, 0.5),
    row(Verdict.AMBIGUOUS),
    row(Verdict.NO_CLEAR_CHANGE, 1.0),
    row(Verdict.SAME, 1.0),
)
LESS = row(Verdict.IMPROVED, 0.5)
UNSURE = row(Verdict.SUSPECT, metric="instructions", unit="instructions")
BROKEN = ChangeKind.BROKEN


@pytest.mark.parametrize(
    ("rows", "gone", "fail_on", "code", "words"),
    [
        ([REGRESSED, SUSPECT], [BROKEN], (), 0, ""),
        ([REGRESSED, REGRESSED, SUSPECT], [BROKEN], WORDS, 1, "2 regressed, 1 suspect, 1 missing"),
        ([REGRESSED, SUSPECT], [], ("suspect", "missing"), 1, "1 suspect"),
        ([SAME, FASTER], [ChangeKind.APPEARED], WORDS, 0, ""),
        # Times from two files cannot regress.
        ([SUSPECT, QUIET], [], ("regressed",), 3, "cannot decide whether anything is regressed"),
        ([SUSPECT, SAME], [], ("regressed",), 0, ""),
        ([QUIET], [], ("suspect",), 0, ""),
        ([SAME], [], ("suspect",), 0, ""),
        ([OPEN], [], ("suspect",), 3, "cannot decide whether anything is suspect"),
        # One answer is enough, and whether something is missing can always be told.
        ([QUIET], [], ("regressed", "suspect"), 0, ""),
        ([OPEN], [], ("suspect", "missing"), 0, ""),
        ([OPEN], [], ("regressed", "suspect"), 3, "is suspect: every common case"),
        ([LESS, SUSPECT], [], ("improved",), 1, "1 improved"),
        ([REGRESSED], [], ("improved",), 0, ""),
        ([UNSURE], [], ("regressed", "improved"), 3, "every figure has a note on why it may vary"),
        ([], [], ("missing",), 0, ""),
        ([], [], ("suspect",), 3, "measure more samples"),
    ],
)
def test_the_exit_code_and_why(rows, gone, fail_on, code, words):
    told, why = outcome(found(*rows, fail_on=fail_on, gone=gone))
    assert told == code
    assert why == words if code < 3 else words in why


def test_averages_are_compared_by_their_samples():
    averages = Side("a.json", averages=True)
    of_averages = msgspec.structs.replace(
        found(UNSURE, fail_on=("regressed",)), sides=(averages, Side("b"))
    )
    code, why = outcome(of_averages)
    assert code == 3 and why.endswith("averages have no spread; compare run files (-f jsonl)")


def test_everything_that_cannot_be_told_has_its_reason():
    _, why = outcome(found(OPEN, fail_on=("regressed", "suspect")))
    assert re.findall("cannot decide whether anything is (.*?):", why) == ["regressed", "suspect"]
