"""What a session of implementations says, of sessions made by hand."""

import math

import msgspec
import pytest

from opperf.comparison.ab.arms import ArmSpec
from opperf.comparison.ab.session_file import new_session
from opperf.comparison.ab.session_plan import Implementations, Implemented, Lacking
from opperf.comparison.versus.judging import ArmRow, Versus, outcome_of, versus_of
from opperf.comparison.versus.plots import plot_of
from opperf.comparison.versus.report import report_of
from opperf.errors import RunFileError, UsageError
from opperf.model import Check, Difference, Place, ProcessLine, Tolerance
from opperf.reports.html import write_html
from opperf.reports.markdown import write_markdown
from opperf.reports.text import write_text
from opperf.requests.judging import judge_implementations
from opperf.results.units import Figure
from opperf.sources.selecting import Selection
from opperf.statistics.data import Thresholds
from opperf.statistics.design import block_order
from tests.comparison.ab.sessions import ENVIRONMENT, case, ok

ARMS = ("numpy", "torch", "jax")
GROUPS = ("g1", "g2", "g3")


def session(times, has=None, checks=None, quick=False, blocks=4, noise=0.001):
    """A session of three arms whose calls take these nanoseconds, by group and arm, forward, and in
    arms with gradients as long backward; `has` are the arms of a group, by default all."""
    has = has or {}
    cases = {
        group: [
            case(f"{group}_{arm}", ("forward",) if arm == "numpy" else ("forward", "backward"))
            if arm in has.get(group, ARMS)
            else None
            for arm in ARMS
        ]
        for group in times
    }
    made = new_session(
        cases,
        {arm: ArmSpec(framework=arm) for arm in ARMS},
        dict.fromkeys(ARMS, ENVIRONMENT),
        Selection(),
        "opperf versus",
        {},
        kind="times",
        framework="numpy",
        thresholds=Thresholds(control_blocks=2, block_cap=blocks),
        tolerance=Tolerance(),
        checks=checks or {},
        implementations=Implementations(
            {
                group: Implemented(
                    f"op_{group}", "x: (2, 3)", {arm: arm for arm in has.get(group, ARMS)}
                )
                for group in times
            },
            {"mxnet": "mxnet is not installed"},
            (Lacking("softmax", "", "numpy", "numpy has no operator of softmax"),),
            {arm: {"denormals": "kept"} for arm in ARMS},
            quick,
        ),
    )
    wobble = iter(range(10**6))
    phases = [("comparison", 1)] if quick else [("control", 2), ("comparison", blocks)]
    for phase, number in phases:
        roles = ARMS[:2] if phase == "control" else ARMS
        for block in range(number):
            for position, role in enumerate(block_order(0, phase, block, roles)):
                arm = ARMS[0] if phase == "control" else role
                place = Place(phase, block, position, arm, role)
                records = []
                for group, planned in made.cases_of(arm).items():
                    ns = times[group][ARMS.index(arm)]
                    # No two processes are alike.
                    ns *= math.exp(noise * math.sin(97 * next(wobble)))
                    records.append(ok(planned, ns))
                made.add(ProcessLine(place, "", 1.0), records)
    return made


TIMES = {"g1": (100.0, 50.0, 200.0), "g2": (100.0, 100.0, 50.0), "g3": (100.0, 100.0, 100.0)}


def rows_by(found, metric="forward"):
    return {(row.id, row.arm): row for row in found.rows if row.metric == metric}


def test_ratios_are_to_the_first_with_the_verdicts_of_ab():
    found = versus_of(session(TIMES))
    rows = rows_by(found)
    assert found.valid
    assert rows["g1", "torch"].ratio == pytest.approx(0.5, rel=0.01)
    assert rows["g1", "torch"].low < 0.5 < rows["g1", "torch"].high
    words = {place: row.verdict and row.verdict.value for place, row in rows.items()}
    assert words["g1", "numpy"] is None
    assert words["g1", "torch"] == words["g2", "jax"] == "improved"
    assert words["g1", "jax"] == "regressed"
    assert words["g3", "jax"] == "same"
    assert rows["g1", "torch"].time.value == pytest.approx(50, rel=0.01)
    assert 0 < rows["g1", "torch"].time.half_width < 1


def test_a_pass_is_compared_among_the_arms_that_have_it():
    found = versus_of(session(TIMES))
    backward = rows_by(found, "backward")
    assert {arm for _, arm in backward} == {"torch", "jax"}
    # Ratios are to the first that has it, and in no mean of those to the first arm.
    assert backward["g1", "jax"].base == "torch"
    assert backward["g1", "jax"].ratio == pytest.approx(4, rel=0.01)
    assert backward["g1", "jax"].verdict.value == "regressed"
    assert {total.arm: total.rows for total in found.totals}["jax"] == 3


def test_groups_that_an_arm_lacks_are_compared_among_the_others():
    found = versus_of(session(TIMES, has={"g1": ("torch", "jax"), "g2": ("numpy", "jax")}))
    rows = rows_by(found)
    assert ("g1", "numpy") not in rows and ("g2", "torch") not in rows
    assert rows["g1", "jax"].base == "torch"
    assert rows["g2", "jax"].verdict.value == "improved"
    assert rows["g3", "torch"].verdict.value == "same"


WRONG = {"jax": {"g2": Check("different", "", (Difference("output", "shape (2,) in A"),), 1)}}


