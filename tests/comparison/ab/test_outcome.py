"""Exit codes of a session, by its verdicts: from its processes to the report and the code."""

import json
import math
import re
import xml.etree.ElementTree as ET

import msgspec
import pytest

from opperf.comparison.ab.judging import (
    EXIT_CODES,
    NOT_IN_BOTH,
    NOT_IN_SOME,
    comparison_of,
    outcome_of,
)
from opperf.comparison.ab.process import Absence, key
from opperf.comparison.results import ResultsRow
from opperf.defaults import FAIL_ON
from opperf.model import DIFFERENT, Check, Closing, Difference, Note, NoteCode, Place, ProcessLine
from opperf.reports.formats import REPORT, formats_of
from opperf.statistics.data import Analysis, CaseVerdict, Shift, Thresholds, Verdict
from opperf.statistics.verdicts import analyse
from tests.comparison.ab.sessions import at, case, crashed, ok, session_of
from tests.writing import judged

REGRESSED, IMPROVED, SAME, AMBIGUOUS = (
    Verdict.REGRESSED,
    Verdict.IMPROVED,
    Verdict.SAME,
    Verdict.AMBIGUOUS,
)


def analysed(*verdicts, shift=SAME, valid=True, checks=(), absences=(), fail_on=FAIL_ON):
    """The report of figures with these verdicts, each of a case of its own."""
    cases = [case(f"op{number}", ("forward",)) for number in range(len(verdicts))]
    session = session_of(
        *cases,
        checks={one.id: check for one, check in zip(cases, checks, strict=False) if check},
        absences=absences,
    )
    session.closing = Closing("", 1.0, {})
    figures = tuple(
        CaseVerdict(key(one.id, "forward"), verdict, effect=math.log(0.8))
        for one, verdict in zip(cases, verdicts, strict=True)
    )
    common = None if shift is None else Shift(shift, 0.1, 0.0, 0.2, 0.01, 4)
    analysis = Analysis(valid, Thresholds(), common, figures, reason="" if valid else "noise")
    return comparison_of(session, analysis, fail_on)


def test_what_has_no_case_is_named_beside_what_neither_arm_measures():
    session = session_of(case("op", ("forward",)), absences=[GONE])
    why = {"gelu": "no inputs in inputs.py:INPUTS"}
    session.header = msgspec.structs.replace(session.header, excluded={**why, GONE.case: "B: none"})
    report = comparison_of(session, Analysis(True, Thresholds(), None, ()), FAIL_ON)
    assert report.reasons[NOT_IN_BOTH] == why


@pytest.mark.parametrize(
    "report, fail_on, code",
    [
        (analysed(SAME, SAME), (REGRESSED, IMPROVED, AMBIGUOUS), 0),
        (analysed(SAME, REGRESSED), (REGRESSED,), 1),
        (analysed(SAME, REGRESSED), (IMPROVED,), 0),
        (analysed(SAME, REGRESSED), (), 0),
        (analysed(SAME, IMPROVED), (IMPROVED,), 1),
        (analysed(SAME, AMBIGUOUS), (REGRESSED,), 0),
        (analysed(SAME, AMBIGUOUS), (REGRESSED, AMBIGUOUS), 3),
        (analysed(REGRESSED, AMBIGUOUS), (AMBIGUOUS, REGRESSED), 1),
        # All operators together count as one of them.
        (analysed(SAME, shift=REGRESSED), (REGRESSED,), 1),
        (analysed(SAME, shift=None), (REGRESSED, AMBIGUOUS), 0),
        # Nothing decided, or nothing that may be believed.
        (analysed(AMBIGUOUS, AMBIGUOUS), (REGRESSED,), 3),
        (analysed(), (REGRESSED,), 3),
        (analysed(Verdict.INVALID, valid=False), (REGRESSED,), 3),
        (analysed(Verdict.INVALID, shift=REGRESSED, valid=False), (REGRESSED,), 3),
    ],
)
def test_exit_codes(report, fail_on, code):
    words = tuple(one.value for one in fail_on)
    assert outcome_of(msgspec.structs.replace(report, fail_on=words))[0] == code


def test_the_usual_findings_are_among_those_that_there_are():
    assert set(FAIL_ON) < set(EXIT_CODES)


WRONG = Check(DIFFERENT, "", (Difference("output", "1 in A and nan in B"),), 1)


@pytest.mark.parametrize("verdict", Verdict)
def test_results_that_differ_are_a_finding_whatever_the_times(verdict):
    valid = verdict is not Verdict.INVALID
    report = analysed(verdict, checks=[WRONG], shift=None, valid=valid)
    code, why = outcome_of(report)
    assert code == 1 and "1 different" in why
    (row,) = report.rows
    # Neither better nor the same; what is worse or open is not hidden.
    kept = {Verdict.REGRESSED, AMBIGUOUS, Verdict.INVALID, Verdict.SUSPECT, Verdict.MISSING}
    assert row.verdict is (verdict if verdict in kept else Verdict.DIFFERENT)
    assert row.difference == "output: 1 in A and nan in B"
    assert outcome_of(msgspec.structs.replace(report, fail_on=("improved",)))[0] in (0, 3)


@pytest.mark.parametrize("name", formats_of(REPORT))
@pytest.mark.parametrize("verdict", [IMPROVED, SAME, AMBIGUOUS, REGRESSED])
def test_in_every_format_the_row_has_the_difference(name, verdict):
    report = analysed(verdict, checks=[WRONG], shift=None)
    text = judged(report, name)
    assert "1 in A and nan in B" in text
    # What is to be done speaks of a wrong result that is faster.
    counted = re.findall(r"1 (\w+)|<strong>1</strong> (\w+)", text)
    assert not {"improved", "faster", "same", "without"} & {one or other for one, other in counted}
    if name == "junit":
        (failure,) = ET.fromstring(text).iter("failure")
        assert failure.get("type") == (verdict.value if verdict is REGRESSED else DIFFERENT)