def test_wrong_implementations_are_never_ranked_and_fail():
    found = versus_of(session(TIMES, checks=WRONG), ("wrong",))
    totals = {total.arm: total for total in found.totals}
    # Without its only gain.
    assert totals["jax"].ratio == pytest.approx(math.sqrt(2), rel=0.01)
    assert totals["jax"].wrong == 2 and totals["torch"].wrong == 0
    assert outcome_of(found) == (1, "2 wrong")
    wrong = [row for row in found.rows if row.is_wrong]
    assert len(wrong) == 2 and {row.verdict for row in wrong} == {None}
    won = {arm: total.fastest for arm, total in totals.items()}
    assert won["torch"] >= 2


@pytest.mark.parametrize(
    "fail_on, code, reason",
    [
        ((), 0, ""),
        (("slower",), 1, "2 slower"),
        (("wrong",), 0, ""),
        (("lacking",), 1, "2 lacking"),
    ],
)
def test_exit_codes_by_finding(fail_on, code, reason):
    assert outcome_of(versus_of(session(TIMES), fail_on)) == (code, reason)


def test_nothing_is_slower_than_a_wrong_first():
    found = versus_of(session(TIMES), ("slower",))
    rows = tuple(
        msgspec.structs.replace(row, results="different") if row.arm == "numpy" else row
        for row in found.rows
    )
    assert outcome_of(found) == (1, "2 slower")
    # That of the backward pass, to another base.
    assert outcome_of(msgspec.structs.replace(found, rows=rows)) == (1, "1 slower")


def test_a_session_that_decides_nothing_is_inconclusive():
    found = versus_of(session({"g3": (100.0, 101.0, 102.0)}, noise=0.3))
    assert outcome_of(found)[0] == 3


def test_a_first_look_has_ratios_and_no_verdicts():
    found = versus_of(session(TIMES, quick=True), ("wrong",))
    rows = rows_by(found)
    assert rows["g1", "torch"].ratio == pytest.approx(0.5, rel=0.01)
    assert all(row.verdict is None and row.low is None for row in found.rows)
    assert outcome_of(found) == (0, "")
    text = write_text(report_of(found))
    assert "its ratios to numpy are not verdicts" in " ".join(text.split())


def test_the_report_has_every_arm_and_what_is_absent():
    found = versus_of(session(TIMES, checks=WRONG))
    report = report_of(found)
    text = write_text(report)
    assert "op_g1 (x: (2, 3)), forward" in text
    assert "mxnet is not installed" in text and "numpy has no operator of softmax" in text
    markdown = write_markdown(report)
    assert "~~jax~~" in markdown and "~~torch~~" not in markdown
    assert "<s>jax</s>" in write_html(report)
    assert report.header[:6] == ["operation", "inputs", "metric", "arm", "operator", "new"]
    assert {"ratio", "low", "high", "verdict", "p", "blocks", "id"} <= set(report.header)
    assert [row[3] for row in report.rows[:3]] == list(ARMS)
    failed = [test for test in report.tests if test.result == "failure"]
    assert {test.kind for test in failed} == {"wrong"}


def test_a_session_of_ab_is_none():
    made = session(TIMES)
    made.plan = msgspec.structs.replace(made.plan, implementations=None)
    with pytest.raises(RunFileError, match="none of opperf versus"):
        versus_of(made)


def swept(size, arm, ns, ratio=None, **more):
    fields = {"point": {"n": size}, "base": "numpy", "flops": 100.0, "moved": 50, **more}
    return ArmRow("g", "op", "", "forward", arm, time=Figure(ns, 1.0), ratio=ratio, **fields)


def test_a_sweep_is_drawn_as_times_ratios_and_rates_by_arm():
    rows = (
        *(swept(size, "numpy", ns) for size, ns in ((8, 10.0), (16, 20.0))),
        *(swept(size, "torch", ns, ratio=0.5) for size, ns in ((16, 10.0), (8, 5.0))),
        swept(8, "jax", 1.0, results="different"),
    )
    plot = plot_of(Versus(("numpy", "torch", "jax"), rows, ()))
    time, ratio, rate = plot.panels
    assert plot.sizes == (8.0, 16.0) and plot.x_title == "n"
    # A wrong one is not drawn.
    assert [line.name for line in time.lines] == ["numpy", "torch"]
    assert [(point.x, point.y) for point in ratio.lines[0].points] == [(8.0, 0.5), (16.0, 0.5)]
    assert [point.y for point in rate.lines[0].points] == [5.0, 2.5]
    assert rate.unit.name == "GB/s"
    with pytest.raises(UsageError, match="no sweep of several sizes"):
        plot_of(Versus(("numpy",), rows[:1], ()))


def test_compare_reads_a_session_with_its_own_findings():
    judged = judge_implementations(session(TIMES, checks=WRONG), None)
    assert (judged.code, judged.reason, judged.report.command) == (1, "2 wrong", "versus")
    judged = judge_implementations(session(TIMES), ("regressed",))
    assert (judged.code, judged.reason) == (1, "2 slower")


@pytest.mark.parametrize(
    "word, quick, said",
    [
        ("improved", False, "--fail-on improved: a session of implementations can fail on diff"),
        ("ambiguous", False, "--fail-on ambiguous: a session of implementations can fail on diff"),
        ("regressed", True, "--fail-on regressed: a first look has no verdicts"),
    ],
)
def test_findings_that_a_session_does_not_have_are_refused(word, quick, said):
    with pytest.raises(UsageError, match=said):
        judge_implementations(session(TIMES, quick=quick), ("different", word))