def test_results_that_differ_have_no_part_in_gains_of_all():
    wrong = analysed(IMPROVED, IMPROVED, IMPROVED, shift=IMPROVED, checks=[WRONG, WRONG])
    assert wrong.session.shift is None
    assert wrong.counts == {Verdict.DIFFERENT: 2, IMPROVED: 1}
    assert analysed(IMPROVED, IMPROVED, IMPROVED, shift=IMPROVED, checks=[WRONG]).session.shift
    worse = analysed(SAME, SAME, shift=REGRESSED, checks=[WRONG, WRONG])
    assert worse.session.shift is not None


GONE = Absence("1d", "softmax", "x: (2, 2)", ("forward", "backward"), {"B": "failed: boom"}, True)


@pytest.mark.parametrize("name", formats_of(REPORT))
def test_what_a_can_and_b_cannot_is_a_finding_in_every_format(name):
    report = analysed(SAME, absences=[GONE])
    assert outcome_of(report) == (1, "2 missing")
    text = judged(report, name)
    assert "softmax" in text and "B: failed: boom" in text and "missing" in text.lower()
    if name == "junit":
        found = ET.fromstring(text)
        assert [one.get("type") for one in found.iter("failure")] == ["missing", "missing"]
    if name == "json":
        assert json.loads(text)["counts"] == {"same": 1, "missing": 2}


def test_nothing_but_what_is_missing_is_a_finding_of_a_valid_session():
    report = analysed(absences=[GONE], shift=None)
    assert outcome_of(report) == (1, "2 missing") and report.session.cases == 1
    noisy = analysed(Verdict.INVALID, absences=[GONE], valid=False)
    assert outcome_of(noisy)[0] == 1
    (suite,) = ET.fromstring(judged(noisy, "junit"))
    assert (suite.get("errors"), suite.get("failures")) == ("1", "2")
    assert "2 missing in B" in judged(noisy, "md").splitlines()[0]


@pytest.mark.parametrize(
    "reasons, is_missing",
    [({"A": "failed: boom"}, False), ({"A": "failed: boom", "B": "failed: boom"}, False)],
)
def test_what_a_cannot_is_listed_and_no_finding(reasons, is_missing):
    absence = msgspec.structs.replace(GONE, reasons=reasons, is_missing=is_missing)
    report = analysed(SAME, absences=[absence])
    assert outcome_of(report) == (0, "") and report.counts == {SAME: 1}
    assert report.reasons[NOT_IN_BOTH] == {"softmax (x: (2, 2))": absence.reason}


RELU, EXP = case("relu"), case("exp")


def measured(does):
    """A session of two cases; `does` makes the record of a planned case at a place."""
    session = session_of(RELU, EXP)
    for phase, blocks in (("control", 2), ("comparison", 4), ("coarse", 1)):
        for block in range(blocks):
            for position, role in enumerate("ABBA"):
                arm = "A" if phase == "control" else role
                place = Place(phase, block, position, arm, role)
                records = [at(does(one, place), place) for one in session.cases_of(arm).values()]
                session.add(ProcessLine(place, "", 1.0), records)
    session.closing = Closing("", 1.0, {})
    return session, comparison_of(session, analyse(session.replicates, Thresholds()), FAIL_ON)


def failing(*arms, phase="comparison", block=2, make=crashed):
    def does(one, place):
        is_here = (place.phase, place.block) == (phase, block) and place.arm in arms
        return make(one) if one.target.name == "exp" and is_here else ok(one)

    return does


@pytest.mark.parametrize(
    "does, missing",
    [
        (failing("B"), "B: crashed: SIGSEGV"),
        (failing("B", phase="coarse", block=0), "B: with all threads: crashed: SIGSEGV"),
        (failing("A"), ""),
        (failing("A", "B"), ""),
        (failing(), ""),
    ],
)
def test_a_case_that_fails_in_b_alone_on_the_way_is_missing(does, missing):
    session, report = measured(does)
    found = {row.metric: row.note for row in report.rows if row.verdict is Verdict.MISSING}
    assert found == (dict.fromkeys(EXP.passes, missing) if missing else {})
    assert outcome_of(report)[0] == bool(missing)
    assert all(row.operator == "exp" or row.verdict is SAME for row in report.rows)
    assert bool(report.reasons[NOT_IN_SOME]) == (not missing and bool(session.lost))


def test_a_pass_that_b_has_in_no_process_is_missing_and_one_that_it_has_in_some_is_judged():
    def without_backward(one):
        note = Note("backward", NoteCode.NO_KERNEL, "no kernel ran")
        return ok(one, metrics=("forward",), notes=(note,))

    def never(one, place):
        return without_backward(one) if one.target.name == "exp" and place.arm == "B" else ok(one)

    for does, verdict in ((never, Verdict.MISSING), (failing("B", make=without_backward), SAME)):
        _, report = measured(does)
        found = {(row.operator, row.metric): row.verdict for row in report.rows}
        assert found.pop(("exp", "backward")) is not (SAME if does is never else Verdict.MISSING)
        assert set(found.values()) == {SAME} and (verdict is SAME) == (outcome_of(report)[0] == 0)


def test_results_are_counted_by_case():
    row = ResultsRow.of("1", "relu", "", WRONG)
    two = msgspec.structs.replace(analysed(SAME), results=(row, row))
    assert outcome_of(two) == (1, "2 different")
